//! Errors of message move tasks.

use super::{BOTH, MISSING, QUERY, Row, VALUE};

pub(crate) const MOVE_TASKS: &[Row] = &[
    (
        "move_tasks",
        "start refused: SourceNotDeadLetterQueue",
        BOTH,
        VALUE,
        "Source queue must be configured as a Dead Letter Queue.",
    ),
    ("move_tasks", "start refused: MoveSourceMissing", BOTH, RESOURCE, SOURCE_MISSING),
    ("move_tasks", "start with a source of another service", BOTH, RESOURCE, SOURCE_MISSING),
    ("move_tasks", "list refused: MoveSourceMissing", BOTH, RESOURCE, SOURCE_MISSING),
    (
        "move_tasks",
        "start refused: MoveDestinationMissing",
        BOTH,
        RESOURCE,
        "The resource that you specified for the DestinationArn parameter doesn't exist.",
    ),
    (
        "move_tasks",
        "start refused: MoveTaskRunning",
        BOTH,
        VALUE,
        "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
    ),
    ("move_tasks", "cancel with a garbage handle", BOTH, VALUE, BAD_HANDLE),
    ("move_tasks", "cancel with an empty handle", BOTH, VALUE, BAD_HANDLE),
    ("move_tasks", "cancel with a handle that names no ARN", BOTH, VALUE, BAD_HANDLE),
    ("move_tasks", "cancel refused: MoveSourceMissing", BOTH, RESOURCE, SOURCE_MISSING),
    // Unknown, and known but not running, are one error of the engine.
    ("move_tasks", "cancel refused: MoveTaskMissing", BOTH, RESOURCE, "Task does not exist."),
    ("move_tasks", "start with a malformed source", BOTH, VALUE, SOURCE_FORM),
    ("move_tasks", "start with an empty source", BOTH, VALUE, SOURCE_FORM),
    ("move_tasks", "list with a malformed source", BOTH, VALUE, SOURCE_FORM),
    ("move_tasks", "start with a malformed destination", BOTH, VALUE, DESTINATION_FORM),
    ("move_tasks", "start with an empty destination", BOTH, VALUE, DESTINATION_FORM),
    ("move_tasks", "start with a rate of 0", BOTH, VALUE, BAD_RATE),
    ("move_tasks", "start with a rate of 501", BOTH, VALUE, BAD_RATE),
    (
        "move_tasks",
        "start refused: MoveToItself",
        BOTH,
        VALUE,
        "Source queue arn and destination queue arn cannot be the same.",
    ),
    (
        "move_tasks",
        "start refused: MoveTypesDiffer",
        BOTH,
        VALUE,
        "The source queue and destination queue must be of the same queue type.",
    ),
    (
        "move_tasks",
        "start without a source",
        BOTH,
        MISSING,
        "The request must contain the parameter SourceArn.",
    ),
    (
        "move_tasks",
        "list without a source",
        BOTH,
        MISSING,
        "The request must contain the parameter SourceArn.",
    ),
    (
        "move_tasks",
        "cancel without a handle",
        BOTH,
        MISSING,
        "The request must contain the parameter TaskHandle.",
    ),
    ("move_tasks", "start refused: TooManyMoveTasks", BOTH, "OverLimit", "…"),
    (
        "move_tasks",
        "not on a queue path",
        QUERY,
        "InvalidAction",
        "The action StartMessageMoveTask is not valid for this endpoint.",
    ),
];

const RESOURCE: &str = "ResourceNotFoundException";
const SOURCE_MISSING: &str = "The resource that you specified for the SourceArn parameter doesn't exist.";
const BAD_HANDLE: &str = "Value for parameter TaskHandle is invalid.";
const SOURCE_FORM: &str = "You must use this format to specify the SourceArn: \
                           arn:<partition>:<service>:<region>:<account-id>:<resource-id>";
const DESTINATION_FORM: &str = "You must use this format to specify the DestinationArn: \
                                arn:<partition>:<service>:<region>:<account-id>:<resource-id>";
const BAD_RATE: &str = "Value for parameter MaxNumberOfMessagesPerSecond is invalid. \
                        Reason: You must enter a number that's between 1 and 500.";

//! `StartMessageMoveTask`, `ListMessageMoveTasks` and `CancelMessageMoveTask`.
//!
//! A task handle is base64 of `{"taskId":"<uuid>","sourceArn":"<arn>"}`, as the service's are. It is no secret:
//! whoever may cancel the tasks of a queue may cancel each of them.

use super::scope::Scope;
use super::{Accepted, Pending};
use crate::fault::Fault;
use crate::limits;
use crate::wire::{self, Dialect, Input, JsonOutput, ListName, Output, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tidegate_engine::{
    AccountId, Command, MessageId, MoveTask, MoveTaskFailure, MoveTaskId, MoveTaskOutcome, QueueAddress,
    QueueName, Region,
};

pub(super) fn decode_start(input: &mut Input<'_>, scope: &mut Scope<'_, '_>) -> Result<Accepted, Fault> {
    let source = source(input)?;
    let destination = input.text(DESTINATION)?.map(|arn| queue(DESTINATION, &arn)).transpose()?;
    // Messages move within an account only: another's queues are as if they were not there.
    if destination.as_ref().is_some_and(|destination: &QueueAddress| destination.account != source.account) {
        return Err(Fault::ResourceMissing { parameter: DESTINATION });
    }
    let rate = match input.integer("MaxNumberOfMessagesPerSecond")? {
        None => None,
        Some(rate) => Some(in_range(rate, &limits::MOVE_RATE).ok_or(Fault::MoveRate)?),
    };
    // Made like the id of a message: a version 4 UUID.
    let id = MoveTaskId(scope.message_id().0);
    let pending = Pending::MoveTaskStarted(encode_handle(&id, &source));
    Ok(Accepted::new(Command::StartMoveTask { source, destination, rate, id }, pending))
}

pub(super) fn decode_list(input: &mut Input<'_>) -> Result<Accepted, Fault> {
    let source = source(input)?;
    let most = *limits::MOVE_TASKS.end();
    let max = match input.integer("MaxResults")? {
        None => 1,
        Some(max) => in_range(max, &limits::MOVE_TASKS).ok_or(Fault::MaxResults { most })?,
    };
    let pending = Pending::MoveTasks(source.clone());
    Ok(Accepted::new(Command::ListMoveTasks { source, max }, pending))
}

pub(super) fn decode_cancel(input: &mut Input<'_>) -> Result<Accepted, Fault> {
    let handle = input.text("TaskHandle")?.ok_or_else(|| Fault::missing("TaskHandle"))?;
    let (id, source_arn) = decode_handle(&handle).ok_or(Fault::TaskHandle)?;
    let source = queue(SOURCE, &source_arn).map_err(|fault| match fault {
        Fault::ArnForm { .. } => Fault::TaskHandle,
        other => other,
    })?;
    Ok(Accepted::new(Command::CancelMoveTask { source, id }, Pending::MoveTaskCancelled))
}

const SOURCE: &str = "SourceArn";
const DESTINATION: &str = "DestinationArn";

fn source(input: &mut Input<'_>) -> Result<QueueAddress, Fault> {
    let arn = input.text(SOURCE)?.ok_or_else(|| Fault::missing(SOURCE))?;
    queue(SOURCE, &arn)
}

/// The queue of the ARN given as `parameter`.
///
/// # Errors
/// `ArnForm`; `ResourceMissing` for an ARN that no queue can have.
fn queue(parameter: &'static str, arn: &str) -> Result<QueueAddress, Fault> {
    let parts: Vec<_> = arn.splitn(6, ':').collect();
    let ["arn", _partition, service, region, account, name] = parts[..] else {
        return Err(Fault::ArnForm { parameter });
    };
    if parts.contains(&"") {
        return Err(Fault::ArnForm { parameter });
    }
    let address = || {
        Some(QueueAddress {
            account: AccountId::parse(account)?,
            region: Region::parse(region)?,
            name: QueueName::parse(name)?,
        })
    };
    address().filter(|_| service == "sqs").ok_or(Fault::ResourceMissing { parameter })
}

fn in_range<T: TryFrom<i64> + PartialOrd>(number: i64, range: &std::ops::RangeInclusive<T>) -> Option<T> {
    T::try_from(number).ok().filter(|number| range.contains(number))
}

fn encode_handle(id: &MoveTaskId, source: &QueueAddress) -> String {
    let mut out = JsonOutput::new(192);
    out.bytes("taskId", &MessageId(id.0).encode());
    out.text("sourceArn", &source.arn());
    STANDARD.encode(out.finish())
}

/// Task and source ARN of a handle.
fn decode_handle(handle: &str) -> Option<(MoveTaskId, String)> {
    if handle.len() > limits::HANDLE_BYTES {
        return None;
    }
    let json = STANDARD.decode(handle).ok()?;
    let Ok(Value::Map(members)) = wire::parse_json(&json) else { return None };
    let mut members = Input::new(Dialect::Json, members);
    let mut text = |name| members.text(name).ok().flatten();
    Some((MoveTaskId(parse_uuid(&text("taskId")?)?), text("sourceArn")?.into_owned()))
}

/// The bytes of a hyphenated lower-case UUID.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = u128::from_str_radix(&text.replace('-', ""), 16).ok()?.to_be_bytes();
    (MessageId(bytes).encode() == *text.as_bytes()).then_some(bytes)
}

/// Writes the tasks of a source queue, newest first.
pub(super) fn write<O: Output>(source: &QueueAddress, tasks: &[MoveTask], out: &mut O) {
    let results = ListName { json: "Results", query: "ListMessageMoveTasksResultEntry" };
    out.structures(results, tasks, |out, task| write_task(source, task, out));
}

fn write_task<O: Output>(source: &QueueAddress, task: &MoveTask, out: &mut O) {
    let (status, failure) = match task.outcome {
        None => ("RUNNING", None),
        Some(MoveTaskOutcome::Completed) => ("COMPLETED", None),
        Some(MoveTaskOutcome::Cancelled) => ("CANCELLED", None),
        Some(MoveTaskOutcome::Failed(failure)) => ("FAILED", Some(failure)),
    };
    if task.outcome.is_none() {
        out.text("TaskHandle", &encode_handle(&task.id, source));
    }
    out.text("Status", status);
    out.text(SOURCE, &source.arn());
    if let Some(destination) = &task.destination {
        out.text(DESTINATION, &destination.arn());
    }
    if let Some(rate) = task.rate {
        out.number("MaxNumberOfMessagesPerSecond", rate.into());
    }
    out.number(MOVED, task.moved);
    out.number("ApproximateNumberOfMessagesToMove", task.to_move);
    if let Some(failure) = failure {
        out.text("FailureReason", failure_reason(failure));
    }
    out.number("StartedTimestamp", task.started_at.as_millis());
}

/// Also the one output of a cancel.
pub(super) const MOVED: &str = "ApproximateNumberOfMessagesMoved";

fn failure_reason(failure: MoveTaskFailure) -> &'static str {
    match failure {
        MoveTaskFailure::DestinationMissing => "AWS.SimpleQueueService.NonExistentQueue",
        MoveTaskFailure::SourceUnknown => "CouldNotDetermineMessageSource",
        MoveTaskFailure::TimedOut => "The task ran for 36 hours, which is as long as a task may run.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:sqs:us-east-1:000000000000:dlq";

    #[test]
    fn handles_round_trip_and_other_texts_are_refused() {
        let source = queue(SOURCE, ARN).unwrap();
        let id = MoveTaskId(MessageId::from_random([0xab; 16]).0);
        let handle = encode_handle(&id, &source);
        assert_eq!(
            STANDARD.decode(&handle).unwrap(),
            format!(r#"{{"taskId":"abababab-abab-4bab-abab-abababababab","sourceArn":"{ARN}"}}"#).as_bytes()
        );
        assert_eq!(decode_handle(&handle), Some((id, ARN.to_owned())));
        let of = |json: &str| decode_handle(&STANDARD.encode(json));
        for json in [
            "",
            "[]",
            "{}",
            r#"{"taskId":"abababab-abab-4bab-abab-abababababab"}"#,
            r#"{"sourceArn":"x"}"#,
            r#"{"taskId":"x","sourceArn":"x"}"#,
            r#"{"taskId":"+bababab-abab-4bab-abab-abababababab","sourceArn":"x"}"#,
            r#"{"taskId":"abababababab4bababababababababab","sourceArn":"x"}"#,
            r#"{"taskId":"","sourceArn":"x"}"#,
            r#"{"taskId":["x"],"sourceArn":"x"}"#,
        ] {
            assert_eq!(of(json), None, "{json}");
        }
        let long = format!(
            r#"{{"taskId":"abababab-abab-4bab-abab-abababababab","sourceArn":"{}"}}"#,
            "x".repeat(800)
        );
        assert_eq!(of(&long), None);
        assert_eq!(decode_handle("not base64"), None);
    }

    #[test]
    fn an_arn_is_malformed_or_names_a_queue_or_nothing() {
        assert_eq!(queue(SOURCE, ARN).unwrap().arn(), ARN);
        assert_eq!(queue(SOURCE, &ARN.replace(":aws:", ":aws-cn:")).unwrap().arn(), ARN);
        for malformed in ["", "dlq", "arn:aws:sqs:us-east-1:000000000000", &ARN.replace("dlq", ""), &ARN[1..]]
        {
            assert_eq!(queue(SOURCE, malformed), Err(Fault::ArnForm { parameter: SOURCE }), "{malformed}");
        }
        for nothing in
            [ARN.replace(":sqs:", ":sns:"), ARN.replace("dlq", "d:q"), ARN.replace("000000000000", "me")]
        {
            assert_eq!(
                queue(SOURCE, &nothing),
                Err(Fault::ResourceMissing { parameter: SOURCE }),
                "{nothing}"
            );
        }
    }
}

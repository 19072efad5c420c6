//! What `AddPermission` and `RemovePermission` share: a policy is read, edited and written back.

use super::policy;
use crate::fault::Fault;
use crate::limits;
use crate::wire::Input;
use tidegate_engine::{Command, Error, QueueAddress, QueueView, Reply};
use tidegate_policy::{EditError, Grant, add_statement, remove_statement};

/// How often an edit begins anew because the policy was changed meanwhile. One of those who change it at the same
/// time always gets through, so that this many may do so together.
const TRIES: usize = 32;

/// An edit of a queue's policy under way.
#[derive(Debug)]
pub(super) struct Edit {
    queue: QueueAddress,
    label: Box<str>,
    change: Change,
    tries: usize,
}

/// What is to become of the statement with the label.
#[derive(Debug)]
pub(super) enum Change {
    /// It is added: these accounts may do these things.
    Add { accounts: Box<[Box<str>]>, actions: Box<[Box<str>]> },
    /// It is removed.
    Remove,
}

impl Edit {
    pub(super) fn new(queue: &QueueAddress, label: Box<str>, change: Change) -> Self {
        Edit { queue: queue.clone(), label, change, tries: TRIES }
    }

    /// The command that begins an edit.
    pub(super) fn read(&self) -> Command {
        Command::ViewQueue { queue: self.queue.clone() }
    }

    /// The command that follows the outcome of the last; `None` when there is none.
    ///
    /// # Errors
    /// When the policy cannot be edited so.
    pub(super) fn next(&mut self, outcome: &Result<Reply, Error>) -> Result<Option<Command>, Fault> {
        match outcome {
            Ok(Reply::Queue(view)) => self.write(view).map(Some),
            Err(Error::PolicyChanged) if self.tries > 1 => {
                self.tries -= 1;
                Ok(Some(self.read()))
            }
            _ => Ok(None),
        }
    }

    fn write(&self, view: &QueueView) -> Result<Command, Fault> {
        let expected = view.attributes.policy.as_ref().map(|policy| policy.text.clone());
        let edited = self.edit(expected.as_deref()).map_err(|error| self.fault_of(&error))?;
        let policy = edited.as_deref().map(policy::parse).transpose()?;
        Ok(Command::ReplacePolicy { queue: self.queue.clone(), expected, policy })
    }

    fn edit(&self, existing: Option<&str>) -> Result<Option<String>, EditError> {
        let Change::Add { accounts, actions } = &self.change else {
            return remove_statement(existing, &self.label);
        };
        let arn = self.queue.arn();
        let accounts: Vec<_> = accounts.iter().map(|account| &**account).collect();
        let actions: Vec<_> = actions.iter().map(|action| &**action).collect();
        let grant = Grant {
            label: &self.label,
            accounts: &accounts,
            actions: &actions,
            resource: &arn,
            policy_id: &format!("{arn}/SQSDefaultPolicy"),
        };
        add_statement(existing, &grant).map(Some)
    }

    fn fault_of(&self, error: &EditError) -> Fault {
        let label = |reason: &'static str| Fault::value("Label", &self.label, reason);
        match error {
            EditError::LabelExists => label("Already exists."),
            EditError::NoPolicy => label("can't find label."),
            EditError::LabelMissing => label("can't find label on existing policy."),
            EditError::TooManyStatements { .. } => {
                Fault::PolicyOverLimit { reason: error.to_string().into() }
            }
            EditError::Policy(error) => policy::fault_of(error),
            // The crate's errors are open-ended; one without a mapping is a fault of ours.
            _ => Fault::Internal,
        }
    }
}

/// The label of a permission.
pub(super) fn label(input: &mut Input<'_>) -> Result<Box<str>, Fault> {
    Ok(input.required("Label")?.into())
}

/// Checks the label of a new permission.
pub(super) fn check_label(label: &str) -> Result<(), Fault> {
    let plain = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if plain && limits::LABEL_LENGTH.contains(&label.len()) {
        return Ok(());
    }
    let reason = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length";
    Err(Fault::value("Label", label, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_engine::{AccountId, Counts, MessageSeq, QueueAttributes, QueueName, Region, Timestamp};

    #[test]
    fn an_edit_that_is_always_too_late_ends() {
        let queue = QueueAddress {
            account: AccountId::default(),
            region: Region::default(),
            name: QueueName::parse("orders").unwrap(),
        };
        let view = QueueView {
            address: queue.clone(),
            attributes: QueueAttributes::default(),
            tags: Default::default(),
            created_at: Timestamp::from_millis(0),
            modified_at: Timestamp::from_millis(0),
            counts: Counts::default(),
            next_seq: MessageSeq(0),
        };
        let change =
            Change::Add { accounts: ["111122223333".into()].into(), actions: ["SQS:*".into()].into() };
        let mut edit = Edit::new(&queue, "a".into(), change);
        let mut command = Some(edit.read());
        let mut written = 0;
        while let Some(asked) = command {
            let outcome = match asked {
                Command::ViewQueue { .. } => Ok(Reply::Queue(Box::new(view.clone()))),
                Command::ReplacePolicy { .. } => {
                    written += 1;
                    Err(Error::PolicyChanged)
                }
                other => panic!("{other:?}"),
            };
            command = edit.next(&outcome).unwrap();
        }
        assert_eq!(written, TRIES);
    }
}

//! `RemovePermission`.

use super::Accepted;
use super::permission::{self, Change, Edit};
use crate::fault::Fault;
use crate::wire::Input;
use tidegate_engine::QueueAddress;

pub(super) fn decode(input: &mut Input<'_>, queue: &QueueAddress) -> Result<Accepted, Fault> {
    Ok(Accepted::edit(Edit::new(queue, permission::label(input)?, Change::Remove)))
}

//! Amazon SQS: which action a request asks for, its command, and the answer.
//!
//! Each action has a file of its own with its inputs and its outputs, for both dialects.

mod add_permission;
mod attributes;
mod batch;
mod change_visibility;
mod create_queue;
mod delete_message;
mod digest;
mod get_queue_attributes;
mod get_queue_url;
mod list_dead_letter_source_queues;
mod list_queues;
mod listing;
mod md5_lanes;
mod message;
mod move_tasks;
mod permission;
mod policy;
mod receive_message;
mod redrive;
mod remove_permission;
mod scope;
mod send_message;
mod set_queue_attributes;
mod tags;

use crate::auth::{Access, Home, Identity};
use crate::fault::{Echo, Fault, Shape};
use crate::http::{Request, RequestIdText, Response};
use crate::wire::{self, Dialect, Input, JsonOutput, Output, Value, XmlOutput};
use crate::{Context, auth, limits, text};
use scope::Scope;
use std::borrow::Cow;
use tidegate_engine::{Command, Error, MessageSeq, QueueAddress, Reply, StoredMessage};

/// `SequenceNumber` of a message in a FIFO queue, as receives give it.
pub fn sequence_number(seq: MessageSeq) -> String {
    message::sequence_number(seq).as_str().to_owned()
}

macro_rules! actions {
    ($($name:ident),+ $(,)?) => {
        /// The actions of the service.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each variant is the action of its name")]
        pub enum Action { $($name),+ }

        impl Action {
            /// Every action.
            pub const ALL: &'static [Action] = &[$(Action::$name),+];

            /// The action's name on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Action::$name => stringify!($name)),+ }
            }

            fn parse(name: &str) -> Option<Self> {
                match name { $(stringify!($name) => Some(Action::$name),)+ _ => None }
            }
        }
    };
}

actions! {
    AddPermission, CancelMessageMoveTask, ChangeMessageVisibility, ChangeMessageVisibilityBatch, CreateQueue,
    DeleteMessage, DeleteMessageBatch, DeleteQueue, GetQueueAttributes, GetQueueUrl,
    ListDeadLetterSourceQueues, ListMessageMoveTasks, ListQueueTags, ListQueues, PurgeQueue, ReceiveMessage,
    RemovePermission, SendMessage, SendMessageBatch, SetQueueAttributes, StartMessageMoveTask, TagQueue,
    UntagQueue,
}

impl Action {
    /// Whether the action asks about one queue, and so may be sent to a queue's path.
    fn is_of_queue(self) -> bool {
        !matches!(
            self,
            Action::CreateQueue
                | Action::ListQueues
                | Action::StartMessageMoveTask
                | Action::ListMessageMoveTasks
                | Action::CancelMessageMoveTask
        )
    }

    /// The action that permissions name: a batch goes by its single form.
    pub(crate) fn base(self) -> Self {
        match self {
            Action::ChangeMessageVisibilityBatch => Action::ChangeMessageVisibility,
            Action::DeleteMessageBatch => Action::DeleteMessage,
            Action::SendMessageBatch => Action::SendMessage,
            single => single,
        }
    }

    /// Whether only the account of a queue may do it, whatever the queue's policy says.
    pub(crate) fn is_owners(self) -> bool {
        matches!(
            self,
            Action::AddPermission
                | Action::CancelMessageMoveTask
                | Action::CreateQueue
                | Action::DeleteQueue
                | Action::ListMessageMoveTasks
                | Action::ListQueueTags
                | Action::ListQueues
                | Action::RemovePermission
                | Action::SetQueueAttributes
                | Action::StartMessageMoveTask
                | Action::TagQueue
                | Action::UntagQueue
        )
    }
}

/// A decoded request.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a request, taken apart at once")]
pub enum Decoded {
    /// A command for the engine, and what encodes its reply.
    Call(Command, Call),
    /// The request was refused without the engine, but for one question.
    Refused(Refusal),
}

impl Decoded {
    /// What the caller must be allowed to do before the engine is asked anything; nothing if it will not be asked.
    pub fn accesses(&self) -> impl Iterator<Item = Access<'_>> {
        let (main, other) = match self {
            Decoded::Call(command, call) => {
                let caller = &call.caller;
                let main = Access { caller, action: call.action, queue: command.queue() };
                // To start a move needs the right to send where it goes, if that is said.
                let destination = match command {
                    Command::StartMoveTask { destination, .. } => destination.as_ref(),
                    _ => None,
                };
                let send = |queue| Access { caller, action: Action::SendMessage, queue: Some(queue) };
                (Some(main), destination.map(send))
            }
            Decoded::Refused(Refusal {
                caller: Some(caller),
                action: Some(action),
                queue: Some(queue),
                ..
            }) => (Some(Access { caller, action: *action, queue: Some(queue) }), None),
            Decoded::Refused(_) => (None, None),
        };
        main.into_iter().chain(other)
    }

    /// The action, where it is known.
    pub fn action(&self) -> Option<Action> {
        match self {
            Decoded::Call(_, call) => Some(call.action),
            Decoded::Refused(refusal) => refusal.action,
        }
    }

    /// Answers with another fault, found after decoding.
    pub fn refuse(self, fault: &Fault) -> Response {
        match self {
            Decoded::Call(_, call) => call.refuse(fault),
            Decoded::Refused(refusal) => refusal.refuse(fault),
        }
    }
}

/// What is kept of a request until the engine has answered it.
#[derive(Debug)]
pub struct Call {
    /// The action, for logs and metrics.
    pub action: Action,
    caller: Identity,
    dialect: Dialect,
    request_id: RequestIdText,
    pending: Pending,
    echo: Echo,
}

/// A request refused by its parameters.
#[derive(Debug)]
pub struct Refusal {
    /// The action, where it was known.
    pub action: Option<Action>,
    /// The queue that the request names. A missing queue is a worse fault than a bad parameter: when this is
    /// set, ask the engine [`Command::FindQueue`] and tell [`Refusal::encode`] the answer.
    pub queue: Option<QueueAddress>,
    caller: Option<Identity>,
    dialect: Dialect,
    request_id: RequestIdText,
    fault: Fault,
}

/// What an action needs to write its answer.
#[derive(Debug)]
enum Pending {
    /// Nothing: the action has no outputs.
    Nothing,
    /// Nothing, once the policy is edited.
    Edit(permission::Edit),
    QueueUrl(String),
    Queues(listing::Listing),
    Attributes(attributes::Wanted),
    Tags,
    Sent(send_message::Digests),
    SentBatch(send_message::Batch),
    SettledBatch(batch::Settled),
    Received(receive_message::Selection),
    /// The handle of the task.
    MoveTaskStarted(String),
    /// The queue that the tasks empty.
    MoveTasks(QueueAddress),
    MoveTaskCancelled,
}

/// What an action makes of its input: the command, and how to answer.
struct Accepted {
    command: Command,
    pending: Pending,
    echo: Echo,
}

impl Accepted {
    /// An action without outputs.
    fn silent(command: Command) -> Self {
        Accepted { command, pending: Pending::Nothing, echo: Echo::default() }
    }

    /// An edit of a policy; no outputs either.
    fn edit(edit: permission::Edit) -> Self {
        Accepted::new(edit.read(), Pending::Edit(edit))
    }

    fn new(command: Command, pending: Pending) -> Self {
        Accepted { command, pending, echo: Echo::default() }
    }
}

/// Decodes a request: any bytes give a command or a refusal.
///
/// Costs one pass over the body, one copy of each message body, and its digest.
pub fn decode(request: &Request<'_>, context: &mut Context<'_>) -> Decoded {
    let dialect = dialect_of(request);
    let request_id = context.request_id;
    let refused = |action, caller, Refused { queue, fault }: Refused| {
        let queue = queue.map(|queue| *queue);
        Decoded::Refused(Refusal { action, queue, caller, dialect, request_id, fault })
    };
    // Before anything else is looked at: a stranger learns nothing of what would be wrong besides.
    let verified =
        match context.credentials.map(|credentials| credentials.verify(request, context)).transpose() {
            Ok(verified) => verified,
            Err(fault) => return refused(None, None, fault.into()),
        };
    let mut repaired = None;
    let (action, credential, members) = match read(request, dialect, &mut repaired) {
        Ok(read) => read,
        Err(fault) => return refused(None, None, fault.into()),
    };
    let caller = verified.unwrap_or_else(|| {
        let default = Home { account: context.account, region: context.region.clone() };
        auth::identify(request, credential.as_deref(), &default)
    });
    let mut scope = Scope { request, context, caller };
    if dialect == Dialect::Query && !action.is_of_queue() && scope.is_on_queue_path() {
        return refused(Some(action), None, Fault::UnknownAction { action: action.name().into() }.into());
    }
    let accepted = decode_action(action, Input::new(dialect, members), &mut scope);
    let caller = scope.caller;
    match accepted {
        Ok(Accepted { command, pending, echo }) => {
            Decoded::Call(command, Call { action, caller, dialect, request_id, pending, echo })
        }
        Err(fault) => refused(Some(action), Some(caller), fault),
    }
}

/// Answers a request that never reached [`decode`], in the client's dialect: it was too long, say, or the
/// server is going down.
pub fn refuse(request: &Request<'_>, request_id: RequestIdText, fault: &Fault) -> Response {
    Response::fault(dialect_of(request), request_id, fault)
}

/// Answers a request with a fault that every request gets, whatever it asks for: the server is still starting, say. Where
/// there are credentials, one that is not signed by them gets the fault for that instead, as from [`decode`].
pub fn refuse_verified(request: &Request<'_>, context: &Context<'_>, fault: &Fault) -> Response {
    let unverified = context.credentials.and_then(|credentials| credentials.verify(request, context).err());
    refuse(request, context.request_id, unverified.as_ref().unwrap_or(fault))
}

const TARGET: &str = "x-amz-target";
const TARGET_PREFIX: &str = "AmazonSQS.";

/// The dialect by the headers. A target of this service means JSON; a form or an action in the URL means
/// Query; another service's target and a JSON body are JSON that will be refused.
fn dialect_of(request: &Request<'_>) -> Dialect {
    let target = request.headers.get(TARGET);
    if target.is_some_and(|target| target.starts_with(TARGET_PREFIX)) {
        return Dialect::Json;
    }
    let media_type = request.headers.get("content-type").unwrap_or_default();
    let is_type = |start: &str| media_type.get(..start.len()).is_some_and(|m| m.eq_ignore_ascii_case(start));
    let query = request.query.unwrap_or_default();
    if is_type("application/x-www-form-urlencoded")
        || query.split('&').any(|pair| pair.starts_with("Action="))
    {
        return Dialect::Query;
    }
    if target.is_some() || is_type("application/x-amz-json") { Dialect::Json } else { Dialect::Query }
}

/// The action, the credential among the parameters, and the inputs.
type Read<'a> = (Action, Option<Cow<'a, str>>, wire::Members<'a>);

fn read<'a>(
    request: &Request<'a>,
    dialect: Dialect,
    repaired: &'a mut Option<Vec<u8>>,
) -> Result<Read<'a>, Fault> {
    if request.body.len() > limits::REQUEST_BYTES {
        return Err(Fault::RequestTooLong { limit: limits::REQUEST_BYTES });
    }
    let mut params = wire::pairs(request.query.unwrap_or_default().as_bytes())?;
    match dialect {
        Dialect::Json => {
            let target = request.headers.get(TARGET).unwrap_or_default();
            let action = target.strip_prefix(TARGET_PREFIX).and_then(Action::parse).ok_or_else(|| {
                Fault::UnknownAction { action: text::echo(target.rsplit('.').next().unwrap_or_default()) }
            })?;
            Ok((action, auth::credential_param(&params), read_json(request.body, repaired)?))
        }
        Dialect::Query => {
            if request.method == "POST" {
                params.extend(wire::pairs(request.body)?);
            }
            let name = params.iter().rev().find(|(name, _)| name == "Action").map(|(_, action)| action);
            let name = name.ok_or(Fault::NoAction)?;
            let action =
                Action::parse(name).ok_or_else(|| Fault::UnknownAction { action: text::echo(name) })?;
            Ok((action, auth::credential_param(&params), wire::parse_query(params)?))
        }
    }
}

fn read_json<'a>(body: &'a [u8], repaired: &'a mut Option<Vec<u8>>) -> Result<wire::Members<'a>, Fault> {
    // Clients of actions without inputs may send nothing at all.
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let value = match wire::parse_json(body) {
        Ok(value) => value,
        Err(fault) => {
            *repaired = wire::repair_surrogates(body);
            wire::parse_json(repaired.as_deref().ok_or(fault)?)?
        }
    };
    match value {
        Value::Map(members) => Ok(members),
        _ => Err(Fault::malformed("The request body is not a JSON object")),
    }
}

/// A refusal on its way up, with the queue if it was read.
struct Refused {
    queue: Option<Box<QueueAddress>>,
    fault: Fault,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Refused { queue: None, fault }
    }
}

impl Refused {
    /// A refusal of parameters for `queue`. What cannot be read at all is refused before any queue is looked
    /// up.
    fn of_queue(queue: QueueAddress, fault: Fault) -> Self {
        let queue = Some(queue).filter(|_| fault.shape() > Shape::QueueMissing).map(Box::new);
        Refused { queue, fault }
    }
}

fn decode_action(
    action: Action,
    mut input: Input<'_>,
    scope: &mut Scope<'_, '_>,
) -> Result<Accepted, Refused> {
    match action {
        Action::CreateQueue => Ok(create_queue::decode(&mut input, scope)?),
        Action::GetQueueUrl => Ok(get_queue_url::decode(&mut input, scope)?),
        Action::ListQueues => Ok(list_queues::decode(&mut input, scope)?),
        Action::StartMessageMoveTask => Ok(move_tasks::decode_start(&mut input, scope)?),
        Action::ListMessageMoveTasks => Ok(move_tasks::decode_list(&mut input)?),
        Action::CancelMessageMoveTask => Ok(move_tasks::decode_cancel(&mut input)?),
        _ => {
            let queue = scope.queue(&mut input)?;
            decode_queue_action(action, &mut input, &queue, scope)
                .map_err(|fault| Refused::of_queue(queue, fault))
        }
    }
}

fn decode_queue_action(
    action: Action,
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &mut Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    match action {
        Action::DeleteQueue => Ok(Accepted::silent(Command::DeleteQueue { queue: queue.clone() })),
        Action::PurgeQueue => {
            let accepted = Accepted::silent(Command::PurgeQueue { queue: queue.clone() });
            let echo = Echo { queue: queue.name.as_str().into(), ..Echo::default() };
            Ok(Accepted { echo, ..accepted })
        }
        Action::GetQueueAttributes => get_queue_attributes::decode(input, queue),
        Action::SetQueueAttributes => set_queue_attributes::decode(input, queue),
        Action::AddPermission => add_permission::decode(input, queue),
        Action::RemovePermission => remove_permission::decode(input, queue),
        Action::TagQueue => tags::decode_tag(input, queue),
        Action::UntagQueue => tags::decode_untag(input, queue),
        Action::ListQueueTags => Ok(tags::decode_list(queue)),
        Action::ListDeadLetterSourceQueues => list_dead_letter_source_queues::decode(input, queue, scope),
        Action::SendMessage => send_message::decode(input, queue, scope),
        Action::SendMessageBatch => send_message::decode_batch(input, queue, scope),
        Action::ReceiveMessage => receive_message::decode(input, queue, scope),
        Action::DeleteMessage => delete_message::decode(input, queue, scope),
        Action::DeleteMessageBatch => delete_message::decode_batch(input, queue, scope),
        Action::ChangeMessageVisibility => change_visibility::decode(input, queue, scope),
        Action::ChangeMessageVisibilityBatch => change_visibility::decode_batch(input, queue, scope),
        other => unreachable!("{other:?} is decoded by decode_action"),
    }
}

impl Call {
    /// The command that the action puts to the engine after the outcome of its last one; `None` when that was all,
    /// and the outcome is to be encoded. Only edits of a policy have several: they read it and write it back, again
    /// from the start while others are faster.
    ///
    /// # Errors
    /// A fault to [`Call::refuse`] with.
    pub fn next_command(&mut self, outcome: &Result<Reply, Error>) -> Result<Option<Command>, Fault> {
        match &mut self.pending {
            Pending::Edit(edit) => edit.next(outcome),
            _ => Ok(None),
        }
    }

    /// The answer to the engine's reply. `messages[i]` is the record of the delivery `i` of a
    /// [`Reply::Received`]; for all other replies it is empty.
    ///
    /// A reply of another kind than the command's is a fault of the server's and answered as one.
    pub fn encode(self, outcome: Result<Reply, Error>, messages: &[StoredMessage]) -> Response {
        let fault = match outcome {
            Ok(reply) => match self.write(reply, messages) {
                Ok(body) => return Response::success(self.dialect, self.request_id, body),
                Err(fault) => fault,
            },
            Err(error) => Fault::of_engine(&error, &self.echo),
        };
        self.refuse(&fault)
    }

    /// Answers with a fault of the server's own.
    pub fn refuse(self, fault: &Fault) -> Response {
        Response::fault(self.dialect, self.request_id, fault)
    }

    fn write(&self, reply: Reply, messages: &[StoredMessage]) -> Result<Vec<u8>, Fault> {
        let capacity = 256 + 512 * messages.len() + messages.iter().map(|m| m.message.size()).sum::<usize>();
        let is_silent = matches!(self.pending, Pending::Nothing | Pending::Edit(_));
        if self.dialect == Dialect::Json {
            let mut out = JsonOutput::new(capacity);
            self.pending.write(reply, messages, &self.echo, &mut out)?;
            return Ok(if is_silent { Vec::new() } else { out.finish() });
        }
        let mut out = XmlOutput::new(capacity, self.action.name());
        if !is_silent {
            out.begin_result();
        }
        self.pending.write(reply, messages, &self.echo, &mut out)?;
        Ok(out.finish(self.request_id))
    }
}

impl Pending {
    fn write<O: Output>(
        &self,
        reply: Reply,
        messages: &[StoredMessage],
        echo: &Echo,
        out: &mut O,
    ) -> Result<(), Fault> {
        match (self, reply) {
            (Pending::Nothing | Pending::Edit(_), Reply::Done) => {}
            (Pending::Nothing, Reply::Settled(results)) => match results.into_iter().next() {
                Some(Ok(())) => {}
                Some(Err(error)) => return Err(Fault::of_engine(&error, echo)),
                None => return Err(Fault::Internal),
            },
            (Pending::QueueUrl(url), Reply::Done) => out.text("QueueUrl", url),
            (Pending::Queues(listing), Reply::Queues { names, more }) => listing.write(names, more, out),
            (Pending::Attributes(wanted), Reply::Queue(view)) => wanted.write(&view, out),
            (Pending::Tags, Reply::Queue(view)) => out.text_map(tags::TAGS, &view.tags),
            (Pending::Sent(digests), Reply::Sent(results)) => match results.into_iter().next() {
                Some(Ok(sent)) => digests.write(sent, out),
                Some(Err(error)) => return Err(Fault::of_engine(&error, echo)),
                None => return Err(Fault::Internal),
            },
            (Pending::SentBatch(batch), Reply::Sent(results)) => batch.write(results, out),
            (Pending::SentBatch(batch), Reply::Done) => batch.write(Vec::new(), out),
            (Pending::SettledBatch(batch), Reply::Settled(results)) => batch.write(results, out),
            (Pending::SettledBatch(batch), Reply::Done) => batch.write(Vec::new(), out),
            (Pending::MoveTaskStarted(handle), Reply::Done) => out.text("TaskHandle", handle),
            (Pending::MoveTasks(source), Reply::MoveTasks(tasks)) => move_tasks::write(source, &tasks, out),
            (Pending::MoveTaskCancelled, Reply::MoveTaskCancelled { moved }) => {
                out.number(move_tasks::MOVED, moved);
            }
            (Pending::Received(selection), Reply::Received(deliveries))
                if deliveries.len() == messages.len() =>
            {
                selection.write(&deliveries, messages, out);
            }
            _ => return Err(Fault::Internal),
        }
        Ok(())
    }
}

impl Refusal {
    /// The answer; `exists` tells whether the engine knows `queue`, and does not matter when there is none.
    pub fn encode(self, exists: bool) -> Response {
        let fault = if self.queue.is_some() && !exists { &Fault::QueueMissing } else { &self.fault };
        Response::fault(self.dialect, self.request_id, fault)
    }

    /// Answers with a fault of the server's own.
    pub fn refuse(self, fault: &Fault) -> Response {
        Response::fault(self.dialect, self.request_id, fault)
    }
}

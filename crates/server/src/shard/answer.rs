//! From the engine's reply to the task that asked: and back, when that task has gone away.

use super::inbox::Inbox;
use super::owner::Input;
use std::sync::Arc;
use tidegate_engine::{Reply, RequestId};
use tidegate_store::Outcome;
use tokio::sync::oneshot;

/// What a caller gets.
pub(crate) type Answer = Outcome;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// Too much waits already; try again.
    Busy,
    /// The shard is stopping.
    Stopped,
}

/// The asking end.
pub(crate) struct Caller {
    request: RequestId,
    inbox: Arc<Inbox<Input>>,
    /// `None` once the answer was taken.
    receiver: Option<oneshot::Receiver<Answer>>,
}

/// The answering end.
pub(crate) struct Callback(oneshot::Sender<Answer>);

pub(crate) fn pair(request: RequestId, inbox: Arc<Inbox<Input>>) -> (Caller, Callback) {
    let (sender, receiver) = oneshot::channel();
    (Caller { request, inbox, receiver: Some(receiver) }, Callback(sender))
}

impl Caller {
    pub(crate) fn request(&self) -> RequestId {
        self.request
    }

    pub(crate) async fn answer(mut self) -> Result<Answer, Gone> {
        let receiver = self.receiver.as_mut().expect("taken only here, and self is used up");
        let answer = receiver.await;
        self.receiver = None;
        answer.map_err(|_| Gone::Stopped)
    }

    pub(crate) fn answer_blocking(mut self) -> Result<Answer, Gone> {
        let receiver = self.receiver.take().expect("taken only here, and self is used up");
        receiver.blocking_recv().map_err(|_| Gone::Stopped)
    }
}

impl Drop for Caller {
    /// The caller went away. Either the engine still holds the request, or its answer is on the way or here.
    fn drop(&mut self) {
        let Some(mut receiver) = self.receiver.take() else { return };
        // Once closed, an answer that is not here yet fails to be sent, and its sender returns it.
        receiver.close();
        match receiver.try_recv() {
            Ok(answer) => give_back(&self.inbox, answer),
            Err(_) => drop(self.inbox.push(Input::Cancel(self.request))),
        }
    }
}

impl Callback {
    /// Hands the answer to the caller, or what it received back to the queue if the caller is gone.
    pub(crate) fn send(self, answer: Answer, inbox: &Inbox<Input>) {
        if let Err(unsent) = self.0.send(answer) {
            give_back(inbox, unsent);
        }
    }
}

/// Makes messages that nobody received visible again.
fn give_back(inbox: &Inbox<Input>, answer: Answer) {
    if let Ok(Reply::Received(deliveries)) = answer
        && !deliveries.is_empty()
    {
        let receipts = deliveries.into_iter().map(|delivery| delivery.receipt).collect();
        // A full inbox leaves them to their visibility timeout.
        let _ = inbox.push(Input::GiveBack(receipts));
    }
}

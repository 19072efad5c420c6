//! How long an idle connection is kept.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// A timer that is renewed with every request and hardly ever set: it goes off at a time that was right once, and only
/// then looks whether it has been renewed meanwhile.
pub(super) struct Patience {
    length: Duration,
    renewed: Instant,
    sleep: Pin<Box<Sleep>>,
}

impl Patience {
    pub(super) fn new(length: Duration) -> Self {
        Patience { length, renewed: Instant::now(), sleep: Box::pin(tokio::time::sleep(length)) }
    }

    /// Starts anew.
    pub(super) fn renew(&mut self) {
        self.renewed = Instant::now();
    }

    /// Ready when it has not been renewed for its length.
    pub(super) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.sleep.as_mut().poll(context).is_ready() {
            let end = self.renewed + self.length;
            if end <= Instant::now() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(end);
        }
        Poll::Pending
    }
}

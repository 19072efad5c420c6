//! The owner thread's inbox: many tasks put in, one thread takes everything out at once.
//!
//! A mutex around a vector, swapped whole: the owner takes one lock a turn however many commands came, and a
//! sender wakes it only when it sleeps. That is cheaper here than a channel, which locks or spins for each item.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Inputs that may wait. Every connection has at most one request under way, so this is reached only when the
/// owner stalls; the sender is then told to try later.
const CAPACITY: usize = 65_536;

pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    ready: Condvar,
}

struct State<T> {
    inputs: Vec<T>,
    sleeping: bool,
    closed: bool,
}

/// Why an input was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Too many inputs wait.
    Full,
    /// The owner has ended.
    Closed,
}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Self {
        let state = State { inputs: Vec::new(), sleeping: false, closed: false };
        Inbox { state: Mutex::new(state), ready: Condvar::new() }
    }

    pub(crate) fn push(&self, input: T) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.inputs.len() >= CAPACITY {
            return Err(Refused::Full);
        }
        state.inputs.push(input);
        let wake = std::mem::take(&mut state.sleeping);
        drop(state);
        if wake {
            self.ready.notify_one();
        }
        Ok(())
    }

    /// Moves everything that waits into `inputs`, which must be empty; sleeps up to `patience` for a first one,
    /// without end when it is `None`.
    pub(crate) fn drain(&self, inputs: &mut Vec<T>, patience: Option<Duration>) {
        let mut state = self.lock();
        if state.inputs.is_empty() && patience != Some(Duration::ZERO) {
            state.sleeping = true;
            let idle = |state: &mut State<T>| state.sleeping && !state.closed;
            state = match patience {
                None => self.ready.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner),
                Some(patience) => {
                    let waited = self.ready.wait_timeout_while(state, patience, idle);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.sleeping = false;
        }
        std::mem::swap(inputs, &mut state.inputs);
    }

    /// Refuses further inputs; those taken before are still drained.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_one();
    }

    /// No code panics while it holds the lock, so a poisoned state is a whole one.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn everything_put_in_comes_out_in_order_and_a_sleeper_wakes() {
        let inbox = Arc::new(Inbox::new());
        let sender = inbox.clone();
        let thread = std::thread::spawn(move || (0..10_000).for_each(|n| sender.push(n).unwrap()));
        let mut all = Vec::new();
        while all.len() < 10_000 {
            let mut some = Vec::new();
            inbox.drain(&mut some, None);
            all.append(&mut some);
        }
        thread.join().unwrap();
        assert_eq!(all, (0..10_000).collect::<Vec<_>>());
        inbox.drain(&mut all, Some(Duration::ZERO));
        inbox.close();
        assert_eq!(inbox.push(1), Err(Refused::Closed));
    }

    #[test]
    fn a_full_inbox_refuses_and_loses_nothing() {
        let inbox = Inbox::new();
        (0..CAPACITY).for_each(|n| inbox.push(n).unwrap());
        assert_eq!(inbox.push(0), Err(Refused::Full));
        let mut all = Vec::new();
        inbox.drain(&mut all, None);
        assert_eq!(all.len(), CAPACITY);
    }
}

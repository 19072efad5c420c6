//! The end of a world: faults cease, clients go away, and whatever is stored must come out.

use super::World;
use super::life::Death;
use crate::checker::Violation;
use crate::machine::{Answer, Caller, Input};
use crate::queues;
use tidegate_engine::{Command, Receipt, Reply};

/// Rounds in which nothing comes out until everything must have: what is hidden longest becomes visible after a minute,
/// some times over.
const QUIET_ROUNDS_MAX: usize = 200;
/// Rounds altogether; no world stores more than ten times as many messages.
const ROUNDS_MAX: usize = 10_000;
impl World {
    pub(super) fn finish(&mut self) -> Result<(), Violation> {
        self.heal();
        if self.watch.is_damaged {
            self.look()?;
            self.die(Death::Process);
            self.events.clear();
            self.mend();
        }
        self.restart()?;
        self.look()?;
        for client in 0..self.seats.len() {
            let attempt = self.seats[client].attempt;
            self.hang_up(client, attempt);
        }
        self.pause(1_000)?;
        self.drain()
    }

    fn heal(&mut self) {
        self.events.clear();
        self.network.heal();
        self.plan.heal();
        self.storage.limit_capacity(None);
        self.busy_until = self.moment;
        (self.turn_at, self.house_at) = (None, None);
        self.seats.iter_mut().for_each(|seat| seat.waits = false);
    }

    /// Lets time pass in which only the server does something.
    fn pause(&mut self, millis: u64) -> Result<(), Violation> {
        let end = self.moment.after(millis);
        self.wake_owner();
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= end) {
            let (moment, _) = *entry.key();
            let event = entry.remove();
            self.pass_to(moment);
            self.happen(event)?;
        }
        self.pass_to(end);
        // Faults that were planned and had not struck may do so even now.
        if self.server.is_none() { self.restart() } else { Ok(()) }
    }

    /// Asks the server, and gives it time to answer. There are no answers where it ended meanwhile.
    fn ask(&mut self, commands: impl IntoIterator<Item = Command>) -> Result<Vec<Option<Answer>>, Violation> {
        self.witnessed.clear();
        for command in commands {
            let command = Box::new(self.stamp(command));
            let Some(server) = &mut self.server else { break };
            server.push(Input::Command { caller: Caller::Witness(self.witnessed.len()), command });
            self.witnessed.push(None);
        }
        self.pause(100)?;
        Ok(std::mem::take(&mut self.witnessed))
    }

    /// Receives and deletes until nothing is left.
    fn drain(&mut self) -> Result<(), Violation> {
        let mut quiet_rounds = 0;
        for _ in 0..ROUNDS_MAX {
            let answers = self.ask(queues::ALL.map(World::short_poll))?;
            let deletes: Vec<_> = queues::ALL.into_iter().zip(&answers).filter_map(delete_of).collect();
            let is_quiet = deletes.is_empty();
            self.ask(deletes)?;
            if is_quiet {
                if self.look()? == 0 {
                    return Ok(());
                }
                quiet_rounds += 1;
                self.pause(3_000)?;
            }
            if quiet_rounds == QUIET_ROUNDS_MAX {
                break;
            }
        }
        Err(Violation { checker: "delivery", what: "messages that are stored are not delivered".into() })
    }
}

fn delete_of((queue, answer): (&str, &Option<Answer>)) -> Option<Command> {
    let Ok(Reply::Received(deliveries)) = &answer.as_ref()?.outcome else { return None };
    let receipts: Vec<Receipt> = deliveries.iter().map(|delivery| delivery.receipt).collect();
    (!receipts.is_empty()).then(|| Command::Delete { queue: queues::address(queue), receipts })
}

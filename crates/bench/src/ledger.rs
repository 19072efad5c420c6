//! Which messages were sent and received, and what is wrong with that.
//!
//! A message is one bit of "acknowledged" and one of "received", in chunks of 65,536 numbers. A chunk whose messages all
//! came is forgotten but for that, so memory goes with what is on its way: 16 KiB for a chunk, 2.5 MiB for a backlog of ten
//! million. Messages of other measurements, which an old queue may hold, are followed within limits.

use crate::mark::Mark;
use std::collections::HashMap;

/// Messages of a chunk.
const CHUNK: u64 = 1 << 16;
const WORDS: usize = (CHUNK / 64) as usize;
/// Chunks of other measurements that are followed: 64 MiB. Their numbers come from the server, so they need a limit.
const FOREIGN_CHUNKS_MAX: usize = 4_096;
/// Groups of other measurements that are followed.
const FOREIGN_GROUPS_MAX: usize = 1 << 20;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Acknowledged and never received.
    pub(crate) lost: u64,
    /// Received again.
    pub(crate) duplicates: u64,
    /// Bodies or digests that are not what was sent.
    pub(crate) wrong: u64,
    /// Received after a later message of its group.
    pub(crate) out_of_order: u64,
    /// Received while another receive still held messages of its group.
    pub(crate) overlapping: u64,
    /// Messages of other measurements, for which loss cannot be told.
    pub(crate) foreign: u64,
}

impl Findings {
    pub(crate) fn add(&mut self, other: &Findings) {
        self.lost += other.lost;
        self.duplicates += other.duplicates;
        self.wrong += other.wrong;
        self.out_of_order += other.out_of_order;
        self.overlapping += other.overlapping;
        self.foreign += other.foreign;
    }
}

/// The account of one measurement.
pub(crate) struct Ledger {
    run: u32,
    is_fifo: bool,
    own: Numbers,
    foreign: HashMap<(u32, u64), Chunk>,
    /// The last place received of each group, by run and group.
    last: HashMap<(u32, u32), u32>,
    foreign_groups: usize,
    /// Groups with messages in flight: which receive took them.
    held: HashMap<(u32, u32), u64>,
    findings: Findings,
}

impl Ledger {
    pub(crate) fn new(run: u32, is_fifo: bool) -> Self {
        Ledger {
            run,
            is_fifo,
            own: Numbers::default(),
            foreign: HashMap::new(),
            last: HashMap::new(),
            foreign_groups: 0,
            held: HashMap::new(),
            findings: Findings::default(),
        }
    }

    /// The service has said that it keeps this message of this run.
    pub(crate) fn acknowledged(&mut self, number: u64) {
        self.own.acknowledge(number);
    }

    /// A body that is not of a measurement, or a digest that does not fit.
    pub(crate) fn wrong(&mut self) {
        self.findings.wrong += 1;
    }

    /// A message came. `receive` tells one receive from the others; `issued` is how many numbers this run has given out.
    pub(crate) fn received(&mut self, mark: &Mark, receive: u64, issued: u64) {
        let is_own = mark.run == self.run;
        if is_own && mark.number >= issued {
            return self.wrong();
        }
        let is_new = if is_own { self.own.receive(mark.number) } else { self.receive_foreign(mark) };
        self.findings.duplicates += u64::from(!is_new);
        self.findings.foreign += u64::from(!is_own);
        if self.is_fifo {
            self.check_group(mark, is_own, is_new, receive);
        }
    }

    /// The messages of a group that a receive took are about to be deleted. To be said before, because another receive
    /// may be answered with the next ones as soon as the service has done it.
    pub(crate) fn released(&mut self, run: u32, group: u32, receive: u64) {
        if self.held.get(&(run, group)) == Some(&receive) {
            self.held.remove(&(run, group));
        }
    }

    /// Messages that are acknowledged and did not come yet.
    pub(crate) fn missing(&self) -> u64 {
        self.own.missing
    }

    /// What was found, if everything has been received by now that ever will be.
    pub(crate) fn findings(&self) -> Findings {
        Findings { lost: self.own.missing, ..self.findings }
    }

    fn receive_foreign(&mut self, mark: &Mark) -> bool {
        let key = (mark.run, mark.number / CHUNK);
        if self.foreign.len() >= FOREIGN_CHUNKS_MAX && !self.foreign.contains_key(&key) {
            return true;
        }
        self.foreign.entry(key).or_default().receive(mark.number)
    }

    fn check_group(&mut self, mark: &Mark, is_own: bool, is_new: bool, receive: u64) {
        let group = (mark.run, mark.group);
        let holder = *self.held.entry(group).or_insert(receive);
        self.findings.overlapping += u64::from(holder != receive);
        if !is_own && !self.last.contains_key(&group) {
            if self.foreign_groups == FOREIGN_GROUPS_MAX {
                return;
            }
            self.foreign_groups += 1;
        }
        let last = self.last.entry(group).or_default();
        // One that came before is counted as a duplicate already.
        self.findings.out_of_order += u64::from(mark.place <= *last && is_new);
        *last = mark.place.max(*last);
    }
}

/// The messages of this run.
#[derive(Default)]
struct Numbers {
    /// By number / `CHUNK`; `None` once all of it came.
    chunks: HashMap<u64, Option<Chunk>>,
    missing: u64,
}

impl Numbers {
    fn acknowledge(&mut self, number: u64) {
        if let Some(chunk) = self.chunks.entry(number / CHUNK).or_insert_with(|| Some(Chunk::default())) {
            let is_new = set(&mut chunk.acknowledged, number);
            self.missing += u64::from(is_new && !is_set(&chunk.received, number));
        }
    }

    /// Whether it came for the first time.
    fn receive(&mut self, number: u64) -> bool {
        let slot = self.chunks.entry(number / CHUNK).or_insert_with(|| Some(Chunk::default()));
        let Some(chunk) = slot else { return false };
        let is_new = chunk.receive(number);
        self.missing -= u64::from(is_new && is_set(&chunk.acknowledged, number));
        if chunk.received_count == CHUNK {
            *slot = None;
        }
        is_new
    }
}

struct Chunk {
    acknowledged: Box<[u64; WORDS]>,
    received: Box<[u64; WORDS]>,
    received_count: u64,
}

impl Default for Chunk {
    fn default() -> Self {
        Chunk { acknowledged: Box::new([0; WORDS]), received: Box::new([0; WORDS]), received_count: 0 }
    }
}

impl Chunk {
    fn receive(&mut self, number: u64) -> bool {
        let is_new = set(&mut self.received, number);
        self.received_count += u64::from(is_new);
        is_new
    }
}

/// Sets a bit; whether it was clear.
fn set(bits: &mut [u64; WORDS], number: u64) -> bool {
    let was_set = is_set(bits, number);
    bits[(number % CHUNK / 64) as usize] |= 1 << (number % 64);
    !was_set
}

fn is_set(bits: &[u64; WORDS], number: u64) -> bool {
    bits[(number % CHUNK / 64) as usize] >> (number % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: u32 = 7;

    fn mark(number: u64) -> Mark {
        Mark { run: RUN, number, sent_ns: 0, group: 0, place: 0 }
    }

    fn in_group(number: u64, group: u32, place: u32) -> Mark {
        Mark { group, place, ..mark(number) }
    }

    #[test]
    fn every_message_is_expected_once() {
        let mut ledger = Ledger::new(RUN, false);
        let sent = CHUNK + 10;
        // Half of them come before their acknowledgement does.
        for number in 0..sent {
            if number % 2 == 0 {
                ledger.acknowledged(number);
                ledger.received(&mark(number), number, sent);
            } else {
                ledger.received(&mark(number), number, sent);
                ledger.acknowledged(number);
            }
        }
        assert_eq!((ledger.missing(), ledger.findings()), (0, Findings::default()));
        assert!(ledger.own.chunks[&0].is_none(), "a complete chunk takes no memory");
        ledger.received(&mark(3), 0, sent);
        ledger.received(&mark(CHUNK + 3), 0, sent);
        assert_eq!(ledger.findings(), Findings { duplicates: 2, ..Findings::default() });
    }

    #[test]
    fn what_was_acknowledged_and_does_not_come_is_lost() {
        let mut ledger = Ledger::new(RUN, false);
        for number in [0, 1, 2, 500_000] {
            ledger.acknowledged(number);
        }
        ledger.acknowledged(2);
        ledger.received(&mark(1), 0, 600_000);
        // Nobody said that it was kept, but it may have been.
        ledger.received(&mark(3), 0, 600_000);
        assert_eq!(ledger.findings(), Findings { lost: 3, ..Findings::default() });
    }

    #[test]
    fn a_number_that_was_not_given_out_is_wrong() {
        let mut ledger = Ledger::new(RUN, false);
        ledger.received(&mark(5), 0, 5);
        assert_eq!(ledger.findings(), Findings { wrong: 1, ..Findings::default() });
    }

    #[test]
    fn groups_are_in_order() {
        let mut ledger = Ledger::new(RUN, true);
        for (receive, number, group, place) in [(0, 0, 1, 1), (1, 1, 2, 1), (2, 4, 1, 3), (3, 5, 2, 2)] {
            ledger.received(&in_group(number, group, place), receive, 10);
            ledger.released(RUN, group, receive);
        }
        assert_eq!(ledger.findings(), Findings::default(), "a place whose send failed is skipped");
        ledger.received(&in_group(2, 1, 2), 4, 10);
        assert_eq!(ledger.findings(), Findings { out_of_order: 1, ..Findings::default() });
    }

    #[test]
    fn a_group_belongs_to_one_receive_at_a_time() {
        let mut ledger = Ledger::new(RUN, true);
        ledger.received(&in_group(0, 1, 1), 0, 10);
        ledger.received(&in_group(1, 1, 2), 0, 10);
        ledger.received(&in_group(2, 2, 1), 1, 10);
        assert_eq!(ledger.findings(), Findings::default());
        ledger.received(&in_group(3, 1, 3), 1, 10);
        assert_eq!(ledger.findings(), Findings { overlapping: 1, ..Findings::default() });
        ledger.released(RUN, 1, 1);
        ledger.released(RUN, 1, 0);
        ledger.received(&in_group(4, 1, 4), 2, 10);
        assert_eq!(ledger.findings(), Findings { overlapping: 1, ..Findings::default() });
    }

    #[test]
    fn messages_of_others_are_followed_within_limits() {
        let mut ledger = Ledger::new(RUN, true);
        let foreign = |chunk: u64, place| Mark { run: 8, ..in_group(chunk * CHUNK, 1, place) };
        for chunk in 0..FOREIGN_CHUNKS_MAX as u64 + 5 {
            ledger.received(&foreign(chunk, 1 + chunk as u32), chunk, 0);
            ledger.released(8, 1, chunk);
        }
        assert_eq!(ledger.foreign.len(), FOREIGN_CHUNKS_MAX);
        let count = FOREIGN_CHUNKS_MAX as u64 + 5;
        assert_eq!(ledger.findings(), Findings { foreign: count, ..Findings::default() });
        ledger.received(&foreign(0, 1), 0, 0);
        assert_eq!(ledger.findings(), Findings { foreign: count + 1, duplicates: 1, ..Findings::default() });
    }
}

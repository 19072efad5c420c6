//! Random sequences of commands and of time on FIFO queues, against a naive model: every event must be one that may
//! happen, every answer the right one, and nothing may be missing.
//!
//! A failing sequence prints its seed and is cut down to the commands that it needs. `TIDEGATE_LONG=1` runs
//! many more; `TIDEGATE_SEED=<n>` runs one.

pub(crate) mod fifo_sequence;
mod naive_fifo;
mod trial;
mod util;

use fifo_sequence::{Entry, OF_RECEIPT, Sequence, Step, queue, sequence};
use naive_fifo::{Asked, Hidden, Naive, Queue, Repetition, Waiter};
use std::collections::{BTreeMap, VecDeque};
use tidegate_engine::{
    AttributeChange, Command, Error, Event, MessageSeq, MoveTaskId, MoveTaskOutcome, PeekedState, Position,
    Receipt, Receive, Reply, RequestId,
};
use trial::{Tally, Trial};
use util::*;

struct Run {
    bench: TestEngine,
    naive: Naive,
    /// Every receipt ever handed out, in that order.
    receipts: Vec<Receipt>,
    /// Every record of a message.
    message_records: Vec<Position>,
    /// Every task ever started.
    tasks: Vec<MoveTaskId>,
    read: usize,
    /// What the engine did in this call and the model has not taken over yet.
    events: VecDeque<Record>,
    /// The first of those that came after the command's answer, which tells of nothing later.
    after_answer: Option<Position>,
    /// What it answered in this call and the model has not compared yet.
    replies: BTreeMap<RequestId, Result<Reply, Error>>,
    sent: u128,
}

pub(crate) fn run(sequence: &Sequence) -> Tally {
    let mut bench = TestEngine::with_config(sequence.config);
    bench.thorough = false;
    let config = sequence.config;
    let naive = Naive::new(bench.now, config.cooldown, config.fifo_in_flight_max);
    let mut run = Run {
        bench,
        naive,
        receipts: Vec::new(),
        message_records: Vec::new(),
        tasks: Vec::new(),
        read: 0,
        events: VecDeque::new(),
        after_answer: None,
        replies: BTreeMap::new(),
        sent: 0,
    };
    for step in &sequence.steps {
        run.take(step);
    }
    run.compare();
    run.naive.tally
}

impl Run {
    /// Hands in a command. What it does and answers is then there to be taken over.
    fn ask(&mut self, command: Command) -> RequestId {
        let request = self.bench.ask(command);
        let answered_at = self.bench.log.answered_at.filter(|(answered, _)| *answered == request);
        let after = answered_at.and_then(|(_, count)| self.bench.log.records.get(count));
        self.after_answer = after.map(|record| record.position);
        self.gather();
        request
    }

    fn gather(&mut self) {
        self.naive.begin(self.bench.now);
        let records = &self.bench.log.records[self.read..];
        self.events = records.iter().cloned().collect();
        self.read = self.bench.log.records.len();
        let stored = self.events.iter().filter(|record| record.stored().is_some());
        self.message_records.extend(stored.map(|record| record.position));
        self.replies = std::mem::take(&mut self.bench.log.replies);
    }

    /// Takes over what happened by itself, up to the first event that is the command's own or came after its answer.
    fn others(&mut self, is_own: impl Fn(&Record) -> bool) {
        while let Some(record) = self.events.front() {
            if is_own(record) || Some(record.position) == self.after_answer {
                return;
            }
            let record = self.events.pop_front().expect("seen");
            self.happened(&record.event, None);
            self.naive.advance();
        }
    }

    fn own(&mut self) -> Record {
        self.events.pop_front().expect("an event of the command's own")
    }

    /// A call is over: everything was taken over, and nothing is missing.
    fn finish(&mut self, request: Option<RequestId>) {
        self.after_answer = None;
        self.others(|_| false);
        self.naive.advance();
        (0..self.naive.queues.len()).for_each(|n| self.drop_empty_handed(n));
        let now = self.naive.now;
        for (waiting, reply) in std::mem::take(&mut self.replies) {
            assert_ne!(Some(waiting), request, "the command's answer was compared");
            let Ok(Reply::Received(deliveries)) = &reply else { panic!("{waiting:?}: {reply:?}") };
            assert!(deliveries.is_empty(), "no event of what {waiting:?} received");
            let mut over = 0;
            for waiting_here in self.naive.queues.iter_mut().map(|queue| &mut queue.waiting) {
                let before = waiting_here.len();
                waiting_here.retain(|waiter| waiter.request != waiting || waiter.deadline > now);
                over += before - waiting_here.len();
            }
            assert_eq!(over, 1, "{waiting:?} waits no more");
        }
        self.naive.check_complete();
        let due = self.naive.next_due();
        let armed = self.bench.live.engine.poll_timeout();
        let early = due.is_none_or(|due| armed.is_some_and(|armed| armed <= due));
        assert!(early, "due at {due:?}, but the timer is set for {armed:?}");
    }

    fn answer(&mut self, request: RequestId) -> Result<Reply, Error> {
        self.replies.remove(&request).expect("answered at once")
    }

    #[track_caller]
    fn expect_done(&mut self, request: RequestId, expected: Result<(), Error>) {
        match (self.answer(request), expected) {
            (Ok(Reply::Done), Ok(())) => {}
            (Err(error), Err(expected)) => {
                assert_eq!(error, expected);
                self.naive.note(match error {
                    Error::MoveTaskRunning => "a task runs already",
                    Error::SourceNotDeadLetterQueue => "no dead-letter queue",
                    _ => "refused",
                });
            }
            (reply, expected) => panic!("{expected:?} was to be expected, not {reply:?}"),
        }
    }

    /// Something that no command asked for, or that `direct`, the receive under way, asked for.
    fn happened(&mut self, event: &Event, direct: Option<(usize, &Asked)>) {
        match event {
            Event::MessagesReceived { queue, messages, visible_at, attempt_id } => {
                let n = self.naive.numbered(queue.0);
                let asked = self.receiver(n, direct);
                assert_eq!(asked.attempt.as_deref(), attempt_id.as_deref());
                self.naive.receive(n, messages, &asked, *visible_at);
                self.told(n, messages, direct.is_some());
            }
            Event::ReceiveRepeated { queue, messages, visible_at } => {
                let n = self.naive.numbered(queue.0);
                let asked = self.receiver(n, direct);
                self.naive.repeat(n, messages, &asked, *visible_at);
                self.told(n, messages, direct.is_some());
            }
            Event::MessageDeadLettered { queue, seq, target, target_seq } => {
                let n = self.naive.numbered(queue.0);
                self.naive.bury(n, *seq, target.0, *target_seq);
            }
            Event::MessageRedriven { queue, seq, target, target_seq, id, by_task: true } => {
                let n = self.naive.numbered(queue.0);
                self.naive.step_of_task(n, *seq, target.0, *target_seq, *id);
            }
            Event::MoveTaskEnded { queue, outcome } => {
                let n = self.naive.numbered(queue.0);
                self.naive.end_task(n, *outcome);
            }
            other => panic!("nobody asked for {other:?}"),
        }
    }

    /// What was asked for by whom the messages go to: the receive under way, or the first that waits.
    fn receiver(&mut self, n: usize, direct: Option<(usize, &Asked)>) -> Asked {
        self.drop_empty_handed(n);
        match direct {
            Some((queue, asked)) if queue == n => asked.clone(),
            _ => self.naive.queues[n].waiting.first().expect("somebody waits").asked.clone(),
        }
    }

    /// Those who waited first and got nothing wait no more: their time was over, or they wait to repeat what cannot be
    /// repeated any more.
    fn drop_empty_handed(&mut self, n: usize) {
        while let Some(first) = self.naive.queues[n].waiting.first()
            && let Some(reply) = self.replies.get(&first.request)
        {
            match reply {
                Ok(Reply::Received(none)) if none.is_empty() => {
                    assert!(first.deadline <= self.naive.now, "its wait is not over");
                    self.naive.note("wait ended empty");
                }
                Err(Error::AttemptNotRetryable) => {
                    let id = first.asked.attempt.as_ref().expect("an attempt id");
                    assert_eq!(self.naive.queues[n].repetition(id), Repetition::Void);
                    self.naive.note("attempt void while it waited");
                }
                _ => return,
            }
            let first = self.naive.queues[n].waiting.remove(0);
            drop(self.replies.remove(&first.request));
        }
    }

    /// Compares the answer of who waited first.
    fn told(&mut self, n: usize, messages: &[MessageSeq], is_direct: bool) {
        if !is_direct {
            let waiter = self.naive.queues[n].waiting.remove(0);
            let reply = self.answer(waiter.request);
            self.check_deliveries(n, messages, reply);
            self.naive.note("a poll was served");
        }
    }

    fn check_deliveries(&mut self, n: usize, messages: &[MessageSeq], reply: Result<Reply, Error>) {
        let Ok(Reply::Received(deliveries)) = reply else { panic!("not received: {reply:?}") };
        let got = self.bench.read(&deliveries);
        self.naive.check_told(n, messages, &got);
        for got in got {
            if !self.receipts.contains(&got.receipt) {
                self.receipts.push(got.receipt);
            }
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Create { queue: number, attributes } => self.create(*number, attributes),
            Step::DeleteQueue { queue } => self.delete_queue(*queue),
            Step::Set { queue, attributes } => self.set(*queue, attributes),
            Step::View { queue } => self.view(*queue),
            Step::Purge { queue } => self.purge(*queue),
            Step::Send { queue, entries } => self.send(*queue, entries),
            Step::Receive { queue, asked, wait } => self.receive(*queue, asked, *wait),
            Step::Delete { queue, picks } => self.delete(*queue, picks),
            Step::Change { queue, picks } => self.change(*queue, picks),
            Step::Return { picks } => self.return_undelivered(picks),
            Step::Relocate { picks } => self.relocate(picks),
            Step::StartTask { source, destination, rate } => self.start_task(*source, *destination, *rate),
            Step::CancelTask { source, pick } => self.cancel_task(*source, *pick),
            Step::Redrive { queue, destination, picks } => self.redrive(*queue, *destination, picks),
            Step::CancelPoll { pick } => {
                let open: Vec<_> = self.bench.log.open.iter().copied().collect();
                if !open.is_empty() {
                    let request = open[usize::from(*pick) % open.len()];
                    self.bench.cancel(Poll(request));
                    let queues = &mut self.naive.queues;
                    queues.iter_mut().for_each(|queue| queue.waiting.retain(|w| w.request != request));
                }
            }
            Step::Jump(duration) => self.bench.jump(*duration),
            Step::JumpToDeadline { before } => {
                if let Some(due) = self.bench.live.engine.poll_timeout() {
                    let ahead = due.since(self.bench.now).saturating_sub(*before);
                    self.bench.jump(ahead);
                }
            }
            Step::Wait(duration) => {
                let target = self.bench.now + *duration;
                for _ in 0..200 {
                    let due = self.bench.live.engine.poll_timeout().filter(|due| *due <= target);
                    let Some(due) = due else { break };
                    self.bench.now = self.bench.now.max(due);
                    self.meet_deadlines();
                }
                self.bench.now = target;
                self.meet_deadlines();
            }
            Step::RestartFromEvents => self.restart(TestEngine::restart_from_events),
            Step::RestartFromSnapshot => self.restart(TestEngine::restart_from_snapshot),
            Step::Follow => self.bench.follow_from_here(),
            Step::Compare => self.compare(),
        }
    }

    fn restart(&mut self, restart: fn(&mut TestEngine)) {
        restart(&mut self.bench);
        self.naive.end_waits();
        self.naive.forget_paces();
        self.naive.note("restart");
    }

    fn meet_deadlines(&mut self) {
        self.bench.meet_deadlines();
        self.gather();
        self.finish(None);
    }

    fn create(&mut self, number: u8, attributes: &[AttributeChange]) {
        let address = queue(number);
        let attributes = [&[AttributeChange::FifoQueue(true)], attributes].concat();
        let create = Command::CreateQueue {
            queue: address.clone(),
            attributes: attributes.clone(),
            tags: Default::default(),
        };
        let request = self.ask(create);
        self.others(|record| matches!(record.event, Event::QueueCreated { .. }));
        if self.naive.named(&address).is_some() {
            drop(self.answer(request)); // Compared in the model of standard queues.
        } else if !self.names_are_there(&address, &attributes) {
            self.expect_done(request, Err(Error::DeadLetterMissing));
        } else if self
            .naive
            .deleted
            .iter()
            .any(|(at, name)| *name == address && self.naive.now < *at + self.naive.cooldown)
        {
            self.expect_done(request, Err(Error::QueueDeletedRecently));
        } else {
            self.own();
            let number = self.naive.created;
            self.naive.created += 1;
            self.naive.queues.push(Queue::new(number, address, &attributes));
            self.expect_done(request, Ok(()));
        }
        self.finish(Some(request));
    }

    fn names_are_there(&self, queue: &tidegate_engine::QueueAddress, changes: &[AttributeChange]) -> bool {
        changes.iter().all(|change| match change {
            AttributeChange::RedrivePolicy(Some(policy)) => {
                let target = &policy.dead_letter_target;
                target == queue || self.naive.named(target).is_some()
            }
            _ => true,
        })
    }

    fn delete_queue(&mut self, number: u8) {
        let address = queue(number);
        let request = self.ask(Command::DeleteQueue { queue: address.clone() });
        self.others(|record| matches!(record.event, Event::QueueDeleted { .. }));
        match self.naive.named(&address) {
            None => self.expect_done(request, Err(Error::QueueMissing)),
            Some(n) => {
                self.own();
                self.drop_empty_handed(n);
                for waiter in self.naive.queues.remove(n).waiting {
                    let was_over = waiter.deadline <= self.naive.now;
                    match self.answer(waiter.request) {
                        Ok(Reply::Received(none)) if was_over => assert_eq!(none, []),
                        reply => assert_eq!(reply.err(), Some(Error::QueueMissing)),
                    }
                }
                self.naive.deleted.push((self.naive.now, address));
                self.expect_done(request, Ok(()));
            }
        }
        self.finish(Some(request));
    }

    fn set(&mut self, number: u8, attributes: &[AttributeChange]) {
        let (address, attributes) = (queue(number), attributes.to_vec());
        let set = Command::SetQueueAttributes { queue: address.clone(), attributes: attributes.clone() };
        let request = self.ask(set);
        self.others(|record| matches!(record.event, Event::AttributesSet { .. }));
        let expected = match self.naive.named(&address) {
            None => Err(Error::QueueMissing),
            Some(_) if !self.names_are_there(&address, &attributes) => Err(Error::DeadLetterMissing),
            Some(n) => {
                self.own();
                let current = self.naive.queues[n].attributes.changes();
                let all = [&current[..], &attributes[..]].concat();
                self.naive.queues[n].attributes = tidegate_engine::QueueAttributes::from_changes(&all);
                self.naive.advance();
                Ok(())
            }
        };
        self.expect_done(request, expected);
        self.finish(Some(request));
    }

    fn view(&mut self, number: u8) {
        let request = self.ask(Command::ViewQueue { queue: queue(number) });
        let reply = self.answer(request);
        match self.naive.named(&queue(number)) {
            None => assert_eq!(reply.err(), Some(Error::QueueMissing)),
            Some(n) => {
                let Ok(Reply::Queue(view)) = reply else { panic!("no view: {reply:?}") };
                let counts = (view.counts.visible, view.counts.in_flight, view.counts.delayed);
                assert_eq!(counts, self.naive.queues[n].counts());
                assert_eq!(view.attributes, self.naive.queues[n].attributes);
            }
        }
    }

    fn purge(&mut self, number: u8) {
        let request = self.ask(Command::PurgeQueue { queue: queue(number) });
        self.others(|record| matches!(record.event, Event::QueuePurged { .. }));
        let now = self.naive.now;
        let cooldown = self.naive.cooldown;
        let expected = match self.naive.named(&queue(number)) {
            None => Err(Error::QueueMissing),
            Some(n) if self.naive.queues[n].purged_at.is_some_and(|at| now < at + cooldown) => {
                Err(Error::PurgeInProgress)
            }
            Some(n) => {
                self.own();
                self.naive.queues[n].purge(now);
                Ok(())
            }
        };
        self.expect_done(request, expected);
        self.finish(Some(request));
    }

    fn send(&mut self, number: u8, entries: &[Entry]) {
        let sends = entries.iter().map(|(group, id)| {
            self.sent += 1;
            let unique = format!("unique {}", self.sent);
            let id = id.map_or(unique, |id| format!("id {id}"));
            let entry = self.bench.entry(&format!("g{group}"), &id, "");
            (format!("g{group}"), id, entry)
        });
        let sends: Vec<_> = sends.collect();
        let entries = sends.iter().map(|(_, _, entry)| entry.clone()).collect();
        let request = self.ask(Command::Send { queue: queue(number), entries });
        self.others(|record| matches!(record.event, Event::MessageSent { .. }));
        let reply = self.answer(request);
        let Some(n) = self.naive.named(&queue(number)) else {
            assert_eq!(reply.err(), Some(Error::QueueMissing));
            return self.finish(Some(request));
        };
        let Ok(Reply::Sent(sent)) = reply else { panic!("not sent: {reply:?}") };
        let mut expected = Vec::new();
        for (group, id, entry) in sends {
            if let Some(first) = self.naive.queues[n].duplicate_of(&id, &group) {
                self.naive.note("duplicate");
                expected.push(Ok(first));
                continue;
            }
            let record = self.own();
            let stored = record.stored().expect("a message was sent").clone();
            assert_eq!(stored.message.id, entry.message.id);
            assert_eq!(stored.queue.0, self.naive.queues[n].number);
            let place = (stored.seq, record.position);
            expected.push(Ok(self.naive.send(n, place, entry.message.id, &group, &id)));
        }
        assert_eq!(sent, expected);
        self.finish(Some(request));
    }

    fn receive(&mut self, number: u8, asked: &Asked, wait: std::time::Duration) {
        let receive = Receive {
            queue: queue(number),
            max: asked.max,
            visibility_timeout: asked.timeout,
            wait: Some(wait),
            attempt_id: asked.attempt.as_deref().map(Into::into),
        };
        let request = self.ask(Command::Receive(receive));
        let reply = self.replies.remove(&request);
        let Some(n) = self.naive.named(&queue(number)) else {
            self.others(|_| false);
            assert_eq!(reply.and_then(Result::err), Some(Error::QueueMissing));
            return self.finish(Some(request));
        };
        match reply {
            Some(Ok(Reply::Received(deliveries))) if !deliveries.is_empty() => {
                let receipts: Vec<_> =
                    deliveries.iter().map(|d| (d.receipt.seq, d.receipt.receive)).collect();
                // Others may have been served before it, with the same messages even: it is the one before the answer.
                let answered_at = self.bench.log.answered_at.filter(|(answered, _)| *answered == request);
                let (_, count) = answered_at.expect("the newest request was answered");
                let own = self.bench.log.records[count - 1].position;
                let is_own = |record: &Record| record.position == own;
                self.others(is_own);
                let event = self.own().event;
                self.happened(&event, Some((n, asked)));
                let messages: Vec<_> = receipts.iter().map(|(seq, _)| *seq).collect();
                self.check_deliveries(n, &messages, Ok(Reply::Received(deliveries)));
                self.naive.advance();
            }
            Some(Err(error)) => {
                assert_eq!(error, Error::AttemptNotRetryable);
                self.others(|_| false);
                let id = asked.attempt.as_ref().expect("an attempt id");
                assert_eq!(self.naive.queues[n].repetition(id), Repetition::Void);
                self.naive.note("attempt void");
            }
            Some(empty) => {
                assert!(wait.is_zero(), "who may wait waits, and has no {empty:?}");
                self.others(|_| false);
                assert!(!self.naive.has_something(n, false), "there was something");
                self.naive.note("received nothing");
                if self.naive.room(n) == 0 {
                    self.naive.note("no room in flight");
                }
            }
            None => {
                self.others(|_| false);
                assert!(!wait.is_zero(), "a short poll is answered");
                let deadline = self.naive.now + wait;
                self.naive.queues[n].waiting.push(Waiter { request, asked: asked.clone(), deadline });
                self.naive.note("waits");
            }
        }
        self.finish(Some(request));
    }

    fn pick_receipts(&self, picks: impl Iterator<Item = u16>) -> Vec<Receipt> {
        let count = self.receipts.len();
        picks.filter(|_| count > 0).map(|pick| self.receipts[count - 1 - usize::from(pick) % count]).collect()
    }

    /// The queue that a step with receipts is about.
    fn queue_of(&self, number: u8, receipts: &[Receipt]) -> u8 {
        let first = receipts.first().filter(|_| number == OF_RECEIPT).map(|receipt| receipt.queue.0);
        let is_it = |number: &u8| {
            let n = self.naive.named(&queue(*number));
            n.is_some_and(|n| Some(self.naive.queues[n].number) == first)
        };
        (0..3).find(is_it).unwrap_or(number % 3)
    }

    fn delete(&mut self, number: u8, picks: &[u16]) {
        let receipts = self.pick_receipts(picks.iter().copied());
        let number = self.queue_of(number, &receipts);
        let request = self.ask(Command::Delete { queue: queue(number), receipts: receipts.clone() });
        self.others(|record| matches!(record.event, Event::MessageDeleted { .. }));
        let reply = self.answer(request);
        let Some(n) = self.naive.named(&queue(number)) else {
            assert_eq!(reply.err(), Some(Error::QueueMissing));
            return self.finish(Some(request));
        };
        let mut expected = Vec::new();
        for receipt in receipts {
            let window = self.naive.queues[n].window(receipt);
            if window == Ok(true) {
                let event = self.own().event;
                assert!(
                    matches!(event, Event::MessageDeleted { seq, .. } if seq == receipt.seq),
                    "{event:?}"
                );
                self.naive.queues[n].delete(receipt.seq);
            }
            self.note_settled(&window, "deleted");
            expected.push(window.map(|_| ()));
        }
        let Ok(Reply::Settled(settled)) = reply else { panic!("not settled: {reply:?}") };
        assert_eq!(settled, expected);
        self.finish(Some(request));
    }

    fn note_settled(&mut self, window: &Result<bool, Error>, done: &'static str) {
        self.naive.note(match window {
            Ok(true) => done,
            Ok(false) => "settled what is gone",
            Err(Error::ReceiptExpired) => "receipt expired",
            Err(_) => "receipt of another queue",
        });
    }

    fn change(&mut self, number: u8, picks: &[(u16, std::time::Duration)]) {
        let receipts = self.pick_receipts(picks.iter().map(|(pick, _)| *pick));
        let number = self.queue_of(number, &receipts);
        let changes: Vec<_> = receipts.into_iter().zip(picks.iter().map(|(_, timeout)| *timeout)).collect();
        let change = Command::ChangeVisibility { queue: queue(number), changes: changes.clone() };
        let request = self.ask(change);
        self.others(|record| matches!(record.event, Event::VisibilityChanged { .. }));
        let reply = self.answer(request);
        let Some(n) = self.naive.named(&queue(number)) else {
            assert_eq!(reply.err(), Some(Error::QueueMissing));
            return self.finish(Some(request));
        };
        let mut expected = Vec::new();
        for (receipt, timeout) in changes {
            let until = self.naive.now + timeout;
            let window = self.naive.queues[n].window(receipt);
            self.note_settled(&window, "changed");
            let in_time =
                |n: usize, naive: &Naive| until.since(naive.queues[n].received_at(receipt.seq)) <= hours(12);
            expected.push(match window {
                Ok(true) if !in_time(n, &self.naive) => Err(Error::VisibilityBeyondLimit),
                Ok(true) => {
                    let event = self.own().event;
                    assert_eq!(event, Event::VisibilityChanged { receipt, visible_at: until });
                    self.naive.queues[n].change(receipt.seq, until);
                    self.naive.advance();
                    Ok(())
                }
                Ok(false) => Err(Error::NotAvailable),
                Err(error) => Err(error),
            });
        }
        let Ok(Reply::Settled(settled)) = reply else { panic!("not settled: {reply:?}") };
        assert_eq!(settled, expected);
        self.finish(Some(request));
    }

    fn return_undelivered(&mut self, picks: &[u16]) {
        let receipts = self.pick_receipts(picks.iter().copied());
        let request = self.ask(Command::ReturnUndelivered { receipts: receipts.clone() });
        for receipt in receipts {
            self.others(|record| matches!(record.event, Event::VisibilityChanged { .. }));
            let n = self.naive.queues.iter().position(|queue| queue.number == receipt.queue.0);
            let Some(n) = n else { continue };
            let queue = &self.naive.queues[n];
            if queue.window(receipt) == Ok(true) {
                if queue.is_repeatable(receipt) {
                    self.naive.note("kept for its repetition");
                    continue;
                }
                let (event, visible_at) = (self.own().event, self.naive.now);
                assert_eq!(event, Event::VisibilityChanged { receipt, visible_at });
                self.naive.queues[n].change(receipt.seq, visible_at);
                self.naive.advance();
                self.naive.note("returned");
            }
        }
        self.expect_done(request, Ok(()));
        self.finish(Some(request));
    }

    fn relocate(&mut self, picks: &[u16]) {
        let count = self.message_records.len();
        let chosen = picks.iter().filter(|_| count > 0);
        let places: Vec<_> =
            chosen.map(|pick| self.message_records[count - 1 - usize::from(*pick) % count]).collect();
        let messages = self.bench.candidates(&places);
        let request = self.ask(Command::Relocate { messages });
        self.others(|record| matches!(record.event, Event::MessageRelocated { .. }));
        for place in places {
            let queues = self.naive.queues.iter_mut();
            let mut messages = queues.flat_map(|q| q.messages.iter_mut().map(|m| (q.number, m)));
            let Some((number, message)) = messages.find(|(_, message)| message.position == place) else {
                continue;
            };
            let record = self.events.pop_front().expect("a live message is written anew");
            let stored = record.stored().expect("a message's record");
            assert_eq!((stored.queue.0, stored.seq, stored.sent_at), (number, message.seq, message.sent_at));
            assert_eq!(stored.message.id, message.id);
            assert_eq!(stored.message.group_id.as_deref(), Some(&*message.group));
            assert_eq!(stored.message.deduplication_id.as_deref(), Some(&*message.deduplication_id));
            message.position = record.position;
            let moved = message.deduplication_id.len() == 36;
            self.naive.note(if moved { "moved message relocated" } else { "relocated" });
        }
        self.expect_done(request, Ok(()));
        self.finish(Some(request));
    }

    fn start_task(&mut self, source: u8, destination: Option<u8>, rate: Option<u32>) {
        let (source, destination) = (queue(source), destination.map(queue));
        self.sent += 1;
        let id = MoveTaskId(self.sent.to_be_bytes());
        let start =
            Command::StartMoveTask { source: source.clone(), destination: destination.clone(), rate, id };
        let request = self.ask(start);
        self.others(|record| matches!(record.event, Event::MoveTaskStarted { .. }));
        let expected = self.naive.check_start(&source, destination.as_ref());
        if let Ok(n) = expected {
            self.own();
            self.tasks.push(id);
            self.naive.start_task(n, id, destination, rate);
            self.naive.note("task started");
        }
        self.expect_done(request, expected.map(|_| ()));
        self.finish(Some(request));
    }

    fn cancel_task(&mut self, source: u8, pick: u16) {
        let count = self.tasks.len();
        let id =
            if count == 0 { MoveTaskId([0; 16]) } else { self.tasks[count - 1 - usize::from(pick) % count] };
        let request = self.ask(Command::CancelMoveTask { source: queue(source), id });
        let cancelled = MoveTaskOutcome::Cancelled;
        self.others(
            |record| matches!(record.event, Event::MoveTaskEnded { outcome, .. } if outcome == cancelled),
        );
        let reply = self.answer(request);
        match self.naive.named(&queue(source)) {
            None => assert_eq!(reply.err(), Some(Error::MoveSourceMissing)),
            Some(n) => {
                let running = self.naive.queues[n].tasks.last_mut();
                match running.filter(|task| task.outcome.is_none() && task.id == id) {
                    None => assert_eq!(reply.err(), Some(Error::MoveTaskMissing)),
                    Some(task) => {
                        task.outcome = Some(cancelled);
                        let told =
                            matches!(reply, Ok(Reply::MoveTaskCancelled { moved }) if moved == task.moved);
                        assert!(told, "{reply:?}");
                        self.own();
                        self.naive.note("task cancelled");
                    }
                }
            }
        }
        self.finish(Some(request));
    }

    fn redrive(&mut self, number: u8, destination: Option<u8>, picks: &[u16]) {
        let (source, destination) = (queue(number), destination.map(queue));
        let seqs = self.naive.named(&source).map(|n| {
            let messages = &self.naive.queues[n].messages;
            let chosen = picks.iter().filter(|_| !messages.is_empty());
            chosen.map(|pick| messages[usize::from(*pick) % messages.len()].seq).collect::<Vec<_>>()
        });
        let mut seqs = seqs.unwrap_or_default();
        seqs.sort();
        seqs.dedup();
        self.sent += 1;
        let redrive = Command::Redrive {
            queue: source.clone(),
            destination: destination.clone(),
            messages: seqs.clone(),
            id: MoveTaskId(self.sent.to_be_bytes()),
        };
        let request = self.ask(redrive);
        self.others(|record| matches!(record.event, Event::MessageRedriven { by_task: false, .. }));
        let reply = self.answer(request);
        let checked = match self.naive.named(&source) {
            None => Err(Error::QueueMissing),
            Some(n) => self.naive.check_destination(&source, destination.as_ref()).map(|()| n),
        };
        match checked {
            Err(error) => assert_eq!(reply.err(), Some(error)),
            Ok(n) => {
                let mut expected = Vec::new();
                for seq in seqs {
                    let to = self.naive.destination(n, seq, destination.as_ref());
                    if let Ok(to) = to {
                        let Event::MessageRedriven { seq: moved, target, target_seq, id, .. } =
                            self.own().event
                        else {
                            panic!("not redriven")
                        };
                        assert_eq!((moved, target.0), (seq, self.naive.queues[to].number));
                        self.naive.redrive(n, seq, to, target_seq, id);
                        self.naive.note("redriven");
                    }
                    expected.push(to.map(|_| ()));
                }
                let Ok(Reply::Settled(settled)) = reply else { panic!("not settled: {reply:?}") };
                assert_eq!(settled, expected);
            }
        }
        self.finish(Some(request));
    }

    /// Compares everything that can be seen: followers, messages of all states, tasks.
    fn compare(&mut self) {
        self.bench.check_followers();
        for number in 0..3 {
            self.view(number);
            let Some(n) = self.naive.named(&queue(number)) else { continue };
            let request = self.ask(Command::Peek { queue: queue(number), after: None, max: 1_000 });
            let Ok(Reply::Peeked(peeked)) = self.answer(request) else { panic!("not peeked") };
            let found = peeked.iter().map(|p| {
                let t = &p.touched;
                let source = t.origin.as_ref().and_then(|origin| origin.source.clone());
                (t.stored.seq, t.stored.position, t.stored.sent_at, t.receive_count, source, p.state)
            });
            let modelled = &self.naive.queues[n];
            let expected = modelled.messages.iter().map(|m| {
                let state = match m.hidden {
                    Hidden::No => PeekedState::Visible,
                    Hidden::InFlight { until } => PeekedState::InFlight { visible_at: until },
                    Hidden::Delayed => {
                        PeekedState::Delayed { visible_at: m.sent_at + modelled.attributes.delay }
                    }
                };
                (m.seq, m.position, m.sent_at, m.receives, m.source.clone(), state)
            });
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "messages");
            let tasks: Vec<_> = modelled.tasks.iter().rev().cloned().collect();
            assert_eq!(self.bench.move_tasks(&queue(number)), tasks, "move tasks");
        }
    }
}

// Many of them.

/// What the sequences of one run must reach, or their weights are wrong.
const REACHED: [&str; 34] = [
    "a poll was served",
    "a task runs already",
    "attempt void",
    "chain",
    "changed",
    "dead letter",
    "deleted",
    "duplicate",
    "kept for its repetition",
    "moved at a rate",
    "moved by a task",
    "moved message relocated",
    "no dead-letter queue",
    "no room in flight",
    "receipt expired",
    "receipt of another queue",
    "received",
    "received again",
    "received before one that is hidden",
    "received nothing",
    "redriven",
    "refused",
    "relocated",
    "repeated",
    "restart",
    "returned",
    "settled what is gone",
    "task cancelled",
    "task completed",
    "task started",
    "task without destination",
    "task without source",
    "wait ended empty",
    "waits",
];

#[test]
fn fifo_queues_agree_with_the_naive_model() {
    Trial { sequence, run, reached: &REACHED, counts: (4_000, 500) }.check();
}

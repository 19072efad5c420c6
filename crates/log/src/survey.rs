//! Looking at a directory without changing anything: what is there, and what recovery makes of it.

use crate::{
    Position,
    checkpoint::{self, Checkpoint},
    codec::Key,
    error::LogError,
    frame::{FrameFault, MAX_FRAME_BYTES},
    names::{self, Name},
    segment::{HEAD_BYTES, Head, Seal, SealMark, decode_head},
    storage::{FileEntry, Storage, StorageFile},
    verdict::{Body, Mark, Place, Verdict, judge},
    walk::{Expected, Step, Walk, find_header},
};

/// The files of a directory, sorted by what they are.
#[derive(Default)]
pub(crate) struct Inventory {
    /// Numbers, ascending.
    pub(crate) segments: Vec<u32>,
    /// Numbers and lengths.
    pub(crate) free: Vec<(u32, u64)>,
    /// Positions, ascending.
    pub(crate) checkpoints: Vec<Position>,
    /// Numbers, ascending.
    pub(crate) postings: Vec<u32>,
    pub(crate) temporary: Vec<String>,
    pub(crate) has_reserve: bool,
}

impl Inventory {
    pub(crate) fn take(storage: &impl Storage) -> Result<Self, LogError> {
        let mut inventory = Self::default();
        for FileEntry { name, bytes } in storage.list().map_err(LogError::io("list its files"))? {
            match Name::parse(&name) {
                Some(Name::Segment(number)) => inventory.segments.push(number),
                Some(Name::Free(number)) => inventory.free.push((number, bytes)),
                Some(Name::Checkpoint(position)) => inventory.checkpoints.push(position),
                Some(Name::Posting(number)) => inventory.postings.push(number),
                Some(Name::Temporary) => inventory.temporary.push(name),
                None => inventory.has_reserve |= name == names::RESERVE,
            }
        }
        inventory.segments.sort_unstable();
        inventory.checkpoints.sort_unstable();
        inventory.postings.sort_unstable();
        Ok(inventory)
    }
}

/// A segment file and what its head says.
pub(crate) struct Found<F> {
    pub(crate) number: u32,
    pub(crate) file: F,
    pub(crate) bytes: u64,
    pub(crate) head: Head,
}

impl<F: StorageFile> Found<F> {
    pub(crate) fn open<S: Storage<File = F>>(storage: &S, number: u32, key: Key) -> Result<Self, LogError> {
        let file = storage.open(&names::segment(number)).map_err(LogError::io("open a segment"))?;
        let bytes = file.len().map_err(LogError::io("measure a segment"))?;
        let mut block = vec![0; HEAD_BYTES as usize];
        let read = file.read_at(&mut block, 0).map_err(LogError::io("read a segment"))?;
        block.truncate(read);
        let head = decode_head(&block, number, key);
        Ok(Self { number, file, bytes, head })
    }

    /// The seal's place, for a head that can be used; an error for one that cannot.
    pub(crate) fn mark(&self) -> Result<SealMark, LogError> {
        let corrupt = |what| LogError::Corrupt { segment: self.number, offset: 0, what };
        match self.head {
            Head::Valid(mark) => Ok(mark),
            Head::Blank => Ok(SealMark::Open),
            Head::Foreign => Err(corrupt("it belongs to another installation")),
            Head::Damaged => Err(corrupt("its header is damaged")),
            Head::Version(found) => {
                let file = names::segment(self.number);
                Err(LogError::Version { file, found, supported: crate::superblock::FORMAT_VERSION })
            }
        }
    }

    /// Whether any frame was ever written for this segment, intact or not. Looks as far as a second frame can be.
    fn holds_frames(&self, key: Key) -> Result<bool, LogError> {
        let to = self.bytes.min(u64::from(HEAD_BYTES) + 2 * u64::from(MAX_FRAME_BYTES));
        let found = find_header(&self.file, key, self.number, HEAD_BYTES, to, |_| true);
        Ok(found.map_err(LogError::io("read a segment"))?.is_some())
    }
}

/// What a walk over the unsealed segment found.
pub(crate) struct Tail {
    /// Offset after the last good frame.
    pub(crate) end: u32,
    pub(crate) record_count: u64,
    /// Sequence of the first record in the segment; of the next record if there is none.
    pub(crate) first_sequence: u64,
    pub(crate) body: Body,
    /// Why the walk ended there.
    pub(crate) fault: FrameFault,
}

/// Walks over the frames of `found` from its head, and finds out what stopped the walk.
pub(crate) fn measure<F: StorageFile>(
    found: &Found<F>,
    key: Key,
    expected: Expected,
) -> Result<Tail, LogError> {
    let io = LogError::io;
    let limit = found.bytes.clamp(u64::from(HEAD_BYTES), u64::from(u32::MAX));
    let mut walk = Walk::new(key, found.number, HEAD_BYTES, limit, expected);
    let mut first_sequence = expected.sequence;
    let mut record_count = 0;
    let fault = loop {
        match walk.next(&found.file).map_err(io("read a segment"))? {
            Step::Frame(header, _) => {
                first_sequence.get_or_insert(header.first_sequence);
                record_count += u64::from(header.record_count);
            }
            Step::Limit => break FrameFault::Blank,
            Step::Fault(fault) => break fault,
        }
    };
    let end = walk.offset();
    let beyond = find_header(&found.file, key, found.number, end, limit, |header| header.durable > end);
    let body = match (fault, beyond.map_err(io("read a segment"))?) {
        (FrameFault::FutureEpoch, _) | (_, Some(_)) => Body::Corrupt,
        (FrameFault::Blank | FrameFault::Stale, None) => Body::Valid,
        (_, None) => Body::Torn,
    };
    let first_sequence = first_sequence.unwrap_or(0);
    Ok(Tail { end, record_count, first_sequence, body, fault })
}

/// A checkpoint that is there, whether it is used or only to fall back on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptCheckpoint {
    pub(crate) position: Position,
    /// Numbers of the posting files that it refers to.
    pub(crate) postings: Vec<u32>,
}

/// The directory as recovery sees it.
pub(crate) struct Survey<F> {
    pub(crate) checkpoint: Option<Checkpoint>,
    /// The usable checkpoints, oldest first.
    pub(crate) checkpoints: Vec<KeptCheckpoint>,
    /// Names of damaged checkpoints, and what is wrong with them.
    pub(crate) damaged_checkpoints: Vec<(String, &'static str)>,
    /// Where replay starts.
    pub(crate) replay_from: Position,
    pub(crate) sealed: Vec<(Seal, F)>,
    pub(crate) active: Found<F>,
    pub(crate) tail: Tail,
    /// The segment after the active one, if it is ready for use.
    pub(crate) spare: Option<Found<F>>,
    /// Numbers of further prepared segments.
    pub(crate) surplus: Vec<u32>,
}

/// Surveys the segments and checkpoints of `inventory`, all written up to `epoch`. A prepared segment shorter than
/// `spare_bytes_min` is not worth using.
pub(crate) fn survey<S: Storage>(
    storage: &S,
    inventory: &Inventory,
    key: Key,
    epoch: u64,
    spare_bytes_min: u64,
) -> Result<Survey<S::File>, LogError> {
    let (checkpoint, checkpoints, damaged_checkpoints) = choose_checkpoint(storage, inventory, key)?;
    let replay_from =
        checkpoint.as_ref().map_or(Position::new(1, HEAD_BYTES), |checkpoint| checkpoint.position);
    let mut found = Vec::with_capacity(inventory.segments.len());
    for number in &inventory.segments {
        found.push(Found::open(storage, *number, key)?);
    }
    let active = find_active(&found, replay_from.segment(), key)?;
    let mut later = found.split_off(active);
    let sealed = found.into_iter().map(require_seal).collect::<Result<Vec<_>, _>>()?;
    let active = later.remove(0);
    let previous = sealed.last().map(|(seal, _)| seal);
    let expected = Expected {
        epoch_min: previous.map_or(0, |seal| seal.epoch),
        epoch_max: epoch,
        sequence: previous.filter(|seal| seal.segment + 1 == active.number).map(Seal::next_sequence),
    };
    let tail = measure(&active, key, expected)?;
    refuse_if_corrupt(&active, &tail)?;
    refuse_checkpoint_beyond(replay_from, &sealed, Position::new(active.number, tail.end))?;
    let ready = later.first().is_some_and(|next| {
        next.number == active.number + 1
            && next.head == Head::Valid(SealMark::Open)
            && next.bytes >= spare_bytes_min
    });
    let spare = ready.then(|| later.remove(0));
    let surplus = later.iter().map(|found| found.number).collect();
    Ok(Survey {
        checkpoint,
        checkpoints,
        damaged_checkpoints,
        replay_from,
        sealed,
        active,
        tail,
        spare,
        surplus,
    })
}

impl<F> Survey<F> {
    /// Whether a checkpoint refers to that posting file.
    pub(crate) fn needs_posting(&self, number: u32) -> bool {
        self.checkpoints.iter().any(|checkpoint| checkpoint.postings.contains(&number))
    }
}

type Chosen = (Option<Checkpoint>, Vec<KeptCheckpoint>, Vec<(String, &'static str)>);

/// The newest checkpoint that is intact, with those before it, and the damaged ones after it.
fn choose_checkpoint(storage: &impl Storage, inventory: &Inventory, key: Key) -> Result<Chosen, LogError> {
    let mut damaged = Vec::new();
    for (index, position) in inventory.checkpoints.iter().enumerate().rev() {
        match read_with_postings(storage, inventory, *position, key)? {
            Ok(checkpoint) => {
                let mut kept = Vec::with_capacity(index + 1);
                for position in &inventory.checkpoints[..index] {
                    // One that is damaged is found out when it is fallen back on.
                    let postings = checkpoint::read(storage, *position, key)?
                        .map(|older| older.postings)
                        .unwrap_or_default();
                    kept.push(KeptCheckpoint { position: *position, postings });
                }
                let postings = checkpoint.postings.clone();
                kept.push(KeptCheckpoint { position: *position, postings });
                return Ok((Some(checkpoint), kept, damaged));
            }
            Err(what) => damaged.push((names::checkpoint(*position), what)),
        }
    }
    Ok((None, Vec::new(), damaged))
}

/// Reads a checkpoint that is of use only with all posting files that it refers to.
pub(crate) fn read_with_postings(
    storage: &impl Storage,
    inventory: &Inventory,
    position: Position,
    key: Key,
) -> Result<Result<Checkpoint, &'static str>, LogError> {
    let is_there = |number: &u32| inventory.postings.binary_search(number).is_ok();
    Ok(checkpoint::read(storage, position, key)?.and_then(|checkpoint| {
        let is_whole = checkpoint.postings.iter().all(is_there);
        is_whole.then_some(checkpoint).ok_or("a posting file that it refers to is missing")
    }))
}

/// Index of the segment that appends go on in: the last one with frames, or the one after it if that is sealed.
/// Every segment from `first` up to it must be there.
fn find_active<F: StorageFile>(found: &[Found<F>], first: u32, key: Key) -> Result<usize, LogError> {
    let missing = |segment| LogError::Corrupt { segment, offset: 0, what: "the segment is missing" };
    let mut last_used = None;
    for (index, segment) in found.iter().enumerate().rev() {
        let sealed = matches!(segment.mark()?, SealMark::Sealed(_));
        if sealed || segment.holds_frames(key)? {
            last_used = Some((index, sealed));
            break;
        }
    }
    let active_number = match last_used {
        Some((index, true)) => found[index].number + 1,
        Some((index, false)) => found[index].number,
        None => first,
    };
    for number in first..=active_number {
        if found.binary_search_by_key(&number, |segment| segment.number).is_err() {
            return Err(missing(number));
        }
    }
    found.binary_search_by_key(&active_number, |segment| segment.number).map_err(|_| missing(active_number))
}

/// The seal of a segment that others follow.
fn require_seal<F: StorageFile>(found: Found<F>) -> Result<(Seal, F), LogError> {
    let mark = found.mark()?;
    // The frames of sealed segments are checked as they are replayed, and by `check`.
    match (judge(Body::Valid, Mark::from(mark), Place::Before), mark) {
        (Verdict::Keep, SealMark::Sealed(seal)) => Ok((seal, found.file)),
        _ => Err(LogError::Corrupt {
            segment: found.number,
            offset: crate::segment::SEAL_OFFSET as u32,
            what: "it has no valid seal although later segments hold records",
        }),
    }
}

fn refuse_if_corrupt<F: StorageFile>(active: &Found<F>, tail: &Tail) -> Result<(), LogError> {
    match judge(tail.body, Mark::from(active.mark()?), Place::Last) {
        Verdict::Keep | Verdict::Cut => Ok(()),
        Verdict::Refuse => {
            Err(LogError::Corrupt { segment: active.number, offset: tail.end, what: tail.fault.what() })
        }
    }
}

/// A checkpoint for records that are no longer there cannot be used, and its predecessor would hide their loss.
fn refuse_checkpoint_beyond<F>(
    position: Position,
    sealed: &[(Seal, F)],
    tail: Position,
) -> Result<(), LogError> {
    let seal = sealed.iter().map(|(seal, _)| seal).find(|seal| seal.segment == position.segment());
    let end = seal.map_or(tail, |seal| Position::new(seal.segment, seal.end));
    if position <= end {
        return Ok(());
    }
    let what = "the newest checkpoint covers more than the log still holds";
    Err(LogError::Corrupt { segment: tail.segment(), offset: tail.offset(), what })
}

//! The forms that a setting's text can have: how it is read, and how a person is told what is accepted.

use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tidegate_engine::{AccountId, Region};

use super::values::{AdminToken, PublicUrl};

/// Reads one kind of value from text.
pub(super) trait Form {
    /// What the text becomes.
    type Value;
    /// The value, or `None` when the text is not of this form or out of range.
    fn parse(&self, text: &str) -> Option<Self::Value>;
    /// What is accepted, as a noun phrase that follows "must be".
    fn allowed(&self) -> String;
    /// What an error may show of a text that is refused.
    fn shown<'a>(&self, text: &'a str) -> &'a str {
        text
    }
}

/// An IP address with a port, or `localhost` with a port.
pub(super) struct Address;

impl Form for Address {
    type Value = SocketAddr;

    fn parse(&self, text: &str) -> Option<SocketAddr> {
        match text.strip_prefix("localhost:") {
            Some(port) => Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into()),
            None => text.parse().ok(),
        }
    }

    fn allowed(&self) -> String {
        "an IP address and a port, such as 127.0.0.1:9324 or [::]:9324".into()
    }
}

/// A directory, relative to the working directory.
pub(super) struct Directory;

impl Form for Directory {
    type Value = PathBuf;

    fn parse(&self, text: &str) -> Option<PathBuf> {
        (!text.is_empty()).then(|| text.into())
    }

    fn allowed(&self) -> String {
        "the path of a directory".into()
    }
}

/// A file, relative to the working directory.
pub(super) struct FilePath;

impl Form for FilePath {
    type Value = PathBuf;

    fn parse(&self, text: &str) -> Option<PathBuf> {
        (!text.is_empty()).then(|| text.into())
    }

    fn allowed(&self) -> String {
        "the path of a file".into()
    }
}

/// `true` or `false`.
pub(super) struct Switch;

impl Form for Switch {
    type Value = bool;

    fn parse(&self, text: &str) -> Option<bool> {
        text.parse().ok()
    }

    fn allowed(&self) -> String {
        "true or false".into()
    }
}

/// One of a few words.
pub(super) struct Choice<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T: Copy> Form for Choice<T> {
    type Value = T;

    fn parse(&self, text: &str) -> Option<T> {
        self.0.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
    }

    fn allowed(&self) -> String {
        let words: Vec<&str> = self.0.iter().map(|(word, _)| *word).collect();
        match words.as_slice() {
            [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            _ => words.concat(),
        }
    }
}

/// A setting that can be absent, which is written as the word `none`.
pub(super) struct Optional<F>(pub(super) F);

impl<F: Form> Form for Optional<F> {
    type Value = Option<F::Value>;

    fn parse(&self, text: &str) -> Option<Option<F::Value>> {
        if text == "none" { Some(None) } else { self.0.parse(text).map(Some) }
    }

    fn allowed(&self) -> String {
        format!("{}, or none", self.0.allowed())
    }

    fn shown<'a>(&self, text: &'a str) -> &'a str {
        self.0.shown(text)
    }
}

/// A secret of operators.
pub(super) struct Token;

/// What a token must be, after "must be".
pub(super) const TOKEN_ALLOWED: &str = "16 to 256 ASCII characters without spaces";

impl Form for Token {
    type Value = AdminToken;

    fn parse(&self, text: &str) -> Option<AdminToken> {
        AdminToken::parse(text)
    }

    fn allowed(&self) -> String {
        TOKEN_ALLOWED.into()
    }

    fn shown<'a>(&self, _: &'a str) -> &'a str {
        "(hidden)"
    }
}

/// An absolute URL that others are appended to.
pub(super) struct BaseUrl;

impl Form for BaseUrl {
    type Value = PublicUrl;

    fn parse(&self, text: &str) -> Option<PublicUrl> {
        PublicUrl::parse(text)
    }

    fn allowed(&self) -> String {
        "a URL that begins with http:// or https:// and has no user, query or fragment".into()
    }
}

/// An account.
pub(super) struct Account;

/// What an account must be, after "must be".
pub(super) const ACCOUNT_ALLOWED: &str = "12 digits, in quotes";

impl Form for Account {
    type Value = AccountId;

    fn parse(&self, text: &str) -> Option<AccountId> {
        AccountId::parse(text)
    }

    fn allowed(&self) -> String {
        ACCOUNT_ALLOWED.into()
    }
}

/// A region.
pub(super) struct RegionName;

/// What a region must be, after "must be".
pub(super) const REGION_ALLOWED: &str = "1 to 32 lower-case letters, digits and hyphens";

impl Form for RegionName {
    type Value = Region;

    fn parse(&self, text: &str) -> Option<Region> {
        Region::parse(text)
    }

    fn allowed(&self) -> String {
        REGION_ALLOWED.into()
    }
}

/// A whole number in a range.
pub(super) struct Count {
    pub(super) min: usize,
    pub(super) max: usize,
}

impl Form for Count {
    type Value = usize;

    fn parse(&self, text: &str) -> Option<usize> {
        let number = text.replace('_', "").parse().ok()?;
        (self.min..=self.max).contains(&number).then_some(number)
    }

    fn allowed(&self) -> String {
        format!("a number from {} to {}", self.min, self.max)
    }
}

/// A number of threads, or `cores` for as many as the process may run at once.
pub(super) struct Threads(pub(super) Count);

impl Form for Threads {
    type Value = usize;

    fn parse(&self, text: &str) -> Option<usize> {
        if text != "cores" {
            return self.0.parse(text);
        }
        // The count is unknown where the system does not tell; two keep one slow request from holding all others.
        Some(std::thread::available_parallelism().map_or(2, usize::from).clamp(self.0.min, self.0.max))
    }

    fn allowed(&self) -> String {
        format!("{}, or cores", self.0.allowed())
    }
}

/// An amount of memory, or `half` for half of what the process may use, up to 4 GiB.
pub(super) struct Memory {
    pub(super) min: u64,
    pub(super) max: u64,
}

/// What `half` comes to at most: no server needs more to be fast, and the machine may have other tenants.
const MEMORY_HALF_MAX: u64 = 4 << 30;
/// What `half` comes to where the system does not tell.
const MEMORY_UNKNOWN: u64 = 512 << 20;

impl Form for Memory {
    type Value = u64;

    fn parse(&self, text: &str) -> Option<u64> {
        if text == "half" {
            let half = available_memory().map_or(MEMORY_UNKNOWN, |bytes| bytes / 2);
            return Some(half.clamp(self.min, MEMORY_HALF_MAX));
        }
        // As container engines write memory: powers of 1024.
        let spelled = match text.strip_suffix(['K', 'M', 'G']) {
            Some(_) => format!("{text}iB"),
            None => text.to_owned(),
        };
        Bytes::<u64>::range(self.min, self.max).parse(&spelled)
    }

    fn allowed(&self) -> String {
        format!("{}, or half", Bytes::<u64>::range(self.min, self.max).allowed())
    }
}

/// Bytes of memory that the process may use: the machine's, or its control group's if that has fewer.
fn available_memory() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group = limits.iter().filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok());
    machine.into_iter().chain(group).min()
}

/// A number of bytes in a range, as an integer type that holds it.
pub(super) struct Bytes<T> {
    min: u64,
    max: u64,
    holds: PhantomData<T>,
}

impl<T> Bytes<T> {
    pub(super) const fn range(min: u64, max: u64) -> Self {
        Bytes { min, max, holds: PhantomData }
    }
}

impl<T: TryFrom<u64>> Form for Bytes<T> {
    type Value = T;

    fn parse(&self, text: &str) -> Option<T> {
        let bytes = measure(text, &SIZES)?;
        (self.min..=self.max).contains(&bytes).then(|| T::try_from(bytes).ok()).flatten()
    }

    fn allowed(&self) -> String {
        let units: Vec<&str> = SIZES.iter().map(|(unit, _)| *unit).filter(|unit| !unit.is_empty()).collect();
        format!("a size from {} to {} ({})", show_bytes(self.min), show_bytes(self.max), units.join(", "))
    }
}

/// A length of time in a range.
pub(super) struct Time {
    pub(super) min: Duration,
    pub(super) max: Duration,
}

impl Form for Time {
    type Value = Duration;

    fn parse(&self, text: &str) -> Option<Duration> {
        let time = measure(text, &TIMES).map(Duration::from_millis)?;
        (self.min..=self.max).contains(&time).then_some(time)
    }

    fn allowed(&self) -> String {
        let units: Vec<&str> = TIMES.iter().map(|(unit, _)| *unit).collect();
        let show = |time: Duration| show(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), &TIMES);
        format!("a duration from {} to {} ({})", show(self.min), show(self.max), units.join(", "))
    }
}

/// Units of sizes, ascending, in bytes. Powers of 1024 alone: `64MB` would be read as either by half of its readers.
const SIZES: [(&str, u64); 6] =
    [("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Units of times, ascending, in milliseconds. None without a unit: `10` would be read as seconds or milliseconds.
const TIMES: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Reads a whole number and its unit, with or without a space between them.
fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Writes a number with the largest unit that divides it.
fn show(number: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| number.is_multiple_of(*factor) && number >= *factor;
    let (unit, factor) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    format!("{}{unit}", number / factor)
}

/// Writes a number of bytes with the largest unit that divides it.
pub(super) fn show_bytes(bytes: u64) -> String {
    show(bytes, &SIZES[1..])
}

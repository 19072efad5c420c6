//! `X-Amz-Date`: `YYYYMMDDTHHMMSSZ`, the basic format of ISO 8601, in UTC.

use tidegate_engine::Timestamp;

const SECONDS_PER_DAY: u64 = 86_400;

/// Parses a date from 1970 to 9999; `None` for every other format and for days that do not exist.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    if bytes.len() != 16 || bytes[8] != b'T' || bytes[15] != b'Z' {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = bytes.get(range)?;
        let all = digits.iter().all(u8::is_ascii_digit);
        all.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
    };
    let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
    let (hour, minute, second) = (number(9..11)?, number(11..13)?, number(13..15)?);
    let exists = year >= 1970
        && (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !exists {
        return None;
    }
    let days = days_before_year(year) - days_before_year(1970) + days_before_month(year, month) + day - 1;
    Some(Timestamp::from_millis((days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second) * 1_000))
}

/// Writes a time in the format that [`parse`] reads, cut to whole seconds.
pub(super) fn format(time: Timestamp) -> String {
    let (mut days, second) = (time.as_secs() / SECONDS_PER_DAY, time.as_secs() % SECONDS_PER_DAY);
    days += days_before_year(1970);
    // No year is longer than 366 days, so this is at most a little early.
    let mut year = days / 366;
    while days_before_year(year + 1) <= days {
        year += 1;
    }
    days -= days_before_year(year);
    let month = (1..=12).rev().find(|&month| days_before_month(year, month) <= days).unwrap_or(1);
    let day = days - days_before_month(year, month) + 1;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Days from the year 0 to the first of January of `year`, in the calendar of today.
fn days_before_year(year: u64) -> u64 {
    let last = year.saturating_sub(1);
    year * 365 + last / 4 - last / 100 + last / 400 + u64::from(year > 0)
}

fn days_before_month(year: u64, month: u64) -> u64 {
    (1..month).map(|month| days_of_month(year, month)).sum()
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written_alike() {
        for (text, seconds) in [
            ("19700101T000000Z", 0),
            ("20000229T235959Z", 951_868_799),
            ("20231114T221320Z", 1_700_000_000),
            ("20240229T120000Z", 1_709_208_000),
            ("21000301T000000Z", 4_107_542_400),
        ] {
            let time = Timestamp::from_millis(seconds * 1_000);
            assert_eq!(parse(text), Some(time), "{text}");
            assert_eq!(format(time), text);
        }
        for day in 0..80_000 {
            let time = Timestamp::from_millis(day * 86_400_000 + 3_723_000);
            assert_eq!(parse(&format(time)), Some(time));
        }
    }

    #[test]
    fn other_formats_and_impossible_days_are_refused() {
        for bad in [
            "",
            "20231114",
            "2023-11-14T22:13:20Z",
            "20231114T221320",
            "20231114T221320+",
            "20231114 221320Z",
            "20230229T000000Z",
            "21000229T000000Z",
            "20231301T000000Z",
            "20230001T000000Z",
            "20230100T000000Z",
            "20230101T240000Z",
            "20230101T006000Z",
            "20230101T000060Z",
            "19691231T235959Z",
            "2023111äT22132Z",
            "+0231114T221320Z",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}

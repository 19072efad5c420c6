//! Dates of conditions.

/// Seconds since 1970 of a date: `YYYY-MM-DD`, `YYYY-MM-DDThh:mm[:ss[.f]]` with `Z` or an offset `±hh:mm`
/// (the profile of ISO 8601 that the language names), or the seconds themselves.
///
/// Fractions of a second do not count. `None` for anything else; also for fewer than nine digits, which could be
/// a year or a date.
pub(crate) fn parse(text: &str) -> Option<i64> {
    if (9..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let is_day = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    let start = is_day.then(|| days_since_1970(year, month, day) * 86_400)?;
    match time {
        None => Some(start),
        Some(time) => Some(start + time_of_day(time)?),
    }
}

/// Seconds since midnight UTC.
fn time_of_day(text: &str) -> Option<i64> {
    let zone_at = text.find(['Z', '+', '-'])?;
    let (time, zone) = text.split_at(zone_at);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let has_fraction = time.len() < zone_at;
    if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let [hour, minute, second] = match numbers(time, ':', [2, 2, 2]) {
        Some(parts) => parts,
        None if has_fraction => return None,
        None => numbers(time, ':', [2, 2]).map(|[hour, minute]| [hour, minute, 0])?,
    };
    let offset = match zone.split_at(1) {
        ("Z", "") => 0,
        (sign, offset) => {
            let [hours, minutes] = numbers(offset, ':', [2, 2]).filter(|[h, m]| *h < 24 && *m < 60)?;
            (hours * 3_600 + minutes * 60) * if sign == "+" { 1 } else { -1 }
        }
    };
    let in_range = hour < 24 && minute < 60 && second < 60;
    in_range.then_some(hour * 3_600 + minute * 60 + second - offset)
}

/// Numbers of exactly so many digits, separated.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        *number = part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March, so that the leap day
/// is the last one (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_year = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let before_month = (153 * month + 2) / 5;
    before_year + before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("1970-01-01T00:00:01Z", 1),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2023-11-14T22:13:20Z", 1_700_000_000),
            ("2023-11-14T22:13:20.999Z", 1_700_000_000),
            ("2023-11-14T22:13Z", 1_699_999_980),
            ("2023-11-15T00:13:20+02:00", 1_700_000_000),
            ("2023-11-14T17:13:20-05:00", 1_700_000_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("1700000000", 1_700_000_000),
            ("100000000", 100_000_000),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for bad in [
            "",
            "0",
            "2023",
            "2023-11",
            "2023-13-01",
            "2023-00-01",
            "2023-02-29",
            "1900-02-29",
            "2023-11-14T22:13:20",
            "2023-11-14T24:00:00Z",
            "2023-11-14T22:60:00Z",
            "2023-11-14T22:13:20.Z",
            "2023-11-14T22:13.5Z",
            "2023-11-14T22:13:20ZZ",
            "2023-11-14T22:13:20+2:00",
            "2023-11-14 22:13:20Z",
            "20231114",
            "+023-11-14",
            "99999999999999999999",
            "2023-11-14Tä",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}

//! The minute in which a request was logged.

use std::fmt::{self, Display};

use super::number::number;

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

const MINUTES_OF_A_DAY: i64 = 24 * 60;

/// A minute. It is shown as the log writes it, with its offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Minute {
    /// Minutes since 1970 in UTC. A time without an offset is taken as UTC.
    pub(super) utc: i64,
    form: Form,
    /// In minutes, where the log has one.
    offset: Option<i16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `10/Oct/2026:13:55 +0200`
    Common,
    /// `2026-10-10T13:55+02:00`
    Iso,
    /// Seconds since 1970, or columns that are defined to be in UTC.
    Utc,
}

impl Minute {
    /// The common log format's time, ISO 8601, or a number: of seconds since 1970 with or without a fraction, of
    /// milliseconds, microseconds or nanoseconds.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        match (text.get(2), text.get(4)) {
            (Some(b'/'), _) => Self::parse_common(text),
            (_, Some(b'-' | b'/')) => Self::parse_iso(text, Form::Iso),
            _ => Self::parse_number(text),
        }
    }

    /// The columns `date` and `time` of a W3C log, which are in UTC.
    pub(super) fn parse_columns(date: &[u8], time: &[u8]) -> Option<Self> {
        let mut text = [b' '; 16];
        text[..10].copy_from_slice(date.first_chunk::<10>()?);
        text[11..].copy_from_slice(time.first_chunk::<5>()?);
        (date.len() == 10).then(|| Self::parse_iso(&text, Form::Utc)).flatten()
    }

    fn parse_common(text: &[u8]) -> Option<Self> {
        let head = text.first_chunk::<17>()?;
        if head[6] != b'/' || head[11] != b':' || head[14] != b':' {
            return None;
        }
        let name = [head[3], head[4], head[5]];
        let month = MONTHS.iter().position(|month| **month == name)? as i64 + 1;
        let date = [small(&head[7..11])?, month, small(&head[..2])?];
        Self::new(date, [&head[12..14], &head[15..]], &text[17..], Form::Common)
    }

    fn parse_iso(text: &[u8], form: Form) -> Option<Self> {
        let head = text.first_chunk::<16>()?;
        if head[7] != head[4] || !matches!(head[10], b'T' | b't' | b' ') || head[13] != b':' {
            return None;
        }
        let date = [small(&head[..4])?, small(&head[5..7])?, small(&head[8..10])?];
        Self::new(date, [&head[11..13], &head[14..]], &text[16..], form)
    }

    fn new(date: [i64; 3], clock: [&[u8]; 2], after: &[u8], form: Form) -> Option<Self> {
        let [year, month, day] = date;
        let [hour, minute] = [small(clock[0])?, small(clock[1])?];
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
            return None;
        }
        let seconds =
            after.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b':' | b'.' | b','));
        let offset = parse_offset(&after[seconds.unwrap_or(after.len())..])?;
        let local = days(year, month, day) * MINUTES_OF_A_DAY + hour * 60 + minute;
        Some(Self { utc: local - i64::from(offset.unwrap_or(0)), form, offset })
    }

    fn parse_number(text: &[u8]) -> Option<Self> {
        let whole = memchr::memchr(b'.', text).unwrap_or(text.len());
        let fraction = text.get(whole + 1..).unwrap_or_default();
        if text.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let number = number(&text[..whole])?;
        // As seconds these would be years after 5000; small ones are durations.
        let seconds = match number {
            0..100_000_000 => return None,
            100_000_000..100_000_000_000 => number,
            100_000_000_000..100_000_000_000_000 => number / 1_000,
            100_000_000_000_000..100_000_000_000_000_000 => number / 1_000_000,
            _ => number / 1_000_000_000,
        };
        Some(Self { utc: (seconds / 60) as i64, form: Form::Utc, offset: None })
    }
}

impl Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.utc + i64::from(self.offset.unwrap_or(0));
        let [year, month, day] = date(local.div_euclid(MINUTES_OF_A_DAY));
        let of_day = local.rem_euclid(MINUTES_OF_A_DAY);
        let (hour, minute) = (of_day / 60, of_day % 60);
        match self.form {
            Form::Common => {
                let month = MONTHS[(month - 1) as usize].escape_ascii();
                write!(f, "{day:02}/{month}/{year:04}:{hour:02}:{minute:02}")?;
            }
            Form::Iso => write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}")?,
            Form::Utc => {
                return write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC");
            }
        }
        let Some(offset) = self.offset else { return Ok(()) };
        let sign = if offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
        match self.form {
            Form::Common => write!(f, " {sign}{hours:02}{minutes:02}"),
            _ => write!(f, "{sign}{hours:02}:{minutes:02}"),
        }
    }
}

/// `+0200`, `-02:30`, `Z`; `Some(None)` where there is none.
fn parse_offset(text: &[u8]) -> Option<Option<i16>> {
    let text = text.trim_ascii();
    let (sign, zone) = match text {
        [] => return Some(None),
        b"Z" | b"z" | b"UTC" | b"GMT" => return Some(Some(0)),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match zone {
        [h1, h2, b':', m1, m2] | [h1, h2, m1, m2] => (small(&[*h1, *h2])?, small(&[*m1, *m2])?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then(|| Some(sign * (hours * 60 + minutes) as i16))
}

/// A number of a few digits.
fn small(digits: &[u8]) -> Option<i64> {
    number(digits).map(|number| number as i64)
}

/// Days since 1970 of a date of the Gregorian calendar: years begin in March, so that the leap day is their last
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The other way round: year, month and day.
fn date(days: i64) -> [i64; 3] {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = (from_march + 2) % 12 + 1;
    let year = year + era * 400 + i64::from(month <= 2);
    [year, month, of_year - (153 * from_march + 2) / 5 + 1]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Minutes since 1970, and how the minute is shown.
    fn read(text: &str) -> Option<(i64, String)> {
        Minute::parse(text.as_bytes()).map(|minute| (minute.utc, minute.to_string()))
    }

    /// 2026-10-10 13:55 UTC.
    const UTC: i64 = 1_791_640_500 / 60;

    #[test]
    fn a_minute_is_that_of_utc_and_shown_as_it_is_written() {
        for (text, utc, shown) in [
            ("10/Oct/2026:13:55:36 +0000", UTC, "10/Oct/2026:13:55 +0000"),
            ("10/Oct/2026:15:55:36 +0200", UTC, "10/Oct/2026:15:55 +0200"),
            ("10/Oct/2026:10:25:36 -0330", UTC, "10/Oct/2026:10:25 -0330"),
            ("10/Oct/2026:13:55:36.123", UTC, "10/Oct/2026:13:55"),
            ("2026-10-10T15:55:36+02:00", UTC, "2026-10-10T15:55+02:00"),
            ("2026-10-10T13:55:36.186641Z", UTC, "2026-10-10T13:55+00:00"),
            ("2026/10/10 13:55:36", UTC, "2026-10-10T13:55"),
            ("1791640536", UTC, "2026-10-10 13:55 UTC"),
            ("1791640536.217", UTC, "2026-10-10 13:55 UTC"),
            ("1791640536217", UTC, "2026-10-10 13:55 UTC"),
            ("1791640536217000", UTC, "2026-10-10 13:55 UTC"),
            ("1791640536217000000", UTC, "2026-10-10 13:55 UTC"),
        ] {
            assert_eq!(read(text), Some((utc, shown.to_owned())), "{text}");
        }
        let columns = Minute::parse_columns(b"2026-10-10", b"13:55:36").unwrap();
        assert_eq!((columns.utc, &*columns.to_string()), (UTC, "2026-10-10 13:55 UTC"));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "-",
            ".",
            "now",
            "10/Okt/2026:13:55:36 +0000",
            "10/Oct/2026:24:55:36 +0000",
            "10/Oct/2026:13:55:36 +02",
            "10/Oct/2026:13:55:36 CEST",
            "2026-13-10T13:55:36Z",
            "99999999999999999999",
            "1791640536.x",
            "0.004",
            "12345",
            "2026-10-10",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Minute::parse_columns(b"2026-10-10x", b"13:55:36"), None);
    }

    proptest! {
        #[test]
        fn days_and_dates_are_each_others_inverse(number in -1_000_000i64..3_000_000) {
            let [year, month, day] = date(number);
            prop_assert!((1..=12).contains(&month) && (1..=31).contains(&day));
            prop_assert_eq!(days(year, month, day), number);
        }

        #[test]
        fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Minute::parse(&bytes).map(|minute| minute.to_string());
            let _ = Minute::parse_columns(&bytes, &bytes);
        }
    }
}

//! The minute in which a request was logged.

use std::cell::Cell;
use std::fmt::{self, Display};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::{strtime, temporal};
use jiff::tz::{Offset, TimeZone};

use super::number::number;

/// A minute. It is shown as the log writes it, with its offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Minute {
    /// Minutes since 1970 in UTC. A time without an offset is taken as UTC.
    pub(super) utc: i64,
    form: Form,
    /// Where the log has one.
    offset: Option<Offset>,
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

const ISO: temporal::DateTimeParser = temporal::DateTimeParser::new();

/// How long a text is up to its minutes.
const COMMON_MINUTES: usize = "10/Oct/2026:13:55".len();
const ISO_MINUTES: usize = "2026-10-10T13:55".len();

thread_local! {
    /// The last time that was parsed, which takes longer than all else of a line: the next line has mostly another
    /// second of the same minute.
    static LAST: Cell<Option<Remembered>> = const { Cell::new(None) };
}

/// A time without its seconds, and its minute.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Remembered {
    until_minutes: [u8; COMMON_MINUTES],
    zone: [u8; 9],
    minute: Minute,
}

impl Remembered {
    /// Of the text up to its minutes and after its seconds; `None` where it is longer than such a text is.
    fn new(until_minutes: &[u8], zone: &[u8], minute: Minute) -> Option<Self> {
        let (mut start, mut end) = ([0; COMMON_MINUTES], [0; 9]);
        start.get_mut(..until_minutes.len())?.copy_from_slice(until_minutes);
        end.get_mut(..zone.len())?.copy_from_slice(zone);
        Some(Self { until_minutes: start, zone: end, minute })
    }
}

impl Minute {
    /// The common log format's time, ISO 8601, or a number: of seconds since 1970 with or without a fraction, of
    /// milliseconds, microseconds or nanoseconds.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        match (text.get(2), text.get(4)) {
            (Some(b'/'), _) => {
                // HAProxy has milliseconds and no offset.
                let format = match memchr::memchr(b' ', text) {
                    Some(_) => "%d/%b/%Y:%H:%M:%S %z",
                    None => "%d/%b/%Y:%H:%M:%S%.f",
                };
                let parse = || Self::parse_by(format, text, Form::Common);
                Self::remembered(text, COMMON_MINUTES, Form::Common, parse)
            }
            (_, Some(b'/')) => Self::parse_by("%Y/%m/%d %H:%M:%S", text, Form::Iso),
            (_, Some(b'-')) => Self::parse_iso(text, Form::Iso),
            _ => Self::parse_number(text),
        }
    }

    /// The columns `date` and `time` of a W3C log, which are in UTC.
    pub(super) fn parse_columns(date: &[u8], time: &[u8]) -> Option<Self> {
        let mut text = [b'T'; 19];
        text[..10].copy_from_slice(date.first_chunk::<10>().filter(|_| date.len() == 10)?);
        text[11..].copy_from_slice(time.first_chunk::<8>()?);
        Self::parse_iso(&text, Form::Utc)
    }

    fn parse_iso(text: &[u8], form: Form) -> Option<Self> {
        Self::remembered(text, ISO_MINUTES, form, || {
            let pieces = ISO.parse_pieces(text).ok()?;
            let local = pieces.date().to_datetime(pieces.time()?);
            Self::new(local, pieces.to_numeric_offset(), form)
        })
    }

    /// What was parsed last, where only the seconds differ.
    fn remembered(
        text: &[u8],
        minutes: usize,
        form: Form,
        parse: impl FnOnce() -> Option<Self>,
    ) -> Option<Self> {
        let (start, rest) = text.split_at_checked(minutes)?;
        let (seconds, zone) = match rest {
            [b':', b'0'..=b'5', b'0'..=b'9', after @ ..] => {
                let is_fraction = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.');
                let digits = after.iter().take_while(|byte| is_fraction(byte)).count();
                (&after[..digits], &after[digits..])
            }
            _ => return parse(),
        };
        // Of more than one point nothing is known.
        if !matches!(seconds, [] | [b'.', b'0'..=b'9', ..])
            || seconds.iter().filter(|of| **of == b'.').count() > 1
        {
            return parse();
        }
        let last = LAST.get().filter(|last| last.minute.form == form);
        if let Some(last) = last
            && Remembered::new(start, zone, last.minute) == Some(last)
        {
            return Some(last.minute);
        }
        let minute = parse()?;
        LAST.set(Remembered::new(start, zone, minute));
        Some(minute)
    }

    fn parse_by(format: &str, text: &[u8], form: Form) -> Option<Self> {
        let time = strtime::parse(format, text).ok()?;
        Self::new(time.to_datetime().ok()?, time.offset(), form)
    }

    fn new(local: DateTime, offset: Option<Offset>, form: Form) -> Option<Self> {
        let time = offset.unwrap_or(Offset::UTC).to_timestamp(local).ok()?;
        Some(Self { utc: time.as_second().div_euclid(60), form, offset })
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
        let time = Timestamp::from_second(self.utc * 60).unwrap_or_default();
        let format = match (self.form, self.offset) {
            (Form::Common, Some(_)) => "%d/%b/%Y:%H:%M %z",
            (Form::Common, None) => "%d/%b/%Y:%H:%M",
            (Form::Iso, Some(_)) => "%Y-%m-%dT%H:%M%:z",
            (Form::Iso, None) => "%Y-%m-%dT%H:%M",
            (Form::Utc, _) => "%Y-%m-%d %H:%M UTC",
        };
        let zone = TimeZone::fixed(self.offset.unwrap_or(Offset::UTC));
        time.to_zoned(zone).strftime(format).fmt(f)
    }
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
            "31/Feb/2026:13:55:36 +0000",
            "29/Feb/2026:13:55:36 +0000",
            "2026-04-31T13:55:36Z",
            "2026/02/30 13:55:36",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(read("29/Feb/2028:13:55:36 +0000").is_some());
        // Nor is it where the last one of the same minute was.
        for text in ["10/Oct/2026:13:55:36 +0000", "2026-10-10T13:55:36Z"] {
            for other in [":99", ":3x", ":36.x", ":36.1.2"] {
                assert!(read(text).is_some());
                assert_eq!(read(&text.replace(":36", other)), None, "{text} {other}");
            }
        }
        assert_eq!(Minute::parse_columns(b"2026-02-31", b"13:55:36"), None);
        assert_eq!(Minute::parse_columns(b"2026-10-10x", b"13:55:36"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Minute::parse(&bytes).map(|minute| minute.to_string());
            let _ = Minute::parse_columns(&bytes, &bytes);
        }
    }
}

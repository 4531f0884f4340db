//! The latencies of a trial as an HdrHistogram interval log, which the tools of that family read.
//!
//! One line each, tagged `connect`, `connect-resumed`, `first-byte`, `whole` and `service`: the V2 compressed histogram of values
//! in nanoseconds. Times are seconds since 1970-01-01 UTC; the maximum, for people, is in
//! milliseconds.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use load::Latencies;

/// The log of a window by its begin in milliseconds after 1970-01-01 UTC and its length
/// nanoseconds. What was not timed has no line.
///
/// # Errors
/// A histogram that cannot be written.
pub fn latency_log(
    latencies: &Latencies,
    started_unix_ms: u64,
    window_ns: u64,
) -> io::Result<Vec<u8>> {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let start = Duration::from_millis(started_unix_ms);
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment("toll: latencies in nanoseconds, by tag; Interval_Max in milliseconds")
        .with_start_time(SystemTime::UNIX_EPOCH + start)
        .with_max_value_divisor(1e6);
    let mut writer = builder.begin_log_with(&mut log, &mut serializer)?;
    for (tag, histogram) in tagged(latencies) {
        if !histogram.is_empty() {
            let duration = Duration::from_nanos(window_ns);
            writer.write_histogram(histogram, start, duration, Tag::new(tag)).map_err(|error| {
                match error {
                    IntervalLogWriterError::IoError(error) => error,
                    other => io::Error::other(format!("{other:?}")),
                }
            })?;
        }
    }
    Ok(log)
}

fn tagged(latencies: &Latencies) -> [(&'static str, &Histogram<u64>); 5] {
    let Latencies { connect, connect_resumed, first_byte, whole, service, coalescing: _ } =
        latencies;
    [
        ("connect", connect),
        ("connect-resumed", connect_resumed),
        ("first-byte", first_byte),
        ("whole", whole),
        ("service", service),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn every_value_is_read_back_under_its_tag() {
        let mut latencies = Latencies::default();
        for micros in 1..=1_000 {
            latencies.connect.record(micros * 1_000).unwrap();
            latencies.whole.record(micros * 1_000_000).unwrap();
        }
        let log = latency_log(&latencies, 1_795_000_000_250, 320_000_000).unwrap();
        let entries: Vec<_> = IntervalLogIterator::new(&log).map(Result::unwrap).collect();
        let intervals: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .collect();
        assert_eq!(intervals.len(), 2, "what was not timed has no line");
        for (interval, (tag, expected)) in
            intervals.iter().zip([("connect", &latencies.connect), ("whole", &latencies.whole)])
        {
            assert_eq!(interval.tag().unwrap().as_str(), tag);
            assert_eq!(interval.start_timestamp(), Duration::from_millis(1_795_000_000_250));
            assert_eq!(interval.duration(), Duration::from_millis(320));
            let bytes = decode(interval.encoded_histogram());
            let read: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert_eq!(&read, expected);
        }
    }

    /// RFC 4648, section 4.
    fn decode(text: &str) -> Vec<u8> {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digit = |c: u8| DIGITS.iter().position(|digit| *digit == c).map(|i| i as u32);
        let mut bytes = Vec::new();
        for group in text.as_bytes().chunks(4) {
            let digits: Vec<u32> = group.iter().filter_map(|c| digit(*c)).collect();
            let bits = digits.iter().fold(0, |bits, d| bits << 6 | d) << (6 * (4 - digits.len()));
            bytes.extend_from_slice(&bits.to_be_bytes()[1..digits.len()]);
        }
        bytes
    }
}

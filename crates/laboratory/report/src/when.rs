//! Instants in words.

use jiff::Timestamp;

/// `2026-11-21 20:51:34 UTC`.
pub(crate) fn utc(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc() {
        for (unix_s, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_795_296_801, "2026-11-21 21:33:21 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(unix_s * 1000), text);
        }
        assert!(utc(u64::MAX).ends_with("UTC"));
    }
}

//! Instants in words.

/// `2026-11-21 20:51:34 UTC`.
pub(crate) fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// The date in the Gregorian calendar, so many days after 1970-01-01. Years are counted from March,
/// so that the leap day ends them; 400 of them, 146,097 days, repeat.
fn civil(days: u64) -> (u64, u64, u64) {
    let since_march_0 = days + 719_468;
    let (era, day) = (since_march_0 / 146_097, since_march_0 % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let (day, from_january) = (day_of_year - (153 * month + 2) / 5 + 1, month >= 10);
    let month = if from_january { month - 9 } else { month + 3 };
    (era * 400 + year + u64::from(from_january), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
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

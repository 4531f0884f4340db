//! An instant as a number that another process can be sent: nanoseconds since this machine booted, by
//! the clock of [`Instant`].
//!
//! The receiver makes an instant of it that is as far from others of the same machine as they were
//! there. It says nothing beside an instant of the receiver's own clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The boot, which comes before all instants that are sent.
fn boot() -> Instant {
    static BOOT: OnceLock<Instant> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let clock = clock_gettime(ClockId::Monotonic);
        let uptime = Duration::new(clock.tv_sec.cast_unsigned(), clock.tv_nsec as u32);
        let now = Instant::now();
        now.checked_sub(uptime).unwrap_or(now)
    })
}

/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(instant: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    let since = instant.saturating_duration_since(boot()).as_nanos();
    u64::try_from(since).unwrap_or(u64::MAX).serialize(serializer)
}

/// # Errors
/// The deserializer's.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
    let since = Duration::from_nanos(u64::deserialize(deserializer)?);
    let out_of_range = || serde::de::Error::custom("an instant that no clock shows");
    boot().checked_add(since).ok_or_else(out_of_range)
}

/// An instant that may be lacking.
pub mod optional {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Sent(#[serde(with = "super")] Instant);

    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(
        instant: &Option<Instant>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        instant.map(Sent).serialize(serializer)
    }

    /// # Errors
    /// The deserializer's.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Instant>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(|Sent(instant)| instant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both {
        #[serde(with = "super")]
        sure: Instant,
        #[serde(with = "optional")]
        perhaps: Option<Instant>,
    }

    #[test]
    fn instants_keep_their_distance() {
        let sure = Instant::now();
        for perhaps in [None, Some(sure + Duration::from_nanos(600_000_001))] {
            let sent = serde_json::to_string(&Both { sure, perhaps }).unwrap();
            assert_eq!(serde_json::from_str::<Both>(&sent).unwrap(), Both { sure, perhaps });
        }
        let late = "{\"sure\":18446744073709551615,\"perhaps\":null}";
        assert!(serde_json::from_str::<Both>(late).is_ok());
    }
}

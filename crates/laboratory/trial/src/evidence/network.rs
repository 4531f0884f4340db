//! Whether the network between client and server was the limit.

use serde::{Deserialize, Serialize};

use super::rounding::rounded;
use crate::reading::{LinkUsage, Readings};

/// An interface that carries this share of its speed is full: on Ethernet a tenth goes to what the
/// counters do not see (preambles and gaps between frames) and to what TCP leaves free.
pub const NETWORK_USED: f64 = 0.90;

/// The share of looks at which packets waited before the interface, above which it never idled.
pub const NETWORK_QUEUED: f64 = 0.90;

/// One segment in a hundred that is sent twice: with such a loss, TCP's window (RFC 5681) decides
/// how fast data flows, whatever the ends could do.
pub const RETRANSMITTED: f64 = 0.01;

/// What is known of the interface that is nearest to being the limit. There is none on loopback.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkEvidence {
    /// Its name, such as `eth0`; `server:veth1` is one of the server's network namespace or machine.
    pub interface: String,
    /// What it carried in the busier direction, with the headers of the link.
    pub bits_per_s: u64,
    /// That over its speed; absent where it has none, as interfaces in software.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
    /// The share of samples, ten per second, in which packets waited in its queue.
    pub queued: f64,
    /// Packets that its queue dropped.
    pub queue_drops: u64,
    /// How often its queue held packets back to keep to a rate.
    pub queue_overlimits: u64,
    /// Segments sent more than once over all that were sent, in the server's network namespace
    /// where its process is known, else in the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<f64>,
}

impl NetworkEvidence {
    /// Of all interfaces on the way the one that is nearest to its limit.
    pub(super) fn of(readings: &Readings, interfaces: &[Interface]) -> Option<Self> {
        let usages = readings.links();
        let all = interfaces.iter().zip(usages).map(|(interface, usage)| interface.evidence(usage));
        let nearest = Self::nearest(all)?;
        Some(Self { retransmitted: readings.retransmitted().map(rounded), ..nearest })
    }

    /// The one of these that is nearest to being the limit.
    pub(crate) fn nearest(all: impl Iterator<Item = Self>) -> Option<Self> {
        let key = |network: &Self| (network.is_full(), network.is_lossy(), network.fullness());
        all.reduce(|nearest, next| if key(&next) > key(&nearest) { next } else { nearest })
    }

    /// Whether the interface carried all that it can, or packets waited before it all the time.
    pub fn is_full(&self) -> bool {
        self.used >= Some(NETWORK_USED) || self.queued >= NETWORK_QUEUED
    }

    /// Whether enough segments were lost to slow TCP down.
    pub fn is_lossy(&self) -> bool {
        self.retransmitted >= Some(RETRANSMITTED)
    }

    fn fullness(&self) -> f64 {
        self.used.unwrap_or_default().max(self.queued)
    }
}

/// An interface on the way between client and server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// As in [`NetworkEvidence`].
    pub name: String,
    /// In bits per second, where it has one.
    pub speed: Option<f64>,
}

impl Interface {
    fn evidence(&self, usage: LinkUsage) -> NetworkEvidence {
        NetworkEvidence {
            interface: self.name.clone(),
            bits_per_s: usage.bits_per_s.round() as u64,
            used: self.speed.map(|speed| rounded(usage.bits_per_s / speed)),
            queued: rounded(usage.queued),
            queue_drops: usage.queue_drops,
            queue_overlimits: usage.queue_overlimits,
            retransmitted: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{NetReading, Reading};
    use observe::LinkCounters;
    use std::time::{Duration, Instant};

    /// Readings of one second, at ten looks, of which `waiting` saw a queue; `megabits` were sent,
    /// and of 10,000 segments `retransmitted` twice.
    fn readings(megabits: u64, waiting: usize, retransmitted: i64) -> Readings {
        let base = Instant::now();
        let reading = |tenth: u64, queued: bool| Reading {
            at: Some(base + Duration::from_millis(100 * tenth)),
            links: vec![LinkCounters {
                sent_bytes: megabits * 125_000 * tenth / 10,
                received_bytes: 7 * tenth,
                queued_bytes: if queued { 1514 } else { 0 },
                queue_drops: 3 * tenth,
                queue_overlimits: 50 * tenth,
            }],
            net: Some(NetReading {
                segments_sent: 1_000 * tenth as i64,
                segments_retransmitted: retransmitted * tenth as i64 / 10,
                ..NetReading::default()
            }),
            ..Reading::default()
        };
        let mut readings = Readings::begin(reading(0, true));
        for tenth in 1..=10 {
            readings.advance(reading(tenth, tenth as usize <= waiting));
        }
        readings
    }

    fn evidence(readings: &Readings, speed: Option<f64>) -> NetworkEvidence {
        let interfaces = [Interface { name: "eth0".to_owned(), speed }];
        NetworkEvidence::of(readings, &interfaces).unwrap()
    }

    #[test]
    fn an_interface_at_its_speed_is_full() {
        let found = evidence(&readings(900, 2, 0), Some(1e9));
        let expected = NetworkEvidence {
            interface: "eth0".to_owned(),
            bits_per_s: 900_000_000,
            used: Some(0.9),
            queued: 0.2,
            queue_drops: 30,
            queue_overlimits: 500,
            retransmitted: Some(0.0),
        };
        assert_eq!(found, expected);
        assert!(found.is_full() && !found.is_lossy());
        assert!(!evidence(&readings(899, 2, 0), Some(1e9)).is_full());
        // In software there is no speed to reach.
        let veth = evidence(&readings(90_000, 2, 0), None);
        assert!(!veth.is_full() && veth.used.is_none());
    }

    #[test]
    fn a_queue_that_is_never_empty_is_a_full_network() {
        assert!(evidence(&readings(20, 9, 0), None).is_full());
        assert!(!evidence(&readings(20, 8, 0), None).is_full());
    }

    #[test]
    fn one_segment_in_a_hundred_sent_twice_is_a_lossy_network() {
        assert!(evidence(&readings(20, 0, 110), None).is_lossy());
        assert!(!evidence(&readings(20, 0, 90), None).is_lossy());
    }

    #[test]
    fn loopback_has_no_network() {
        let mut readings = Readings::begin(Reading::default());
        readings.advance(Reading::default());
        assert_eq!(NetworkEvidence::of(&readings, &[]), None);
    }
}

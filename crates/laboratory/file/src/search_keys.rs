//! The keys of `[find]`.

use std::fmt;

use load::{Arrival, Percent};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use study::Metric;
use study::find::Ceiling;
use units::Nanos;

/// What a `[find]` says.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SearchKeys {
    /// The figure to maximize: `goodput` or `rate`. [default: an error]
    pub(super) maximize: Option<Metric>,
    /// The key that is searched over: `load.connections`, or `load.arrival` for the rate of an open loop.
    /// [default: `load.connections`]
    pub(super) over: OverKey,
    /// The smallest load to try, as a value of that key. [default: `1`; for arrivals an error]
    pub(super) from: Option<Load>,
    /// The largest load to try. [default: an error]
    pub(super) to: Option<Load>,
    /// What must hold, `CLOCK <= TIME` or `SHARE <= PERCENT`: below. [default: an error]
    #[serde(rename = "while")]
    pub(super) ceiling: Option<Ceiling>,
    /// The window of a trial that searches. [default: `3s`]
    pub(super) step: Option<Nanos>,
    /// The window of a trial that measures. [default: `load.duration`]
    pub(super) hold: Option<Nanos>,
    /// Figures this close to the largest count as equal, and the smallest load that has one is taken.
    /// [default: `2%`]
    pub(super) plateau: Option<Percent>,
}

/// The key that is searched over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum OverKey {
    #[default]
    #[serde(rename = "load.connections")]
    Connections,
    #[serde(rename = "load.arrival")]
    Arrival,
}

/// An end of the range, in the form of either key.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Load {
    Connections(u64),
    Arrival(Arrival),
}

impl<'de> Deserialize<'de> for Load {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct End;
        impl Visitor<'_> for End {
            type Value = Load;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of connections, or arrivals")
            }

            fn visit_u64<E: Error>(self, connections: u64) -> Result<Load, E> {
                match connections {
                    0 => Err(E::invalid_value(Unexpected::Unsigned(0), &self)),
                    _ => Ok(Load::Connections(connections)),
                }
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Load, E> {
                text.parse().map(Load::Arrival).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(End)
    }
}

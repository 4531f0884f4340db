//! What is known of a log after it was read.

use std::collections::BTreeMap;

use objects::Mix;
use serde::Serialize;

use super::request::{Protocol, Tls};
use crate::sizes::Sizes;

/// The traffic of a log.
#[derive(Debug, PartialEq)]
pub struct AccessLog {
    /// The sizes of the bodies that were sent.
    pub sizes: Sizes,
    /// Few objects that stand for them.
    pub object: Mix,
    /// Requests in the busiest minute.
    pub busiest: u64,
    /// That minute as the log writes it, with its offset from UTC; of several, the one that comes first.
    pub minute: String,
    /// What was read and what of it was used.
    pub used: LogUse,
}

/// What was read of a log and what of it was used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogUse {
    /// The name of its format.
    pub format: &'static str,
    pub lines: u64,
    pub requests: u64,
    /// Lines that are no load of this kind.
    #[serde(flatten)]
    pub left_out: LeftOut,
    /// Lines that are no requests, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<Damaged>,
    pub heads: Heads,
    /// `None` where lines do not number the requests of a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// How many requests there were by each protocol, where lines say it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub protocols: BTreeMap<Protocol, u64>,
    /// The same by version of TLS.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tls: BTreeMap<Tls, u64>,
    /// The share of requests that were passed to another server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxied: Option<f64>,
    /// Requests of HTTP/2 that Apache does not number, and which therefore count no connections.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_numbered: u64,
}

/// Lines that were read and are not planned for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Requests that were never over TLS.
    #[serde(skip_serializing_if = "is_zero")]
    pub plain: u64,
    /// Connections that became WebSockets or tunnels, of which a line has all bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub upgraded: u64,
}

/// Lines that are no requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// The number of the first.
    pub line: u64,
    /// What is wrong with the first.
    pub why: String,
}

/// Whether the sizes of a log count the heads of responses too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heads {
    NotCounted,
    /// They do, and the median size of the responses without a body was subtracted.
    Subtracted {
        bytes: u64,
        /// Responses without a body.
        lines: u64,
    },
    /// They do, and no response without a body shows how long heads are.
    Included,
    /// The format does not say it, and no response without a body shows it.
    Unknown,
}

/// How connections were used.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Connections {
    /// Requests that say their number on a connection.
    pub requests: u64,
    /// How many connections were opened.
    pub opened: u64,
    /// How many of these say whether they resumed a session.
    pub with_resumption: u64,
    /// How many of these resumed one.
    pub resumed: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

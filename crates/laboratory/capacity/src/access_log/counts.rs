//! What is kept of a log's requests: counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::outcome::{Connections, Heads, LeftOut};
use super::request::{Connection, Entry, Measure, Protocol, Request, Tls};
use super::time::Minute;
use crate::sizes::Sizes;

/// A head that is longer counts as one of this length.
const LONGEST_HEAD: u64 = 64 << 10;

#[derive(Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    /// Of those, responses that have a body as a rule.
    with_content: u64,
    /// Of these, those that have one by their size.
    with_bytes: u64,
    /// And those of which the size may be a number after the dash that was read.
    doubtful: u64,
    pub(super) left_out: LeftOut,
    /// Sizes that are those of bodies.
    bodies: Sizes,
    /// Sizes that count heads too, or may do so.
    wholes: Sizes,
    has_heads: bool,
    /// How many responses without a body there were, by their size, for `wholes`.
    heads: BTreeMap<u64, u64>,
    minutes: HashMap<i64, CountedMinute>,
    /// The minute of the last line, and its requests that are not in `minutes` yet: a log is nearly in order.
    now: Option<(Minute, u64)>,
    /// `None` where lines do not number requests.
    pub(super) connections: Option<Connections>,
    pub(super) not_numbered: u64,
    protocols: [u64; Protocol::ALL.len()],
    tls: [u64; Tls::ALL.len()],
    /// How many were passed to another server, of those that say so.
    proxied: [u64; 2],
}

struct CountedMinute {
    /// Its place among all.
    place: usize,
    requests: u64,
    minute: Minute,
}

impl Counts {
    pub(super) fn add(&mut self, entry: &Entry) {
        match entry {
            Entry::Request(request) => self.add_request(request),
            Entry::Plain => self.left_out.plain += 1,
            Entry::Upgraded => self.left_out.upgraded += 1,
        }
    }

    /// Whether what was read as sizes is something else: all are 0, or most are a dash before a number.
    pub(super) fn has_no_sizes(&self) -> bool {
        self.with_content > 0 && (self.with_bytes == 0 || self.doubtful * 2 > self.with_content)
    }

    fn add_request(&mut self, request: &Request) {
        self.requests += 1;
        if request.has_content {
            self.with_content += 1;
            self.with_bytes += u64::from(request.size > 0);
            self.doubtful += u64::from(request.is_doubtful);
        }
        match request.measure {
            Measure::Body => self.bodies.add(request.size),
            _ if request.is_bodiless => {
                *self.heads.entry(request.size.min(LONGEST_HEAD)).or_default() += 1;
                self.wholes.add(0);
            }
            _ => self.wholes.add(request.size),
        }
        self.has_heads |= request.measure == Measure::BodyAndHead;
        match &mut self.now {
            Some((minute, requests)) if minute.utc == request.minute.utc => *requests += 1,
            _ => {
                self.settle();
                self.now = Some((request.minute, 1));
            }
        }
        if let Some(protocol) = request.protocol {
            self.protocols[protocol as usize] += 1;
        }
        if let Some(tls) = request.tls {
            self.tls[tls as usize] += 1;
        }
        if let Some(is_proxied) = request.is_proxied {
            self.proxied[usize::from(is_proxied)] += 1;
        }
        match request.connection {
            Connection::Unsaid => {}
            Connection::NotNumbered => self.not_numbered += 1,
            Connection::Later => self.connections.get_or_insert_default().requests += 1,
            Connection::First { is_resumed } => {
                let connections = self.connections.get_or_insert_default();
                connections.requests += 1;
                connections.opened += 1;
                connections.with_resumption += u64::from(is_resumed.is_some());
                connections.resumed += u64::from(is_resumed == Some(true));
            }
        }
    }

    fn settle(&mut self) {
        let Some((minute, requests)) = self.now.take() else { return };
        let place = self.minutes.len();
        let new = CountedMinute { place, requests: 0, minute };
        self.minutes.entry(minute.utc).or_insert(new).requests += requests;
    }

    /// The busiest minute and its requests: of several, the one that comes first. `None` where there is none.
    pub(super) fn busiest(&mut self) -> Option<(Minute, u64)> {
        self.settle();
        let order = |of: &&CountedMinute| (of.requests, Reverse(of.place));
        self.minutes.values().max_by_key(order).map(|of| (of.minute, of.requests))
    }

    /// The share of requests that were passed to another server, where lines say that.
    pub(super) fn proxied(&self) -> Option<f64> {
        let [own, proxied] = self.proxied;
        (own + proxied > 0).then(|| proxied as f64 / (own + proxied) as f64)
    }

    /// How many requests there were by each protocol that there was.
    pub(super) fn protocols(&self) -> BTreeMap<Protocol, u64> {
        let counts = Protocol::ALL.into_iter().zip(self.protocols);
        counts.filter(|(_, count)| *count > 0).collect()
    }

    pub(super) fn tls(&self) -> BTreeMap<Tls, u64> {
        Tls::ALL.into_iter().zip(self.tls).filter(|(_, count)| *count > 0).collect()
    }

    /// The sizes of the bodies, and how they were got.
    pub(super) fn sizes(&self) -> (Sizes, Heads) {
        let heads = self.heads();
        let each = if let Heads::Subtracted { bytes, .. } = heads { bytes } else { 0 };
        let mut sizes = self.bodies.clone();
        sizes.add_all(&self.wholes, each);
        (sizes, heads)
    }

    fn heads(&self) -> Heads {
        let lines = self.heads.values().sum();
        if self.wholes.count() == 0 {
            return Heads::NotCounted;
        }
        if lines == 0 {
            return if self.has_heads { Heads::Included } else { Heads::Unknown };
        }
        let mut before = 0;
        let median = self.heads.iter().find(|(_, count)| {
            before += **count;
            before * 2 >= lines
        });
        match median.map_or(0, |(bytes, _)| *bytes) {
            0 => Heads::NotCounted,
            bytes => Heads::Subtracted { bytes, lines },
        }
    }
}

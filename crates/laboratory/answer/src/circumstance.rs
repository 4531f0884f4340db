//! What has to be alike in two rows that are compared, beside what was asked for: a line for each.

use std::collections::{BTreeMap, BTreeSet};

use keys::full;
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use trial::{QuicUse, TrialRecord};

/// A circumstance of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Circumstance {
    /// What counted the server's instructions, with its version.
    CountedBy,
    /// How the client received: `walk`, `decrypt`, or by which other program.
    Received,
    /// When the client woke up, which a server on the same machine pays for.
    Wakeups,
    /// How long the longest datagrams of HTTP/3 were, where what came filled some.
    Datagrams,
    /// How long the client paused, in parts of an operation's time.
    Pauses,
    /// The congestion control of the server's connections.
    Congestion,
}

/// Those of the valid trials of a row, without what is recorded of none.
pub type Circumstances = BTreeMap<Circumstance, BTreeSet<String>>;

impl Circumstance {
    /// All of these trials.
    pub(crate) fn all(valid: &[&TrialRecord]) -> Circumstances {
        let of = |circumstance: &Self| {
            let own: BTreeSet<String> =
                valid.iter().flat_map(|line| circumstance.of(line)).collect();
            (!own.is_empty()).then_some((*circumstance, own))
        };
        Self::VARIANTS.iter().filter_map(of).collect()
    }

    fn of(self, line: &TrialRecord) -> Vec<String> {
        let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
        let one = match self {
            Self::CountedBy => line.counted.as_ref().map(|counted| counted.source.clone()),
            Self::Received => {
                let other = obtained.client.as_ref().map(|client| format!("by {client}"));
                other.or_else(|| Some(asked.receive?.to_string()))
            }
            Self::Wakeups => asked.wakeups.map(|wakeups| wakeups.to_string()),
            Self::Datagrams => {
                let carried = obtained.quic.as_ref().and_then(QuicUse::longest_of_path);
                carried.map(|carried| format!("{} bytes", units::thousands(carried)))
            }
            Self::Pauses => obtained.pauses.map(|pauses| pauses.to_string()),
            // Over QUIC it is the program's own and cannot be seen, so that there is nothing to compare.
            Self::Congestion if obtained.quic.is_some() => None,
            Self::Congestion => return obtained.server_congestion.keys().cloned().collect(),
        };
        one.into_iter().collect()
    }

    /// That two rows differ in it, what follows from that, and the keys in which they may differ because of it.
    fn row(self) -> (&'static str, &'static str, &'static [&'static str]) {
        const OF_CLIENT: [&str; 2] = [full::CLIENT, full::WAKEUPS];
        match self {
            Self::CountedBy => (
                "instructions were not counted by the same source",
                ", and two of them count different things",
                &[],
            ),
            Self::Received => (
                "they were not received in the same way",
                ", so the client's work differs too",
                &[full::CLIENT],
            ),
            Self::Wakeups => ("their clients woke up in different ways", "", &OF_CLIENT),
            Self::Datagrams => (
                "the path carried datagrams of other lengths",
                "",
                &[full::SERVER, full::MAX_UDP_PAYLOAD],
            ),
            Self::Pauses => ("their clients paused for different times", "", &OF_CLIENT),
            Self::Congestion => ("their servers had different congestion controls", "", &[]),
        }
    }

    pub(crate) fn words(self) -> [&'static str; 2] {
        let (differ, so, _) = self.row();
        [differ, so]
    }

    pub(crate) fn follows_from(self) -> &'static [&'static str] {
        self.row().2
    }
}

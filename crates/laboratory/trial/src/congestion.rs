//! The congestion control of a trial's connections, in its receipt: what was asked for, what they had, and
//! what held packets back.

use observe::TcpConnections;
use serde::{Deserialize, Serialize};

use crate::mismatch::Mismatch;
use crate::obtained::Pacing;
use crate::receipt::Receipt;

/// The connections of a load, looked at once within its window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// The server's ends.
    pub server: TcpConnections,
    /// The client's ends.
    pub client: TcpConnections,
    /// The queue before loopback of the server's machine, where it has one.
    pub loopback_queue: Option<String>,
}

impl Connections {
    /// Whether none was seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.server.congestion.is_empty() && self.client.congestion.is_empty()
    }
}

/// That of toll's QUIC connections, and of those of their server, which no kernel has.
const CLIENTS_OVER_QUIC: &str = "cubic (quinn)";
const SERVERS_OVER_QUIC: &str = "not visible";

impl Connections {
    /// Adds QUIC connections, whose congestion control is their programs'.
    pub(crate) fn add_quic(&mut self, connections: u64) {
        for (of, name) in
            [(&mut self.server, SERVERS_OVER_QUIC), (&mut self.client, CLIENTS_OVER_QUIC)]
        {
            of.congestion.insert(name.to_owned(), connections);
        }
    }
}

impl Receipt {
    /// Adds what connections had; `is_loopback` where the load was made over that. The receipt has what was
    /// asked for already.
    pub(crate) fn add_connections(&mut self, seen: &Connections, is_loopback: bool) {
        let queue = seen.loopback_queue.clone().filter(|kind| is_loopback && kind == "fq");
        let TcpConnections { paced, least_pacing_bps, .. } = seen.server;
        self.obtained.pacing = (paced > 0 || queue.is_some()).then_some(Pacing {
            connections: paced,
            least_bps: least_pacing_bps,
            queue,
        });
        for (what, asked, seen, obtained) in [
            (
                "server_congestion",
                &self.asked.server_congestion,
                &seen.server,
                &mut self.obtained.server_congestion,
            ),
            (
                "client_congestion",
                &self.asked.client_congestion,
                &seen.client,
                &mut self.obtained.client_congestion,
            ),
        ] {
            obtained.clone_from(&seen.congestion);
            let Some(asked) = asked else { continue };
            let others: Vec<&str> =
                obtained.keys().filter(|name| *name != asked).map(String::as_str).collect();
            if !others.is_empty() {
                self.mismatch.push(Mismatch::new(what, asked, others.join(", ")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::Warning;

    fn seen(name: &str, paced: u64) -> TcpConnections {
        let congestion = [(name.to_owned(), 64)].into();
        TcpConnections { congestion, paced, least_pacing_bps: (paced > 0).then_some(5e9) }
    }

    fn receipt(server: Option<&str>, client: Option<&str>, seen: &Connections) -> Receipt {
        let mut receipt = Receipt::default();
        receipt.asked.server_congestion = server.map(str::to_owned);
        receipt.asked.client_congestion = client.map(str::to_owned);
        receipt.add_connections(seen, true);
        receipt
    }

    #[test]
    fn another_control_than_asked_is_a_mismatch_and_none_asked_is_none() {
        let both =
            Connections { server: seen("bbr", 64), client: seen("cubic", 0), loopback_queue: None };
        assert_eq!(receipt(None, None, &both).mismatch, []);
        assert_eq!(receipt(Some("bbr"), Some("cubic"), &both).mismatch, []);
        let wrong = receipt(Some("cubic"), Some("reno"), &both);
        let what: Vec<&str> = wrong.mismatch.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(what, ["server_congestion", "client_congestion"]);
        // What a server does over QUIC is its own affair, so nothing can be asked of it.
        let mut quic = Connections::default();
        quic.add_quic(64);
        let unseen = receipt(Some("cubic"), None, &quic);
        assert_eq!(unseen.mismatch[0].obtained, "not visible");
        assert_eq!(unseen.obtained.client_congestion, [("cubic (quinn)".to_owned(), 64)].into());
        // Connections that were not seen prove nothing.
        let unseen = receipt(Some("cubic"), None, &Connections::default());
        assert_eq!((unseen.mismatch, unseen.obtained.pacing), (vec![], None));
    }

    #[test]
    fn short_responses_are_not_held_back_by_a_pace() {
        let both = Connections { server: seen("bbr", 64), ..Connections::default() };
        let obtained = receipt(None, None, &both).obtained;
        let is_warned = |bytes| Warning::paced(&obtained, bytes, false).is_some();
        assert_eq!(
            [0, 19, 32_767, 32_768, 1 << 20].map(is_warned),
            [false, false, false, true, true]
        );
    }

    #[test]
    fn what_held_packets_back_is_told_apart() {
        let of = |server, queue: Option<&str>, is_loopback| {
            let loopback_queue = queue.map(str::to_owned);
            let seen = Connections { server, client: seen("cubic", 0), loopback_queue };
            let mut receipt = Receipt::default();
            receipt.add_connections(&seen, is_loopback);
            receipt.obtained.pacing
        };
        assert_eq!(of(seen("cubic", 0), Some("pfifo_fast"), true), None);
        assert_eq!(of(seen("cubic", 0), Some("fq"), false), None);
        let queued = of(seen("cubic", 0), Some("fq"), true).unwrap();
        assert_eq!((queued.connections, queued.queue.as_deref()), (0, Some("fq")));
        let timed = of(seen("bbr", 64), None, true).unwrap();
        assert_eq!((timed.connections, timed.least_bps, timed.queue), (64, Some(5e9), None));
    }
}

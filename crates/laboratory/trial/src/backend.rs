//! What the backend of a proxy served, in the receipt: whether requests came to it as they were to.

use load::{Job, Operation, Outcome};
use targets::{BACKEND_SUITE, Backend, BackendConnections, SendCounters, Target};
use units::thousands;

use crate::mismatch::Mismatch;
use crate::obtained::BackendUse;
use crate::receipt::Receipt;

/// With kept connections, one in ten requests may still open one: a proxy also closes those of clients that left.
const REQUESTS_PER_NEW: u64 = 10;

impl Receipt {
    /// Adds what a backend of this proxy served, and where that differs from what was asked. What was under way
    /// when its counts were read, at most an operation of each connection, may be in one count and not in another.
    pub(crate) fn add_backend(
        &mut self,
        target: &Target,
        counted: &SendCounters,
        (job, outcome): (&Job, &Outcome),
    ) {
        let Some(asked) = target.backend() else { return };
        let connections = target.backend_connections;
        let handshakes = counted.handshakes();
        self.asked.backend = Some(asked.to_string());
        self.asked.backend_connections = Some(connections.to_string());
        self.asked.backend_verify = (asked == Backend::Tls).then_some(target.backend_verify);
        self.obtained.backend = Some(BackendUse {
            handshakes,
            suite: (handshakes > 0).then(|| BACKEND_SUITE.to_owned()),
            tls_requests: counted.tls_requests,
            plain_connections: counted.plain_connections,
            plain_requests: counted.plain_requests,
        });
        if job.plan.operation == Operation::Handshakes {
            return;
        }
        let (tls, plain) = (counted.tls_requests, counted.plain_requests);
        let (requests, others, opened) = match asked {
            Backend::Tls => (tls, plain, handshakes),
            Backend::Plain => (plain, tls, counted.plain_connections),
        };
        let mut differs = |what: &str, asked: String, obtained: String| {
            self.mismatch.push(Mismatch::new(what, asked, obtained));
        };
        if others > 0 || requests < outcome.completed {
            let obtained = format!(
                "{} requests over TLS and {} over plain HTTP for {} responses",
                thousands(tls),
                thousands(plain),
                thousands(outcome.completed)
            );
            differs("backend", asked.to_string(), obtained);
            return;
        }
        let under_way = job.plan.most_open() as u64;
        let is_right = match connections {
            BackendConnections::New => opened + under_way >= requests,
            BackendConnections::Kept => opened <= 2 * under_way + requests / REQUESTS_PER_NEW,
        };
        if !is_right {
            let obtained =
                format!("{} connections for {} requests", thousands(opened), thousands(requests));
            differs("backend_connections", connections.to_string(), obtained);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tls::SendMode;

    use crate::testing::{job, outcome};

    /// What differs in a load of 64 connections with 1,000 responses.
    fn judged(
        (backend, backend_connections): (Backend, BackendConnections),
        (handshakes, tls_requests): (u64, u64),
        (plain_connections, plain_requests): (u64, u64),
    ) -> Vec<String> {
        let target = Target { backend: Some(backend), backend_connections, ..Target::default() };
        let counted = SendCounters {
            connections: [(SendMode::User, handshakes)].into(),
            tls_requests,
            plain_connections,
            plain_requests,
            ..SendCounters::default()
        };
        let mut receipt = Receipt::default();
        let (job, outcome) = (job("https://localhost/bytes/1MiB"), outcome(1_000));
        receipt.add_backend(&target, &counted, (&job, &outcome));
        assert_eq!(receipt.obtained.backend.unwrap().tls_requests, tls_requests);
        receipt.mismatch.into_iter().map(|of| of.what).collect()
    }

    use Backend::{Plain, Tls};
    use BackendConnections::{Kept, New};

    #[test]
    fn requests_come_over_what_was_asked() {
        assert!(judged((Tls, Kept), (64, 1_000), (0, 0)).is_empty());
        assert!(judged((Plain, Kept), (0, 0), (64, 1_000)).is_empty());
        for (tls, plain) in [((64, 999), (0, 0)), ((64, 1_000), (1, 1)), ((0, 0), (64, 1_000))] {
            assert_eq!(judged((Tls, Kept), tls, plain), ["backend"]);
        }
        assert_eq!(judged((Plain, Kept), (64, 1_000), (0, 0)), ["backend"]);
    }

    #[test]
    fn connections_are_kept_or_new() {
        assert!(judged((Tls, New), (1_000, 1_064), (0, 0)).is_empty());
        assert!(judged((Plain, New), (0, 0), (1_000, 1_000)).is_empty());
        assert_eq!(judged((Tls, New), (935, 1_000), (0, 0)), ["backend_connections"]);
        assert_eq!(judged((Plain, New), (0, 0), (64, 1_000)), ["backend_connections"]);
        assert!(judged((Tls, Kept), (228, 1_000), (0, 0)).is_empty());
        assert_eq!(judged((Tls, Kept), (229, 1_000), (0, 0)), ["backend_connections"]);
    }
}

//! A load that another program makes, and what that program says of it.

use std::time::Instant;

use load::{Outcome, Progress};
use peers::{PeerLoad, PeerReport};

use crate::operations::Operations;
use crate::trial::Load;

impl Load for PeerLoad {
    fn window(&self) -> (Instant, Instant) {
        self.window()
    }

    fn thread_ids(&self) -> Vec<i32> {
        self.thread_ids()
    }

    fn progress(&self) -> Progress {
        self.progress()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }

    fn stop(&self) {
        self.stop();
    }

    fn join(self) -> (Outcome, Option<PeerReport>) {
        let (outcome, report) = self.join();
        (outcome, Some(report))
    }
}

impl From<&PeerReport> for Operations {
    /// The errors alone.
    fn from(peer: &PeerReport) -> Self {
        let mut operations = Self::default();
        for (kind, count, words) in &peer.failures {
            *operations.errors.entry(kind.name().to_owned()).or_default() += count;
            operations.first_errors.entry(kind.name().to_owned()).or_insert_with(|| words.clone());
        }
        operations
    }
}

#[cfg(test)]
mod tests {
    use load::ErrorKind;

    use super::*;

    #[test]
    fn failures_of_one_kind_are_added_and_the_first_words_kept() {
        let peer = PeerReport {
            client: "ab 2.3".into(),
            failures: vec![
                (ErrorKind::Reset, 2, "receive".into()),
                (ErrorKind::Status, 5, "non-2xx".into()),
                (ErrorKind::Reset, 3, "write".into()),
            ],
            caution: "compare".into(),
        };
        let operations = Operations::from(&peer);
        assert_eq!((operations.errors["reset"], operations.errors["status"]), (5, 5));
        assert_eq!(operations.first_errors["reset"], "receive");
    }
}

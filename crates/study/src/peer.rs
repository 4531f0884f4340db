//! What another program says of a load that it made in the engine's stead.

use load::ErrorKind;

use crate::line::Operations;

/// What comes beside the [`Outcome`](load::Outcome) of such a load. All of it, the outcome too, is
/// the program's own word: toll has verified nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerReport {
    /// The program and its version, such as `wrk 4.1.0`.
    pub client: String,
    /// Failed operations: the kind nearest to what the program counts, how many, and its own words.
    /// They stand in place of the outcome's failures.
    pub failures: Vec<(ErrorKind, u64, String)>,
    /// What to keep in mind when its figures are read.
    pub caution: String,
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

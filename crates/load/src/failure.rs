use std::fmt;

use serde::{Deserialize, Serialize};

/// Why an operation failed. The names are those of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// No connection: refused.
    Refused,
    /// No route to the address.
    Unreachable,
    /// No connection: this machine had no port left.
    Ports,
    /// No connection: this process had no file descriptor left.
    Descriptors,
    /// No connection within the time limit.
    ConnectTimeout,
    /// The kernel ended the connection: the peer acknowledged nothing for too long.
    TimedOut,
    /// A TLS alert other than close_notify.
    Alert,
    /// The answer to the ClientHello did not begin with a TLS record.
    NotTls,
    /// The server broke the rules of TLS, or chose what was not offered.
    Handshake,
    /// The certificate or the signature does not authenticate the server.
    Authentication,
    /// The connection was reset.
    Reset,
    /// The kernel refused to connect, send or receive for another reason, which the description names.
    Kernel,
    /// The connection was closed before a response, or during the handshake.
    EarlyClose,
    /// The body ended before the length that the response promised.
    ShortBody,
    /// More bytes came than the response promised, than the object has, or than was requested.
    LongBody,
    /// No HTTP response, or one with a status other than 200 (a page: than its session says).
    Status,
    /// The body was not the object's, or a page was not what its session says.
    Content,
    /// A page of a session had another number of redirects than it should, or one that leads to
    /// another server.
    Redirect,
    /// No progress within the time limit.
    Stall,
    /// A record that failed authentication, or whose place in the response was not proven.
    UnverifiableRecord,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 20] = [
        Self::Refused,
        Self::Unreachable,
        Self::Ports,
        Self::Descriptors,
        Self::ConnectTimeout,
        Self::TimedOut,
        Self::Alert,
        Self::NotTls,
        Self::Handshake,
        Self::Authentication,
        Self::Reset,
        Self::Kernel,
        Self::EarlyClose,
        Self::ShortBody,
        Self::LongBody,
        Self::Status,
        Self::Content,
        Self::Redirect,
        Self::Stall,
        Self::UnverifiableRecord,
    ];

    /// The name in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Ports => "ports",
            Self::Descriptors => "descriptors",
            Self::ConnectTimeout => "connect-timeout",
            Self::TimedOut => "timed-out",
            Self::Alert => "alert",
            Self::NotTls => "not-tls",
            Self::Handshake => "handshake",
            Self::Authentication => "authentication",
            Self::Reset => "reset",
            Self::Kernel => "kernel",
            Self::EarlyClose => "early-close",
            Self::ShortBody => "short-body",
            Self::LongBody => "long-body",
            Self::Status => "status",
            Self::Content => "content",
            Self::Redirect => "redirect",
            Self::Stall => "stall",
            Self::UnverifiableRecord => "unverifiable-record",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One failed operation: its kind and a description of what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) seen: String,
    /// Whether it was found in a response that was decrypted whole. In one that is walked, the same
    /// fault may stay unseen.
    pub(crate) is_in_whole: bool,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, seen: impl Into<String>) -> Self {
        Self { kind, seen: seen.into(), is_in_whole: false }
    }

    /// Bytes came before any request that they could answer.
    pub(crate) fn unasked() -> Self {
        Self::new(ErrorKind::LongBody, "data that no request asked for")
    }
}

/// The longest description that is kept, in characters. It may quote the peer.
const LONGEST: usize = 240;

/// The text as one line of limited length without control characters, so that it is safe to print
/// on a terminal.
fn printable(seen: &str) -> String {
    let mut shown = seen.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut text: String = shown.by_ref().take(LONGEST).collect();
    if shown.next().is_some() {
        text.push_str("...");
    }
    text
}

/// How many operations failed, by kind, with a description of the first of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    counts: [u64; ErrorKind::ALL.len()],
    first: [Option<String>; ErrorKind::ALL.len()],
}

impl Failures {
    pub(crate) fn add(&mut self, failure: Failure) {
        self.add_all(failure.kind, 1, &failure.seen);
    }

    /// Adds operations that failed in the same way, and what was seen of the first.
    pub fn add_all(&mut self, kind: ErrorKind, count: u64, seen: &str) {
        self.counts[kind as usize] += count;
        self.first[kind as usize].get_or_insert_with(|| printable(seen));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (i, (count, first)) in other.counts.into_iter().zip(other.first).enumerate() {
            self.counts[i] += count;
            if self.first[i].is_none() {
                self.first[i] = first;
            }
        }
    }

    /// How many operations failed in this way.
    #[must_use]
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.counts[kind as usize]
    }

    /// How many operations failed.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The kinds that occurred, each with its count and the description of its first occurrence.
    pub fn iter(&self) -> impl Iterator<Item = (ErrorKind, u64, &str)> {
        ErrorKind::ALL.into_iter().filter(|kind| self.count(*kind) > 0).map(|kind| {
            (kind, self.count(kind), self.first[kind as usize].as_deref().unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_index_their_own_counts() {
        for (i, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
        }
    }

    #[test]
    fn a_peers_text_is_cut_and_stripped_of_control_characters() {
        let mut failures = Failures::default();
        failures.add(Failure::new(ErrorKind::Status, format!("404 {}", "x".repeat(100_000))));
        failures.add(Failure::new(ErrorKind::Alert, "\x1b[2Jone\ntwo\u{9b}"));
        let kept: Vec<&str> = failures.iter().map(|(_, _, seen)| seen).collect();
        let shortened = format!("404 {}...", "x".repeat(LONGEST - 4));
        assert_eq!(kept, ["\u{fffd}[2Jone\u{fffd}two\u{fffd}", &shortened]);
    }

    #[test]
    fn merging_adds_counts_and_keeps_the_first_description() {
        let mut one = Failures::default();
        let mut two = Failures::default();
        one.add(Failure::new(ErrorKind::Reset, "first"));
        two.add(Failure::new(ErrorKind::Reset, "second"));
        two.add(Failure::new(ErrorKind::Stall, "third"));
        one.merge(two);
        one.add_all(ErrorKind::Reset, 5, "fourth");
        assert_eq!(one.total(), 8);
        assert_eq!(
            one.iter().collect::<Vec<_>>(),
            [(ErrorKind::Reset, 7, "first"), (ErrorKind::Stall, 1, "third")]
        );
    }
}

//! How values are written in study files, where their own types do not say it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use load::Mix;
use peers::Peer;
use tls::{Suite, Version};
use units::{Nanos, ParseError};

use super::suggest::did_you_mean;
use crate::study::{IfMissing, LoadClient, Metric};

/// A length of time that is written exactly, where [`Nanos`] rounds for people.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time(pub(crate) Nanos);

/// Which server, before it is known what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerName {
    Embedded,
    Nginx,
    Haproxy,
    Command,
    Address,
}

/// A file on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePath(pub(super) PathBuf);

/// Generated objects: those that a server which a study starts has.
#[derive(Debug, Clone)]
pub(super) struct Objects(pub(super) Mix);

/// A version or a suite of TLS, or `none`, which is plain HTTP.
#[derive(Debug, Clone, Copy)]
pub(super) enum Secured<T> {
    Plain,
    With(T),
}

impl FromStr for Time {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let nanos = self.0.0;
        let (factor, unit) = UNITS
            .into_iter()
            .find(|(factor, _)| nanos.is_multiple_of(*factor))
            .unwrap_or((1, "ns"));
        write!(f, "{}{unit}", nanos / factor)
    }
}

impl FromStr for Objects {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mix: Mix = text.parse()?;
        match mix.sizes() {
            Some(_) => Ok(Self(mix)),
            None => Err(format!("`{text}` names a path, where a study has sizes such as 1MiB")),
        }
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

const PLAIN: &str = "none";

impl FromStr for Secured<Version> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            PLAIN => Ok(Self::Plain),
            _ => text
                .parse()
                .map(Self::With)
                .map_err(|error| format!("{error}, or none for plain HTTP")),
        }
    }
}

impl FromStr for Secured<&'static Suite> {
    type Err = tls::NameError;

    fn from_str(text: &str) -> Result<Self, tls::NameError> {
        match text {
            PLAIN => Ok(Self::Plain),
            _ => Suite::parse(text).map(Self::With),
        }
    }
}

impl fmt::Display for Secured<Version> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => PLAIN,
            Self::With(version) => version.number(),
        })
    }
}

impl fmt::Display for Secured<&'static Suite> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => PLAIN,
            Self::With(suite) => suite.name,
        })
    }
}

/// The value with this name, or a sentence that says which there are.
fn named<T: Copy>(text: &str, what: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names = known.iter().map(|(name, _)| *name);
        format!("`{text}` is no {what}{}", did_you_mean(text, "write one of:", names))
    })
}

impl ServerName {
    const ALL: [Self; 5] =
        [Self::Embedded, Self::Nginx, Self::Haproxy, Self::Command, Self::Address];

    fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
            Self::Command => "command",
            Self::Address => "address",
        }
    }
}

impl FromStr for ServerName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(|server| (server.name(), server));
        named(text, "server that a study can measure", &known)
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FilePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.is_empty() || text.contains(char::is_control) {
            false => Ok(Self(text.into())),
            true => Err("this is no path of a file".to_owned()),
        }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

impl FromStr for LoadClient {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = std::iter::once(Self::Toll).chain(Peer::ALL.map(Self::Other));
        let known: Vec<_> = known.map(|client| (client.name(), client)).collect();
        named(text, "client that can make a load", &known)
    }
}

impl FromStr for IfMissing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Skip, Self::Fail].map(|what| (what.name(), what));
        named(text, "way to go on without a server", &known)
    }
}

impl IfMissing {
    /// The name in study files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Fail => "fail",
        }
    }
}

impl fmt::Display for IfMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 5] = [
        Self::Rate,
        Self::Goodput,
        Self::RatePerServerCpu,
        Self::GoodputPerServerCpu,
        Self::TlsTax,
    ];

    /// Whether it is about the bytes of bodies.
    #[must_use]
    pub fn is_of_bodies(self) -> bool {
        match self {
            Self::Rate | Self::RatePerServerCpu => false,
            Self::Goodput | Self::GoodputPerServerCpu | Self::TlsTax => true,
        }
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(text, "metric", &Self::ALL.map(|metric| (metric.name(), metric)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_written_in_the_largest_whole_unit() {
        for text in ["0s", "1ns", "1500us", "600ms", "10s", "7200s"] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        assert_eq!("2min".parse::<Time>().unwrap().to_string(), "120s");
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(metric));
        }
        for server in ServerName::ALL {
            assert_eq!(server.name().parse(), Ok(server));
        }
        for client in Peer::ALL.map(LoadClient::Other).into_iter().chain([LoadClient::Toll]) {
            assert_eq!(client.name().parse(), Ok(client));
        }
        for what in [IfMissing::Skip, IfMissing::Fail] {
            assert_eq!(what.name().parse(), Ok(what));
        }
    }

    #[test]
    fn a_mistyped_name_is_suggested() {
        assert_eq!(
            "ngnix".parse::<ServerName>().unwrap_err(),
            "`ngnix` is no server that a study can measure; did you mean nginx?"
        );
        assert_eq!(
            "latency".parse::<Metric>().unwrap_err(),
            "`latency` is no metric; write one of: rate, goodput, rate-per-server-cpu, \
             goodput-per-server-cpu, tls-tax"
        );
        let message = "1.4".parse::<Secured<Version>>().unwrap_err();
        assert!(message.ends_with("write 1.2 or 1.3, or none for plain HTTP"), "{message}");
    }

    proptest! {
        #[test]
        fn a_time_is_read_back_exactly(nanos: u64) {
            let text = Time(Nanos(nanos)).to_string();
            prop_assert_eq!(text.parse::<Time>().unwrap().0, Nanos(nanos));
        }
    }
}

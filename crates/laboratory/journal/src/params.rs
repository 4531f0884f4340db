//! The parameters of a row: what tells it from the others of its case, each value parsed once.

use std::collections::BTreeMap;

use cpus::CpuList;
use keys::full;
use load::{Mix, Operation};
use primitives::Algorithm;
use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};
use serde_with::SerializeDisplay;
use targets::TlsLibrary;
use tls::{CertificateKey, Group, SendMode, Suite};
use units::Bytes;

use crate::primitive::{ALGORITHM, LIBRARY, SIZE};

/// Keys with their values. They are written as a study file writes them.
#[derive(
    Debug,
    Clone,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    derive_more::Deref,
    derive_more::DerefMut
)]
#[serde(from = "BTreeMap<String, String>")]
pub struct Params(BTreeMap<String, Param>);

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, derive_more::Display)]
pub enum Param {
    /// Of `load.suite` and `load.tls`: plain HTTP.
    #[display("none")]
    Plain,
    Suite(&'static Suite),
    CertificateKey(CertificateKey),
    Group(Group),
    Object(Mix),
    /// Connections, cores, files and what else is counted.
    Count(u64),
    Cpus(CpuList),
    Library(TlsLibrary),
    Send(SendMode),
    Size(Bytes),
    Operation(Operation),
    Flag(bool),
    Algorithm(Algorithm),
    /// What has no type of its own, or a value that this toll does not know.
    Text(String),
}

impl Param {
    /// The value of this key that a text says.
    pub fn of(key: &str, text: &str) -> Self {
        let count = || text.parse().ok().map(Self::Count);
        let typed = match (key, full::name(key)) {
            (ALGORITHM, _) => text.parse().ok().map(Self::Algorithm),
            // The name of a library of algorithms, or its path.
            (LIBRARY, _) => None,
            (SIZE, _) => text.parse().ok().map(Self::Size),
            (_, "suite" | "tls") if text == "none" => Some(Self::Plain),
            (_, "suite") => Suite::parse(text).ok().map(Self::Suite),
            (_, "certificate-key" | "client-certificate-key") => {
                text.parse().ok().map(Self::CertificateKey)
            }
            (_, "group") => text.parse().ok().map(Self::Group),
            (_, "object") => text.parse().ok().map(Self::Object),
            (_, "operation") => operation(text).map(Self::Operation),
            (_, "library") => text.parse().ok().map(Self::Library),
            (_, "send") => text.parse().ok().map(Self::Send),
            (_, "record-size") => text.parse().ok().map(Self::Size),
            (_, "cpus") => text.parse().ok().map(Self::Cpus),
            (_, "connections" | "streams" | "cores" | "threads-per-core") => count(),
            (_, "accelerator-count" | "files" | "names") => count(),
            _ => text.parse().ok().map(Self::Flag),
        };
        typed.unwrap_or_else(|| Self::Text(text.to_owned()))
    }
}

fn operation(text: &str) -> Option<Operation> {
    let text: StrDeserializer<'_, serde::de::value::Error> = text.into_deserializer();
    Operation::deserialize(text).ok()
}

impl Param {
    /// What it counts; `None` where it is no count.
    pub fn count(&self) -> Option<u64> {
        if let Self::Count(count) = self { Some(*count) } else { None }
    }

    /// The size that it is of; `None` where it is of none or of several.
    pub fn only_size(&self) -> Option<Bytes> {
        match self {
            Self::Size(size) => Some(*size),
            Self::Object(mix) => match mix.sizes()?[..] {
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        }
    }
}

/// As they are written.
impl Ord for Param {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for Param {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Params {
    /// Whether `others` have all of these.
    pub fn is_part_of(&self, others: &Self) -> bool {
        self.iter().all(|(key, value)| others.get(key) == Some(value))
    }

    /// All but these keys.
    #[must_use]
    pub fn without<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Self {
        let mut others = self.clone();
        keys.into_iter().for_each(|key| drop(others.remove(key)));
        others
    }

    /// Gives a key the value that a text says.
    pub fn set(&mut self, key: &str, text: &str) {
        self.insert(key.to_owned(), Param::of(key, text));
    }
}

impl FromIterator<(String, Param)> for Params {
    fn from_iter<I: IntoIterator<Item = (String, Param)>>(params: I) -> Self {
        Self(params.into_iter().collect())
    }
}

impl From<BTreeMap<String, String>> for Params {
    fn from(written: BTreeMap<String, String>) -> Self {
        let typed = |(key, text): (String, String)| {
            let value = Param::of(&key, &text);
            (key, value)
        };
        Self(written.into_iter().map(typed).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_written() {
        for (key, text, is_typed) in [
            ("load.suite", "TLS_AES_128_GCM_SHA256", true),
            ("load.suite", "none", true),
            ("load.suite", "TLS_NEW", false),
            ("load.tls", "1.3", false),
            ("target.certificate-key", "ecdsa:p256", true),
            ("load.group", "x25519", true),
            ("target.object", "1KiB 90%, 1MiB 10%", true),
            ("load.connections", "5000", true),
            ("load.cpus", "0,2-5", true),
            ("target.library", "openssl-built", true),
            ("target.send", "ktls-sendfile", true),
            ("target.record-size", "4KiB", true),
            ("load.operation", "handshakes", true),
            ("target.tickets", "false", true),
            ("algorithm", "RSA-2048 sign", true),
            ("library", "openssl", false),
            ("size", "16KiB", true),
        ] {
            let value = Param::of(key, text);
            assert_eq!(value.to_string(), text, "{key}");
            assert_eq!(!matches!(value, Param::Text(_)), is_typed, "{key} = {text}");
        }
    }
}

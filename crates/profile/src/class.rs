//! The classes of work.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter};

/// What a CPU was doing.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Class {
    AsymmetricCrypto,
    SymmetricCrypto,
    Hashing,
    /// In a crypto library whose symbols are stripped: one of the three above, or the library's own
    /// work.
    CryptoWithoutSymbols,
    TlsLibrary,
    HttpServer,
    SystemCallEntry,
    Copies,
    TcpIp,
    SoftirqAndDriver,
    /// The client's half of TCP/IP, which the sender's CPU runs where both are on loopback.
    Loopback,
    PageCache,
    MemoryManagement,
    Scheduler,
    Idle,
    Other,
}

impl Class {
    /// `TCP/IP`, `page cache and file system`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::AsymmetricCrypto => "asymmetric crypto",
            Self::SymmetricCrypto => "symmetric crypto",
            Self::Hashing => "hashing",
            Self::CryptoWithoutSymbols => "crypto library, no symbols",
            Self::TlsLibrary => "TLS library",
            Self::HttpServer => "HTTP server",
            Self::SystemCallEntry => "system-call entry",
            Self::Copies => "copies",
            Self::TcpIp => "TCP/IP",
            Self::SoftirqAndDriver => "softirq and driver",
            Self::Loopback => "the client's TCP/IP, by loopback",
            Self::PageCache => "page cache and file system",
            Self::MemoryManagement => "memory management",
            Self::Scheduler => "scheduler",
            Self::Idle => "idle",
            Self::Other => "other",
        }
    }
}

//! The classes of work.

use serde::{Deserialize, Serialize};

/// What a CPU was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 16] = [
        Self::AsymmetricCrypto,
        Self::SymmetricCrypto,
        Self::Hashing,
        Self::CryptoWithoutSymbols,
        Self::TlsLibrary,
        Self::HttpServer,
        Self::SystemCallEntry,
        Self::Copies,
        Self::TcpIp,
        Self::SoftirqAndDriver,
        Self::Loopback,
        Self::PageCache,
        Self::MemoryManagement,
        Self::Scheduler,
        Self::Idle,
        Self::Other,
    ];

    /// Whether it is cryptography, in whichever library.
    pub fn is_crypto(self) -> bool {
        matches!(
            self,
            Self::AsymmetricCrypto
                | Self::SymmetricCrypto
                | Self::Hashing
                | Self::CryptoWithoutSymbols
        )
    }

    /// `TCP/IP`, `page cache and file system`.
    pub fn words(self) -> &'static str {
        match self {
            Self::AsymmetricCrypto => "asymmetric crypto",
            Self::SymmetricCrypto => "symmetric crypto",
            Self::Hashing => "hashing",
            Self::CryptoWithoutSymbols => "crypto library (no symbols)",
            Self::TlsLibrary => "TLS library",
            Self::HttpServer => "HTTP server",
            Self::SystemCallEntry => "system-call entry",
            Self::Copies => "copies",
            Self::TcpIp => "TCP/IP",
            Self::SoftirqAndDriver => "softirq and driver",
            Self::Loopback => "the client's TCP/IP (loopback)",
            Self::PageCache => "page cache and file system",
            Self::MemoryManagement => "memory management",
            Self::Scheduler => "scheduler",
            Self::Idle => "idle",
            Self::Other => "other",
        }
    }
}

//! The TLS clients of a load thread.

use wire::handshake::{Client, QuicClient};

/// By the numbers of names, one where there is no list of those.
pub(crate) enum Clients {
    /// Over plain HTTP there are none.
    Plain,
    Tcp(Vec<Box<dyn Client>>),
    Quic(Vec<QuicClient>),
}

impl Clients {
    pub(crate) fn tcp(&self) -> &[Box<dyn Client>] {
        match self {
            Self::Tcp(clients) => clients,
            Self::Plain | Self::Quic(_) => &[],
        }
    }

    pub(crate) fn quic(&self) -> Option<&[QuicClient]> {
        match self {
            Self::Quic(clients) => Some(clients),
            Self::Plain | Self::Tcp(_) => None,
        }
    }

    /// Whether handshakes are full from now on, and their tickets and sessions kept for later ones.
    pub(crate) fn collect(&self, is_collecting: bool) {
        match self {
            Self::Plain => {}
            Self::Tcp(clients) => clients.iter().for_each(|client| client.collect(is_collecting)),
            Self::Quic(clients) => clients.iter().for_each(|client| client.collect(is_collecting)),
        }
    }
}

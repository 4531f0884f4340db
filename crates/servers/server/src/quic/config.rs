//! What QUIC connections may do, in their transport parameters and beyond them.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use rustix::process::Resource;
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::{CipherSuite, ProtocolVersion};
use tls::Stack;

use crate::answer::MAX_STREAMS;
use crate::error::ServerError;
use crate::settings::Settings;

/// The largest datagram that is sent, without the headers of IPv6 and UDP: what Ethernet carries. A client that takes
/// less says so (`max_udp_payload_size`). Larger ones are not looked for: a figure is to be that of one size. Where a
/// path carries less, quinn-proto falls back to 1,200 for the connection (RFC 8899, section 4.3); others begin anew, since
/// chance losses must not change what all of them send.
const LARGEST_DATAGRAM: u16 = 1_452;

/// What a client may send on a stream before it is read, as over HTTP/2.
const STREAM_WINDOW: u32 = 64 << 10;

/// The same for all streams. In HTTP/2 heads do not count; here they do.
const CONNECTION_WINDOW: u32 = MAX_STREAMS << 10;

/// What is kept until the client has acknowledged it: as much as the kernel keeps for a TCP connection by default
/// (the largest of net.ipv4.tcp_wmem).
const SEND_WINDOW: u64 = 4 << 20;

/// How many requests a client may have open at once at first. quinn-proto makes a place for each when a connection
/// begins, which for [`MAX_STREAMS`] takes a sixth of the CPU time of a handshake; a client that uses half of them is
/// allowed more.
pub(super) const FIRST_STREAMS: u32 = 128;

/// Streams of a client that carry no requests: it needs three, and may open some of other kinds.
const UNIDIRECTIONAL_STREAMS: u32 = 16;

/// What the endpoints of all threads begin with.
#[derive(Clone)]
pub(crate) struct QuicSettings {
    pub(super) server: Arc<ServerConfig>,
    /// Whether many datagrams are sent at once.
    pub(super) gso: bool,
    /// Of an endpoint; more are refused.
    pub(super) most_connections: usize,
}

impl QuicSettings {
    /// The same certificates, suites, groups and tickets as over TCP.
    pub(crate) fn new(
        settings: &Settings,
        tcp: &rustls::ServerConfig,
    ) -> Result<Self, ServerError> {
        let suites = &tcp.crypto_provider().cipher_suites;
        let has_tls13 =
            suites.iter().any(|suite| suite.version().version == ProtocolVersion::TLSv1_3);
        if !has_tls13
            || !settings.versions.is_empty() && !settings.versions.contains(&tls::Version::Tls13)
        {
            return Err(ServerError::QuicVersion);
        }
        let mut tls = tcp.clone();
        tls.alpn_protocols = vec![http3::ALPN.to_vec()];
        // The first packets are protected with this suite, whichever is offered (RFC 9001, section 5).
        let all = match settings.library {
            Stack::RustlsAwsLc => aws_lc_rs::default_provider(),
            _ => ring::default_provider(),
        };
        let initial = initial_suite(&all).ok_or(ServerError::QuicVersion)?;
        let tls = QuicServerConfig::with_initial(Arc::new(tls), initial)
            .map_err(|_| ServerError::QuicVersion)?;
        let mut server = ServerConfig::with_crypto(Arc::new(tls));
        server.transport_config(Arc::new(transport(settings))).migration(false);
        // As over TCP, where each of the process's connections has a descriptor.
        let most = rustix::process::getrlimit(Resource::Nofile).current;
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        Ok(Self {
            server: Arc::new(server),
            gso: settings.gso,
            most_connections: most.div_ceil(settings.cpus.len().max(1)),
        })
    }

    /// The settings of an endpoint. Each has keys of its own: it must not reset the connections of another one.
    pub(super) fn endpoint() -> EndpointConfig {
        EndpointConfig::default()
    }
}

fn initial_suite(provider: &CryptoProvider) -> Option<rustls::quic::Suite> {
    let is_it = |suite: &&rustls::SupportedCipherSuite| {
        suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256
    };
    provider.cipher_suites.iter().find(is_it)?.tls13()?.quic_suite()
}

fn transport(settings: &Settings) -> TransportConfig {
    // QUIC counts in milliseconds; as much as that has room for is no limit.
    let timeout = settings.timeout.max(Duration::from_millis(1));
    let timeout = IdleTimeout::try_from(timeout).unwrap_or_else(|_| VarInt::MAX.into());
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(FIRST_STREAMS.into())
        .max_concurrent_uni_streams(UNIDIRECTIONAL_STREAMS.into())
        .max_idle_timeout(Some(timeout))
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(CONNECTION_WINDOW.into())
        .send_window(SEND_WINDOW)
        .initial_mtu(LARGEST_DATAGRAM)
        .mtu_discovery_config(None)
        .datagram_receive_buffer_size(None)
        .enable_segmentation_offload(settings.gso);
    transport
}

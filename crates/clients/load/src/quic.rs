//! What the QUIC connections of a load thread share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use datagrams::Inbox;
use http3::{Breach, ErrorCode, Fields, ResponseHead, frame, qpack};
use quinn_proto::congestion::CubicConfig;
use quinn_proto::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, Endpoint, EndpointConfig,
    NoneTokenStore, TransportConfig, VarInt,
};
use wire::handshake::QuicClient;
use wire::{ErrorKind, Failure};

use crate::Job;
use crate::requests::Requests;

/// What a server may send before it is read: more than any response, so that the client never holds it up.
const WINDOW: u32 = 1 << 30;

/// How many receives one call gives.
const RECEIVES: usize = 4;

/// Streams of a server that carry no responses: it needs three, and may open some of other kinds.
const UNIDIRECTIONAL_STREAMS: u32 = 16;

/// What each path has to carry (RFC 9000, section 14), in bytes of UDP payload.
const LEAST_PAYLOAD: u16 = 1_200;

/// See the module.
pub(crate) struct Quic {
    pub(crate) endpoint: Endpoint,
    /// By the numbers of names.
    clients: Vec<ClientConfig>,
    /// What connections begin with from now on, once one has found that the path does not carry the first datagrams.
    shorter: Option<Arc<TransportConfig>>,
    pub(crate) inbox: Inbox,
    /// Where datagrams are put together.
    pub(crate) outbox: Vec<u8>,
    /// What requests begin with, by their objects and names, and the one that was asked for last.
    heads: HashMap<(usize, usize), RequestHead>,
    last: Option<((usize, usize), RequestHead)>,
    /// What each request ends with.
    pub(crate) body: Bytes,
    pub(crate) response_heads: ResponseHeads,
    base: Instant,
}

/// A request up to its body.
#[derive(Clone)]
pub(crate) struct RequestHead {
    pub(crate) bytes: Bytes,
    /// The bytes of names and values, and of the frame that carries them.
    pub(crate) fields: u64,
    pub(crate) frame: u64,
}

/// Decodes the heads of responses. Those that repeat are decoded once: without a dynamic table the same bytes mean the
/// same.
#[derive(Default)]
pub(crate) struct ResponseHeads {
    section: Vec<u8>,
    fields: Fields,
    head: ResponseHead,
}

impl ResponseHeads {
    /// What a field section says, and its fields.
    pub(crate) fn read(&mut self, section: &[u8]) -> Result<(ResponseHead, &Fields), Breach> {
        if self.section != section || section.is_empty() {
            self.section.clear();
            qpack::decode(section, &mut self.fields)?;
            let malformed = |what| Breach::new(ErrorCode::MessageError, what);
            self.head = ResponseHead::of(self.fields.iter()).map_err(malformed)?;
            self.section.extend_from_slice(section);
        }
        Ok((self.head, &self.fields))
    }
}

impl Quic {
    pub(crate) fn new(job: &Job, clients: &[QuicClient], body: &[u8], base: Instant) -> Self {
        let most = job.plan.max_udp_payload();
        let mut endpoint = EndpointConfig::default();
        // Cannot fail: a plan has at least 1200.
        let _ = endpoint.max_udp_payload_size(most);
        let transport = Arc::new(transport(most));
        let client = |client: &QuicClient| {
            let mut config = ClientConfig::new(client.config());
            // Each connection is one of a new visitor, whose address a server may want to be proven.
            config.transport_config(transport.clone()).token_store(Arc::new(NoneTokenStore));
            config
        };
        Self {
            endpoint: Endpoint::new(Arc::new(endpoint), None, false, None),
            clients: clients.iter().map(client).collect(),
            shorter: None,
            inbox: Inbox::new(RECEIVES),
            outbox: Vec::new(),
            heads: HashMap::new(),
            last: None,
            body: Bytes::copy_from_slice(body),
            response_heads: ResponseHeads::default(),
            base,
        }
    }

    /// A time of the load, in ns since its start.
    pub(crate) fn instant(&self, now: u64) -> Instant {
        self.base + Duration::from_nanos(now)
    }

    /// The same the other way round.
    pub(crate) fn time(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.base).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Begins a connection with the name of this number.
    pub(crate) fn connect(
        &mut self,
        job: &Job,
        name: usize,
        now: u64,
    ) -> Result<(ConnectionHandle, Connection), Failure> {
        let now = self.instant(now);
        let mut config = self.clients[name].clone();
        if let Some(shorter) = &self.shorter {
            config.transport_config(shorter.clone());
        }
        let begun = self.endpoint.connect(now, config, job.address, job.url.host());
        begun.map_err(|error: ConnectError| Failure::new(ErrorKind::Quic, error.to_string()))
    }

    /// A connection has found that the path carries only datagrams of the least length: others need not.
    pub(crate) fn has_shorter_path(&mut self) {
        self.shorter.get_or_insert_with(|| Arc::new(transport(LEAST_PAYLOAD)));
    }

    /// What the request for an object begins with, on a connection with the name of this number.
    pub(crate) fn head(&mut self, requests: &Requests, object: usize, name: usize) -> RequestHead {
        let key = (object, name);
        if let Some((_, head)) = self.last.as_ref().filter(|(last, _)| *last == key) {
            return head.clone();
        }
        let body = self.body.len() as u64;
        let made = self.heads.entry(key).or_insert_with(|| {
            let fields = requests.fields(object, name);
            let (mut section, mut bytes) = (Vec::new(), Vec::new());
            qpack::encode(fields.iter(), &mut section);
            frame::put_headers(&mut bytes, &section);
            let frame = bytes.len() as u64;
            if body > 0 {
                frame::put_data_head(&mut bytes, body);
            }
            RequestHead { bytes: bytes.into(), fields: fields.length(), frame }
        });
        let head = made.clone();
        self.last = Some((key, head.clone()));
        head
    }
}

/// The client's transport parameters, and what it does by itself.
fn transport(most: u16) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        // A server opens none for requests (RFC 9114, section 6.1).
        .max_concurrent_bidi_streams(0_u32.into())
        .max_concurrent_uni_streams(UNIDIRECTIONAL_STREAMS.into())
        // A load has time limits of its own; the server's idle timeout counts.
        .max_idle_timeout(None)
        .stream_receive_window(WINDOW.into())
        .receive_window(VarInt::MAX)
        // All datagrams are as long as was asked for, or as the path carries: figures are to be those of one size.
        // quinn-proto falls back to its least where only the longer ones are lost (RFC 8899, section 4.3).
        .initial_mtu(most)
        .mtu_discovery_config(None)
        .datagram_receive_buffer_size(None)
        .congestion_controller_factory(Arc::new(CubicConfig::default()));
    transport
}

//! A server of QUIC that does what a test says: quinn-proto keeps the rules of the transport, and the test those of
//! HTTP/3, or not.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, ConnectionStats, DatagramEvent, Dir, Endpoint, EndpointConfig,
    Event, RandomConnectionIdGenerator, ServerConfig, StreamEvent, StreamId, TransportConfig,
    VarInt,
};

use super::config;
use super::running::Running;

/// How a server is to be, beyond what it says on streams.
pub struct Settings {
    pub transport: TransportConfig,
    pub tls: Arc<rustls::ServerConfig>,
    pub protocol: &'static [u8],
    /// Whether clients prove their address first.
    pub retries: bool,
    /// Where it asks clients to go after the handshake (RFC 9000, section 9.6).
    pub preferred_address: Option<SocketAddrV4>,
}

impl Default for Settings {
    fn default() -> Self {
        let mut transport = TransportConfig::default();
        transport.mtu_discovery_config(None).initial_mtu(1_452);
        Self { transport, tls: config(), protocol: b"h3", retries: false, preferred_address: None }
    }
}

/// What has happened on a connection.
pub enum Happened {
    Connected,
    /// A request has begun to come.
    Opened(StreamId),
    /// It has come whole.
    Asked(StreamId),
}

/// A connection, for the script to act on.
pub struct Peer<'c> {
    pub connection: &'c mut Connection,
    /// Where it is set, nothing more is sent or received: the server is dead.
    pub is_dead: &'c mut bool,
    /// Where it is set, the server forgets all that it knows of its connections.
    pub forgets: &'c mut bool,
}

impl Peer<'_> {
    /// Sends these bytes, which are no more than a window, and the stream's end.
    pub fn answer(&mut self, id: StreamId, bytes: &[u8]) {
        self.say(id, bytes);
        self.connection.send_stream(id).finish().unwrap();
    }

    pub fn say(&mut self, id: StreamId, bytes: &[u8]) {
        let sent = self.connection.send_stream(id).write(bytes).unwrap();
        assert_eq!(sent, bytes.len(), "the client's window is too small");
    }

    /// Opens a stream of the server with these bytes.
    pub fn open(&mut self, bytes: &[u8]) -> StreamId {
        let id = self.connection.streams().open(Dir::Uni).unwrap();
        self.say(id, bytes);
        id
    }

    pub fn reset(&mut self, id: StreamId, code: u32) {
        self.connection.send_stream(id).reset(VarInt::from_u32(code)).unwrap();
    }

    pub fn close(&mut self, code: u32) {
        self.connection.close(Instant::now(), VarInt::from_u32(code), Bytes::new());
    }
}

/// It runs until it is dropped.
pub struct QuicServer {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    stats: Arc<Mutex<ConnectionStats>>,
    _running: Running,
}

impl QuicServer {
    pub fn start(
        settings: Settings,
        script: impl FnMut(&mut Peer<'_>, Happened) + Send + 'static,
    ) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let stats = Arc::new(Mutex::default());
        let counts = (Arc::clone(&connections), Arc::clone(&stats));
        let running = Running::start(move |is_over| {
            serve(&socket, settings, script, (&*counts.0, &*counts.1), is_over);
        });
        Self { address, connections, stats, _running: running }
    }

    /// How many connections it has had.
    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    /// What quinn-proto counts of its last connection: all but the first datagram that came.
    pub fn stats(&self) -> ConnectionStats {
        *self.stats.lock().unwrap()
    }
}

fn serve(
    socket: &UdpSocket,
    settings: Settings,
    mut script: impl FnMut(&mut Peer<'_>, Happened),
    (connections, stats): (&AtomicUsize, &Mutex<ConnectionStats>),
    is_over: &AtomicBool,
) {
    socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let mut tls = (*settings.tls).clone();
    tls.alpn_protocols = vec![settings.protocol.to_vec()];
    let tls = QuicServerConfig::try_from(Arc::new(tls)).unwrap();
    let mut server = ServerConfig::with_crypto(Arc::new(tls));
    server.transport_config(Arc::new(settings.transport));
    server.preferred_address_v4(settings.preferred_address);
    let server = Arc::new(server);
    let mut of_endpoint = EndpointConfig::default();
    // What it has forgotten it takes for its own all the same.
    of_endpoint.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(8)));
    let of_endpoint = Arc::new(of_endpoint);
    let endpoint = || Endpoint::new(of_endpoint.clone(), Some(server.clone()), false, None);
    let mut quic = endpoint();
    let mut open: HashMap<ConnectionHandle, Connection> = HashMap::new();
    let (mut is_dead, mut forgets) = (false, false);
    let (mut bytes, mut out) = (vec![0; 65_535], Vec::new());
    while !is_over.load(SeqCst) {
        let received = socket.recv_from(&mut bytes);
        if is_dead {
            continue;
        }
        if let Ok((length, from)) = received {
            out.clear();
            let datagram = BytesMut::from(&bytes[..length]);
            match quic.handle(Instant::now(), from, None, None, datagram, &mut out) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    out.clear();
                    if settings.retries && !incoming.remote_address_validated() {
                        let retry = quic.retry(incoming, &mut out).unwrap();
                        socket.send_to(&out[..retry.size], from).unwrap();
                    } else {
                        let accepted = quic.accept(incoming, Instant::now(), &mut out, None);
                        let (handle, connection) = match accepted {
                            Ok(accepted) => accepted,
                            Err(refused) => {
                                if let Some(answer) = refused.response {
                                    socket.send_to(&out[..answer.size], from).unwrap();
                                }
                                continue;
                            }
                        };
                        connections.fetch_add(1, SeqCst);
                        open.insert(handle, connection);
                    }
                }
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(connection) = open.get_mut(&handle) {
                        connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::Response(answer)) => {
                    let _ = socket.send_to(&out[..answer.size], from);
                }
                None => {}
            }
        }
        for (handle, connection) in &mut open {
            let now = Instant::now();
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
            }
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = quic.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            let happened = happened(connection);
            let (is_dead, forgets) = (&mut is_dead, &mut forgets);
            let mut peer = Peer { connection, is_dead, forgets };
            happened.into_iter().for_each(|happened| script(&mut peer, happened));
            loop {
                out.clear();
                let Some(transmit) = connection.poll_transmit(now, 1, &mut out) else { break };
                if !*is_dead {
                    let _ = socket.send_to(&out[..transmit.size], transmit.destination);
                }
            }
            *stats.lock().unwrap() = connection.stats();
        }
        if std::mem::take(&mut forgets) {
            (quic, open) = (endpoint(), HashMap::new());
        }
    }
}

/// Reads what has come on a connection, and throws it away.
fn happened(connection: &mut Connection) -> Vec<Happened> {
    let mut happened = Vec::new();
    let mut readable = Vec::new();
    while let Some(event) = connection.poll() {
        match event {
            Event::Connected => happened.push(Happened::Connected),
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(id) = connection.streams().accept(dir) {
                    readable.push(id);
                    if dir == Dir::Bi {
                        happened.push(Happened::Opened(id));
                    }
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => readable.push(id),
            _ => {}
        }
    }
    for id in readable {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { continue };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(_)) => {}
                Ok(None) if id.dir() == Dir::Bi => {
                    happened.push(Happened::Asked(id));
                    break;
                }
                _ => break,
            }
        }
    }
    happened
}

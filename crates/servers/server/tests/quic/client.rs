//! A client of QUIC that sends any bytes on its streams, and a server for it.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use counters::SendCounters;
use cpus::CpuList;
use http3::{ErrorCode, Fields, Message, MessagePart, ResponseHead, Side, frame, qpack};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, ReadError, StreamEvent, StreamId, TransportConfig,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use server::{CertificateSource, Server, Settings};
use tls::{
    AskClient, CertificateKey, LibraryContext, RecordSize, RecordsPerWrite, SendMode, Stack,
};

/// No test waits longer for anything.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A server that ends with the test.
pub struct Serving {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

pub fn settings() -> Settings {
    Settings {
        listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
        listen_plain: Vec::new(),
        quic: true,
        gso: true,
        congestion: None,
        cpus: CpuList::from(CpuList::allowed().unwrap().as_slice()[0]),
        root: None,
        library: Stack::RustlsRing,
        versions: Vec::new(),
        suites: Vec::new(),
        groups: Vec::new(),
        certificate: CertificateSource::Fresh(CertificateKey::EcdsaP256),
        ask_client: AskClient::None,
        client_authorities: None,
        names: None,
        write_certificate: None,
        tickets: false,
        session_cache: false,
        encrypt_then_mac: false,
        accelerator: None,
        send: SendMode::User,
        counters: None,
        record_size: RecordSize::default(),
        records_per_write: RecordsPerWrite::default(),
        library_context: LibraryContext::default(),
        timeout: Duration::from_secs(30),
    }
}

impl Serving {
    pub fn new(settings: Settings) -> Self {
        let server = Server::bind(settings).unwrap();
        let address = server.tls_addresses()[0];
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread =
            std::thread::spawn(move || server.run(&flag, &|text| panic!("{text}")).unwrap());
        Self { address, stop, thread: Some(thread) }
    }

    /// Asks it to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn wait(&mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

/// Waits until this file counts as many connections, all of them closed; returns what it counts then.
pub fn await_settled(counters: &Path, connections: u64) -> SendCounters {
    let begin = Instant::now();
    loop {
        let (is_settled, counted) = SendCounters::read(counters).unwrap();
        let past = counted.connections.get(&SendMode::User).copied().unwrap_or(0);
        if is_settled && past >= connections {
            return counted;
        }
        assert!(begin.elapsed() < LIMIT, "a connection stays open");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub struct Client {
    pub socket: Arc<UdpSocket>,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    pub quic: Connection,
    pub lost: Option<ConnectionError>,
    /// Streams that the server has ended in its way: stopped or reset, with this code.
    pub stopped: Vec<(StreamId, u64)>,
    /// The largest datagram that came.
    pub largest: usize,
    /// The bytes of all that came.
    pub received: usize,
    /// The longest datagrams that its path carries.
    pub carried: usize,
}

/// A response.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Client {
    /// A connection whose first datagram is not sent yet.
    pub fn begin(server: SocketAddr, max_udp_payload: u16) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.connect(server).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        Self::begin_on(Arc::new(socket), max_udp_payload)
    }

    /// The same on a socket that several share, of which none receives then.
    pub fn begin_on(socket: Arc<UdpSocket>, max_udp_payload: u16) -> Self {
        let server = socket.peer_addr().unwrap();
        let mut tls =
            rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .unwrap()
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate))
                .with_no_client_auth();
        tls.alpn_protocols = vec![http3::ALPN.to_vec()];
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
        let mut transport = TransportConfig::default();
        transport.mtu_discovery_config(None);
        config.transport_config(Arc::new(transport));
        let mut endpoint = EndpointConfig::default();
        endpoint.max_udp_payload_size(max_udp_payload).unwrap();
        let mut endpoint = Endpoint::new(Arc::new(endpoint), None, false, None);
        let (handle, quic) = endpoint.connect(Instant::now(), config, server, "localhost").unwrap();
        Self {
            socket,
            endpoint,
            handle,
            quic,
            lost: None,
            stopped: Vec::new(),
            carried: usize::MAX,
            largest: 0,
            received: 0,
        }
    }

    /// One whose handshake is over.
    pub fn connect(server: SocketAddr) -> Self {
        Self::begin(server, 1_452).established()
    }

    /// The same once its handshake is over.
    pub fn established(mut self) -> Self {
        let client = &mut self;
        client.until(|client| !client.quic.is_handshaking());
        self
    }

    /// The next datagram to send, if one is due.
    pub fn datagram(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let transmit = self.quic.poll_transmit(Instant::now(), 1, &mut bytes)?;
        bytes.truncate(transmit.size);
        Some(bytes)
    }

    /// Sends and receives until something is so.
    pub fn until(&mut self, mut is_so: impl FnMut(&mut Self) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            assert!(begin.elapsed() < LIMIT, "{:?}", self.lost);
            while let Some(datagram) = self.datagram() {
                let _ = self.socket.send(&datagram);
            }
            self.receive();
            let now = Instant::now();
            if self.quic.poll_timeout().is_some_and(|due| due <= now) {
                self.quic.handle_timeout(now);
            }
            while let Some(event) = self.quic.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                    self.quic.handle_event(event);
                }
            }
            while let Some(event) = self.quic.poll() {
                match event {
                    Event::ConnectionLost { reason } => self.lost = Some(reason),
                    Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                        self.stopped.push((id, error_code.into_inner()));
                        let _ = self.quic.send_stream(id).reset(error_code);
                    }
                    _ => {}
                }
            }
        }
    }

    fn receive(&mut self) {
        let mut space = [0; 65_536];
        let Ok(count) = self.socket.recv(&mut space) else { return };
        if count > self.carried {
            return;
        }
        self.largest = self.largest.max(count);
        self.received += count;
        let from = self.socket.peer_addr().unwrap();
        let (datagram, now) = (BytesMut::from(&space[..count]), Instant::now());
        let event = self.endpoint.handle(now, from, None, None, datagram, &mut Vec::new());
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.quic.handle_event(event);
        }
    }

    /// Opens a stream and sends this on it, and ends it or not.
    pub fn send(&mut self, direction: Dir, bytes: &[u8], ends: bool) -> StreamId {
        let id = self.quic.streams().open(direction).unwrap();
        let mut sent = 0;
        self.until(|client| {
            sent += client.quic.send_stream(id).write(&bytes[sent..]).unwrap_or(0);
            sent == bytes.len() || !client.stopped.is_empty() || client.lost.is_some()
        });
        if ends {
            let _ = self.quic.send_stream(id).finish();
        }
        id
    }

    /// The code that the server closes the connection with.
    pub fn closed(&mut self) -> u64 {
        self.until(|client| client.lost.is_some());
        match self.lost.as_ref().unwrap() {
            ConnectionError::ApplicationClosed(close) => close.error_code.into_inner(),
            other => panic!("{other:?}"),
        }
    }

    /// The response on a stream, or the code that the server resets it with.
    pub fn response(&mut self, id: StreamId) -> Result<Response, u64> {
        let (mut message, mut fields) = (Message::new(Side::Server), Fields::default());
        let (mut response, mut outcome) = (Response::default(), None);
        self.until(|client| {
            let mut stream = client.quic.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return true };
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => {
                        let mut bytes = &chunk.bytes[..];
                        while let Some(part) = message.next(&mut bytes).unwrap() {
                            match part {
                                MessagePart::Head(section) => {
                                    qpack::decode(section, &mut fields).unwrap();
                                    let head = ResponseHead::of(fields.iter()).unwrap();
                                    response.status = head.status.unwrap();
                                    response.fields = texts(&fields);
                                }
                                MessagePart::Body(bytes) => response.body.extend_from_slice(bytes),
                                MessagePart::Frame(_) => {}
                                MessagePart::Trailers(_) => panic!("trailers"),
                            }
                        }
                    }
                    Err(ReadError::Blocked) => return false,
                    Err(ReadError::Reset(code)) => {
                        outcome = Some(code.into_inner());
                        return true;
                    }
                    Ok(None) => {
                        message.end().unwrap();
                        return true;
                    }
                }
            }
        });
        outcome.map_or(Ok(response), Err)
    }

    pub fn get(&mut self, path: &str) -> Response {
        let id = self.send(Dir::Bi, &head("GET", path, &[]), true);
        self.response(id).unwrap()
    }
}

impl Drop for Client {
    /// The server would wait for what is not acknowledged.
    fn drop(&mut self) {
        self.quic.close(Instant::now(), 0u32.into(), bytes::Bytes::new());
        while let Some(datagram) = self.datagram() {
            let _ = self.socket.send(&datagram);
        }
    }
}

fn texts(fields: &Fields) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    fields.iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// A HEADERS frame with these fields.
pub fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let (mut section, mut out) = (Vec::new(), Vec::new());
    let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    qpack::encode(fields, &mut section);
    frame::put_headers(&mut out, &section);
    out
}

/// The head of a request.
pub fn head(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let own =
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)];
    headers(&[&own[..], more].concat())
}

/// A DATA frame.
pub fn data(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::put_data_head(&mut out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    out
}

pub fn number(code: ErrorCode) -> u64 {
    code as u64
}

#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = ring::default_provider().signature_verification_algorithms;
        [known.supported_schemes(), vec![SignatureScheme::ML_DSA_87]].concat()
    }
}

//! Handshakes through rustls: those of TLS 1.3 that resume a session or have a fresh key exchange, and the same where
//! the server chooses the version.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::{
    ClientConnectionData, ResolvesClientCert, Resumption, UnbufferedClientConnection,
};
use rustls::kernel::KernelConnection;
use rustls::pki_types::ServerName;
use rustls::sign::CertifiedKey;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{
    ClientConfig, ConnectionTrafficSecrets, HandshakeKind, ProtocolVersion, SignatureScheme,
};
use tls::{Cipher, Suite, Version};

use super::certificates::ServerCertificates;
use super::client_certificate::ClientCertificate;
use super::either::EitherClient;
use super::encoding::{begins_with_record, first_record};
use super::established::{ClientSignature, Established, Negotiated, PostHandshake, Remarks, Side};
use super::offer::{Offer, Sampler};
use super::offer_error::OfferError;
use super::provider::{group, provider, server_name};
use super::refusal::Refusal;
use super::resuming_share::ResumingShare;
use super::rustls_output::{encode, failure};
use super::sessions::Sessions;
use super::tls12::given_session;
use super::tls13::Tls13Client;
use super::under_way::{Client, Handshake};
use super::verifier::{Noted, SamplingVerifier};
use crate::record::{AeadKey, Opener, Protection, Sealer};
use crate::{ErrorKind, Failure};

pub(super) struct RustlsClient {
    /// Never resumes.
    full: Arc<ClientConfig>,
    /// Resumes where it has a ticket or a session, and keeps new ones.
    resuming: Arc<ClientConfig>,
    resuming_share: ResumingShare,
    sessions: Arc<Sessions>,
    pub(super) requests: Arc<CertificateRequests>,
    pub(super) verifier: Arc<SamplingVerifier>,
    name: ServerName<'static>,
    follows_key_updates: bool,
}

/// The client for an offer: toll's own handshake where that is enough, because it costs less;
/// otherwise rustls.
pub(super) fn client(offer: &Offer, signatures: Sampler) -> Result<Box<dyn Client>, OfferError> {
    let client = RustlsClient::new(offer, signatures)?;
    let is_simple = offer.fixed_key_exchange && offer.resumed_percent == 0;
    let own = is_simple.then(|| {
        let RustlsClient { full, verifier, name, .. } = &client;
        Tls13Client::new(full.clone(), name.clone(), verifier.clone(), offer)
    });
    Ok(match (own.flatten(), offer.version()) {
        (Some(own), Some(_)) => Box::new(own),
        (Some(own), None) => {
            let server = ServerCertificates::new(client.verifier, client.name);
            Box::new(EitherClient::new(own, offer, server))
        }
        (None, _) => Box::new(client),
    })
}

impl RustlsClient {
    pub(super) fn new(offer: &Offer, signatures: Sampler) -> Result<Self, OfferError> {
        let name = server_name(offer)?;
        let mut provider = provider(offer);
        if let Some(suite) = offer.suite {
            provider.cipher_suites.retain(|theirs| u16::from(theirs.suite()) == suite.code_point);
        }
        let provider = Arc::new(provider);
        let verifier = SamplingVerifier::new(&offer.trust, provider.clone(), signatures)?;
        let verifier = Arc::new(verifier);
        let requests = Arc::new(CertificateRequests {
            certificate: offer.client_certificate.clone(),
            ..CertificateRequests::default()
        });
        let versions = match offer.version() {
            Some(Version::Tls13) => vec![&rustls::version::TLS13],
            _ => rustls::ALL_VERSIONS.to_vec(),
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| OfferError(format!("rustls: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone())
            .with_client_cert_resolver(requests.clone());
        config.enable_secret_extraction = true;
        config.alpn_protocols = vec![offer.protocol.to_vec()];
        let sessions = Arc::new(Sessions::of(offer));
        config.resumption = Resumption::store(sessions.clone());
        let resuming = Arc::new(config.clone());
        config.resumption = Resumption::disabled();
        let (full, resuming_share) = (Arc::new(config), ResumingShare::of(offer));
        let follows_key_updates = offer.follows_key_updates;
        Ok(Self {
            full,
            resuming,
            resuming_share,
            sessions,
            requests,
            verifier,
            name,
            follows_key_updates,
        })
    }
}

impl RustlsClient {
    /// Begins a connection with the configuration that is due, which says whether it keeps tickets.
    pub(super) fn begin<C>(
        &self,
        connect: impl FnOnce(Arc<ClientConfig>, ServerName<'static>) -> Result<C, rustls::Error>,
    ) -> Result<(C, bool, Remarks), Failure> {
        let keeps_tickets = self.sessions.is_collecting() || self.resuming_share.next();
        let config = if keeps_tickets { &self.resuming } else { &self.full };
        let connection =
            connect(config.clone(), self.name.clone()).map_err(|error| failure(&error))?;
        let offers_session = keeps_tickets && self.sessions.take_offered();
        Ok((connection, keeps_tickets, Remarks { offers_session, ..Remarks::default() }))
    }

    pub(super) fn collect_sessions(&self, is_collecting: bool) {
        self.sessions.collect(is_collecting);
    }
}

impl Client for RustlsClient {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure> {
        let (connection, keeps_tickets, remarks) = self.begin(UnbufferedClientConnection::new)?;
        Ok(Box::new(RustlsHandshake {
            connection: Some(connection),
            begins: false,
            given: 0,
            flight: keeps_tickets.then(Vec::new),
            keeps: Keeps { tickets: keeps_tickets, keys: self.follows_key_updates },
            verifier: self.verifier.clone(),
            noted: None,
            requests: self.requests.clone(),
            signature: None,
            remarks,
        }))
    }

    fn collect(&self, is_collecting: bool) {
        self.collect_sessions(is_collecting);
    }
}

struct RustlsHandshake {
    /// `None` once the handshake has ended.
    connection: Option<UnbufferedClientConnection>,
    /// Whether the server's first record has been taken.
    begins: bool,
    /// How many of the received bytes rustls has seen, and not discarded. It is given one record after the
    /// other, and none after the handshake's end: what comes then, in the same read too, is not for it.
    given: usize,
    /// What the server has sent, which shows whether one of TLS 1.2 gives a session; only where it is to be
    /// kept.
    flight: Option<Vec<u8>>,
    keeps: Keeps,
    verifier: Arc<SamplingVerifier>,
    noted: Option<Noted>,
    requests: Arc<CertificateRequests>,
    signature: Option<ClientSignature>,
    remarks: Remarks,
}

/// Gives the client's certificate to a server that asks for it, and notes that for the handshake that is
/// being advanced.
#[derive(Debug, Default)]
pub(super) struct CertificateRequests {
    certificate: Option<Arc<ClientCertificate>>,
    is_asked: AtomicBool,
    signature: Mutex<Option<ClientSignature>>,
}

impl CertificateRequests {
    /// Whether a certificate was asked for since the last call.
    pub(super) fn take_asked(&self) -> bool {
        self.is_asked.swap(false, Relaxed)
    }

    /// What was signed since the last call.
    pub(super) fn take_signature(&self) -> Option<ClientSignature> {
        self.signature.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ResolvesClientCert for CertificateRequests {
    fn resolve(&self, _: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.is_asked.store(true, Relaxed);
        let certificate = self.certificate.as_ref()?;
        let signature = certificate.signature(schemes)?;
        *self.signature.lock().unwrap_or_else(PoisonError::into_inner) = Some(signature);
        Some(certificate.certified.clone())
    }

    fn has_certs(&self) -> bool {
        self.certificate.is_some()
    }
}

/// What is kept of a handshake for what comes after it.
#[derive(Debug, Clone, Copy)]
struct Keeps {
    /// Tickets, for later handshakes.
    tickets: bool,
    /// Secrets, to follow KeyUpdates.
    keys: bool,
}

impl Handshake for RustlsHandshake {
    fn advance(
        &mut self,
        received: &mut Vec<u8>,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Failure> {
        let Some(connection) = &mut self.connection else { return Err(over()) };
        loop {
            let UnbufferedStatus { discard, state, .. } =
                connection.process_tls_records(&mut received[..self.given]);
            // Other handshakes run on this thread before this one continues.
            self.noted = self.verifier.take().or(self.noted.take());
            if self.requests.take_asked() {
                self.remarks.asks_certificate = true;
                self.signature = self.requests.take_signature();
            }
            let next = match state {
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    encode(|out| data.encode(out), to_send)?;
                    Next::Continue
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    Next::Continue
                }
                Ok(ConnectionState::BlockedHandshake) => Next::Wait,
                Ok(ConnectionState::WriteTraffic(_)) => Next::Finish,
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    return Err(Failure::new(
                        ErrorKind::EarlyClose,
                        "close_notify within the handshake",
                    ));
                }
                Ok(_) => {
                    return Err(Failure::new(
                        ErrorKind::Handshake,
                        "data before the handshake's end",
                    ));
                }
                Err(error) => {
                    let mut failed = match self.begins || begins_with_record(received) {
                        true => failure(&error),
                        false => Refusal::not_tls(received).failure,
                    };
                    if failed.kind == ErrorKind::Alert && self.remarks.asks_certificate {
                        failed.seen += " after it asked for a client certificate";
                    }
                    received.drain(..discard);
                    send_alert(connection, &mut received[..self.given - discard], to_send);
                    return Err(failed);
                }
            };
            received.drain(..discard);
            self.given -= discard;
            self.begins |= discard > 0;
            // A handshake that resumes is only known to have been retried until it does.
            self.remarks.is_retried |=
                connection.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest);
            match next {
                Next::Continue => {}
                Next::Wait => {
                    let Some(record) = first_record(&received[self.given..]) else {
                        return Ok(None);
                    };
                    self.given += record.len();
                    if let Some(flight) = &mut self.flight {
                        flight.extend_from_slice(record);
                    }
                }
                Next::Finish => break,
            }
        }
        let Some(connection) = self.connection.take() else { return Err(over()) };
        let noted = self.noted.take();
        let is_signature_verified = noted.as_ref().is_some_and(|noted| noted.is_signature_verified);
        let certificate = noted.as_ref().and_then(|noted| noted.certificate);
        let remarks = Remarks { is_signature_verified, certificate, ..self.remarks };
        let mut established = established(connection, noted, self.keeps, remarks)?;
        let Negotiated { version, resumed, .. } = established.negotiated;
        let flight = self.flight.take().filter(|_| version == Version::Tls12);
        established.negotiated.client = self.signature;
        established.remarks.given = flight.and_then(|flight| given_session(&flight, resumed));
        Ok(Some(established))
    }
}

enum Next {
    Continue,
    Wait,
    Finish,
}

fn over() -> Failure {
    Failure::new(ErrorKind::Handshake, "the handshake is over")
}

/// After an error rustls has an alert to send; whether it arrives does not matter. rustls needs the
/// received bytes that it has not discarded: it counts how many of them it has read.
fn send_alert(
    connection: &mut UnbufferedClientConnection,
    received: &mut [u8],
    to_send: &mut Vec<u8>,
) {
    if let Ok(ConnectionState::EncodeTlsData(mut data)) =
        connection.process_tls_records(received).state
    {
        let _ = encode(|out| data.encode(out), to_send);
    }
}

fn established(
    connection: UnbufferedClientConnection,
    noted: Option<Noted>,
    keeps: Keeps,
    remarks: Remarks,
) -> Result<Established, Failure> {
    let negotiated = negotiated(&connection, noted.as_ref())?;
    let version = negotiated.version;
    let is_protocol_agreed = connection.alpn_protocol().is_some();

    let (secrets, rest) = connection.dangerous_into_kernel_connection().map_err(|e| failure(&e))?;
    let (receive_sequence, receive) = secrets.rx;
    let (send_sequence, send) = secrets.tx;
    Ok(Established {
        opener: Opener::new(protection(version, receive)?, receive_sequence),
        sealer: Sealer::new(protection(version, send)?, send_sequence),
        negotiated,
        remarks,
        is_protocol_agreed,
        post_handshake: ((keeps.tickets || keeps.keys) && version == Version::Tls13)
            .then(|| Box::new(Kernel { rest, keeps }) as Box<dyn PostHandshake>),
    })
}

/// What rustls has negotiated.
pub(super) fn negotiated(
    connection: &rustls::CommonState,
    noted: Option<&Noted>,
) -> Result<Negotiated, Failure> {
    let unknown = |what: &str| {
        Failure::new(ErrorKind::Handshake, format!("{what} that toll has no name for"))
    };
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => Version::Tls12,
        Some(ProtocolVersion::TLSv1_3) => Version::Tls13,
        _ => return Err(unknown("a version")),
    };
    let suite = connection
        .negotiated_cipher_suite()
        .and_then(|suite| Suite::by_code_point(suite.suite().into()))
        .ok_or_else(|| unknown("a suite"))?;
    Ok(Negotiated {
        version,
        suite,
        group: connection.negotiated_key_exchange_group().and_then(|kx| group(kx.name())),
        signature_scheme: noted.map(|noted| noted.scheme),
        certificate_key: noted.and_then(|noted| noted.key),
        encrypt_then_mac: false,
        resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        client: None,
    })
}

/// What rustls needs to make sessions of tickets and keys of KeyUpdates, once the keys are out.
struct Kernel {
    rest: KernelConnection<ClientConnectionData>,
    keeps: Keeps,
}

impl PostHandshake for Kernel {
    fn take_ticket(&mut self, ticket: &[u8]) -> Result<(), Failure> {
        if !self.keeps.tickets {
            return Ok(());
        }
        self.rest.handle_new_session_ticket(ticket).map_err(|error| failure(&error))
    }

    fn next_protection(&mut self, side: Side) -> Option<Protection> {
        if !self.keeps.keys {
            return None;
        }
        let (_, secrets) = match side {
            Side::Client => self.rest.update_tx_secret(),
            Side::Server => self.rest.update_rx_secret(),
        }
        .ok()?;
        protection(Version::Tls13, secrets).ok()
    }
}

fn protection(version: Version, secrets: ConnectionTrafficSecrets) -> Result<Protection, Failure> {
    let (cipher, key, iv) = match &secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (Cipher::Aes128Gcm, key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (Cipher::Aes256Gcm, key, iv),
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            (Cipher::ChaCha20Poly1305, key, iv)
        }
        _ => return Err(Failure::new(ErrorKind::Handshake, "traffic keys of an unknown kind")),
    };
    let iv: Option<[u8; 12]> = iv.as_ref().try_into().ok();
    let aead = iv
        .and_then(|iv| AeadKey::new(cipher, key.as_ref(), &iv))
        .ok_or_else(|| Failure::new(ErrorKind::Handshake, "traffic keys of a wrong length"))?;
    Ok(match (version, cipher) {
        (Version::Tls13, _) => Protection::Tls13(aead),
        (Version::Tls12, Cipher::ChaCha20Poly1305) => Protection::Tls12ChaCha20(aead),
        (Version::Tls12, _) => Protection::Tls12Gcm(aead),
    })
}

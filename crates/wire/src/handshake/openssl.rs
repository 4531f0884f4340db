//! Handshakes through OpenSSL: the CBC and static-RSA suites of TLS 1.2, which rustls leaves out.
//!
//! OpenSSL does the handshake over buffers in memory. Then the traffic keys are derived from its
//! master secret and randoms (RFC 5246, section 6.3), and OpenSSL's connection is dropped. Full
//! handshakes of static RSA with a fixed key exchange are toll's own (see `static_rsa`).
//!
//! Where sessions are to be resumed, the last one is kept, with its ticket (RFC 5077) if the server
//! sent one, else with its identifier (RFC 5246, section 7.3).

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openssl::error::ErrorStack;
use openssl::ssl::{
    ErrorCode, ShutdownState, Ssl, SslContext, SslMethod, SslOptions, SslSession,
    SslSessionCacheMode, SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::X509VerifyFlags;
use openssl::x509::{X509, X509VerifyResult};
use tls::{CertificateKey, Group, Suite, Version};

use super::encoding::begins_with_record;
use super::refusal::Refusal;
use super::resuming_share::ResumingShare;
use super::server_flight::Sniffer;
use super::static_rsa::StaticRsaClient;
use super::{
    Client, Established, Handshake, Negotiated, Offer, OfferError, Remarks, Trust, alert_name,
};
use crate::record::{HEADER, Opener, Sealer, tls12_keys};
use crate::{ErrorKind, Failure};

pub(super) struct OpenSslClient {
    /// Does full handshakes where the key exchange is fixed.
    fixed: Option<StaticRsaClient>,
    /// Never resumes.
    full: SslContext,
    resuming: SslContext,
    resuming_share: ResumingShare,
    /// The newest session of `resuming`.
    session: Arc<Mutex<Kept>>,
    /// The certificate that was seen last.
    seen: Arc<Mutex<Seen>>,
    host: String,
    is_anyone_trusted: bool,
}

impl OpenSslClient {
    pub(super) fn new(offer: &Offer) -> Result<Self, OfferError> {
        let Offer { trust, host, .. } = offer;
        let suite = offer
            .suite
            .ok_or_else(|| OfferError("OpenSSL's client needs a suite; give --suite".into()))?;
        let roots = match trust {
            Trust::File(path) => read_certificates(path)?,
            Trust::System | Trust::Anyone => Vec::new(),
        };
        let context = |resumes| {
            context(offer, suite, &roots, resumes).map_err(|error| {
                OfferError(format!(
                    "OpenSSL here cannot offer {suite}: {error}; ask for another suite"
                ))
            })
        };
        let mut client = Self {
            fixed: None,
            full: context(false)?,
            resuming: context(true)?,
            resuming_share: ResumingShare::new(offer.resumed_percent),
            session: Arc::default(),
            seen: Arc::default(),
            host: host.to_owned(),
            is_anyone_trusted: *trust == Trust::Anyone,
        };
        if offer.fixed_key_exchange {
            let hello = client
                .client_hello()
                .map_err(|error| OfferError(format!("OpenSSL here offers no {suite}: {error}")))?;
            let fixed = StaticRsaClient::new(&hello, suite, trust, &roots, host)?;
            client.fixed = Some(fixed);
        }
        Ok(client)
    }

    /// The ClientHello of a full handshake, a record.
    fn client_hello(&self) -> Result<Vec<u8>, ErrorStack> {
        let mut stream = SslStream::new(self.ssl(&self.full, None)?, Wire::default())?;
        // "Want read" is no failure: OpenSSL waits for an answer. On another error nothing is sent.
        let _ = stream.connect();
        Ok(std::mem::take(&mut stream.get_mut().outgoing))
    }

    /// A connection that offers this session, which is one of `resuming`.
    fn ssl(&self, context: &SslContext, session: Option<&SslSession>) -> Result<Ssl, ErrorStack> {
        let mut ssl = Ssl::new(context)?;
        if let Some(session) = session {
            // SAFETY: the session is one of the same `SslContext`, `resuming`.
            unsafe { ssl.set_session(session)? };
        }
        let address = self.host.parse::<IpAddr>();
        if address.is_err() {
            ssl.set_hostname(&self.host)?;
        }
        if !self.is_anyone_trusted {
            match address {
                Ok(address) => ssl.param_mut().set_ip(address)?,
                Err(_) => ssl.param_mut().set_host(&self.host)?,
            }
        }
        Ok(ssl)
    }
}

/// The newest session, if a later handshake is to resume it.
#[derive(Default)]
struct Kept {
    session: Option<SslSession>,
    /// Whether sessions are kept and none is used.
    is_collecting: bool,
}

impl Kept {
    fn to_offer(&self) -> Option<SslSession> {
        self.session.clone().filter(|_| !self.is_collecting)
    }
}

/// The last certificate and the kind of its key: OpenSSL takes as long to parse it as half a
/// handshake.
#[derive(Default)]
struct Seen {
    der: Vec<u8>,
    key: Option<CertificateKey>,
}

impl Seen {
    fn key_of(&mut self, der: Vec<u8>) -> Option<CertificateKey> {
        if self.der != der {
            *self = Self { key: CertificateKey::of_certificate(&der), der };
        }
        self.key
    }
}

/// Each thread has its own client, so the lock is never contended.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn context(
    offer: &Offer,
    suite: &Suite,
    roots: &[X509],
    resumes: bool,
) -> Result<SslContext, ErrorStack> {
    let mut builder = SslContext::builder(SslMethod::tls_client())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    builder.set_max_proto_version(Some(SslVersion::TLS1_2))?;
    // These suites are to be measured, even if today's policy forbids them.
    builder.set_cipher_list(&format!("{}:@SECLEVEL=0", suite.openssl_name))?;
    if let Some(group) = offer.group {
        builder.set_groups_list(group.openssl_name())?;
    }
    if !resumes {
        builder.set_options(SslOptions::NO_TICKET);
    }
    // OpenSSL's own cache would resume sessions unasked.
    builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    if !offer.encrypt_then_mac {
        builder.set_options(tls::NO_ENCRYPT_THEN_MAC);
    }
    match offer.trust {
        Trust::Anyone => builder.set_verify(SslVerifyMode::NONE),
        Trust::System => {
            builder.set_verify(SslVerifyMode::PEER);
            builder.set_default_verify_paths()?;
        }
        Trust::File(_) => {
            builder.set_verify(SslVerifyMode::PEER);
            let mut store = X509StoreBuilder::new()?;
            store.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
            for certificate in roots {
                store.add_cert(certificate.clone())?;
            }
            builder.set_cert_store(store.build());
        }
    }
    Ok(builder.build())
}

fn read_certificates(path: &Path) -> Result<Vec<X509>, OfferError> {
    let shown = path.display();
    let pem = std::fs::read(path).map_err(|error| {
        OfferError(format!("{shown}: {error}; give a PEM file of certificates"))
    })?;
    match X509::stack_from_pem(&pem) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(OfferError(format!(
            "{shown} does not hold a certificate in PEM form; give the file with -----BEGIN CERTIFICATE-----"
        ))),
    }
}

impl Client for OpenSslClient {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure> {
        let resumes = lock(&self.session).is_collecting || self.resuming_share.next();
        if let Some(fixed) = self.fixed.as_ref().filter(|_| !resumes) {
            return fixed.start();
        }
        let (context, session) = match resumes {
            true => (&self.resuming, lock(&self.session).to_offer()),
            false => (&self.full, None),
        };
        let stream = self
            .ssl(context, session.as_ref())
            .and_then(|ssl| SslStream::new(ssl, Wire::default()))
            .map_err(|error| Failure::new(ErrorKind::Handshake, format!("OpenSSL: {error}")))?;
        Ok(Box::new(OpenSslHandshake {
            stream,
            sniffer: Sniffer::default(),
            beginning: Vec::new(),
            is_anyone_trusted: self.is_anyone_trusted,
            offers_session: session.is_some(),
            kept: resumes.then(|| self.session.clone()),
            seen: self.seen.clone(),
        }))
    }

    fn collect(&self, is_collecting: bool) {
        lock(&self.session).is_collecting = is_collecting;
    }
}

/// The two directions of a connection, in memory.
#[derive(Default)]
struct Wire {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.incoming.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = buffer.len().min(self.incoming.len());
        buffer[..count].copy_from_slice(&self.incoming[..count]);
        self.incoming.drain(..count);
        Ok(count)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct OpenSslHandshake {
    stream: SslStream<Wire>,
    sniffer: Sniffer,
    /// The server's first bytes, as many as a record's header has.
    beginning: Vec<u8>,
    is_anyone_trusted: bool,
    offers_session: bool,
    /// Where the session is kept, if a later handshake is to resume it.
    kept: Option<Arc<Mutex<Kept>>>,
    seen: Arc<Mutex<Seen>>,
}

impl Handshake for OpenSslHandshake {
    fn advance(
        &mut self,
        received: &mut Vec<u8>,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Failure> {
        let missing = HEADER.saturating_sub(self.beginning.len());
        self.beginning.extend_from_slice(&received[..missing.min(received.len())]);
        self.sniffer.take(received);
        self.stream.get_mut().incoming.append(received);
        let result = self.stream.connect();
        to_send.append(&mut self.stream.get_mut().outgoing);
        match result {
            Ok(()) => {
                // The bytes that OpenSSL did not read belong to the records after the handshake.
                received.append(&mut self.stream.get_mut().incoming);
                let established = self.established()?;
                self.keep_session(&established);
                Ok(Some(established))
            }
            Err(error) if error.code() == ErrorCode::WANT_READ => Ok(None),
            Err(error) => Err(self.failure(&error)),
        }
    }
}

impl OpenSslHandshake {
    fn established(&self) -> Result<Established, Failure> {
        let failed = |seen: &str| Failure::new(ErrorKind::Handshake, seen);
        let ssl = self.stream.ssl();
        let flight =
            self.sniffer.flight().ok_or_else(|| failed("a ServerHello that cannot be read"))?;
        let suite = Suite::by_code_point(flight.suite)
            .ok_or_else(|| failed("a suite that toll has no name for"))?;
        let session = ssl.session().ok_or_else(|| failed("OpenSSL has no session"))?;
        let mut master_secret = [0; 48];
        if session.master_key(&mut master_secret) != master_secret.len() {
            return Err(failed("a master secret of a wrong length"));
        }
        let (mut client_random, mut server_random) = ([0; 32], [0; 32]);
        ssl.client_random(&mut client_random);
        ssl.server_random(&mut server_random);
        let keys = tls12_keys(
            suite,
            flight.encrypt_then_mac,
            &master_secret,
            &client_random,
            &server_random,
        )
        .ok_or_else(|| failed("traffic keys of a wrong length"))?;
        let group = |code_point| Group::ALL.into_iter().find(|g| g.code_point() == code_point);
        let resumed = ssl.session_reused();
        Ok(Established {
            // Both sides have sent one record with these keys, their Finished.
            opener: Opener::new(keys.server, 1),
            sealer: Sealer::new(keys.client, 1),
            negotiated: Negotiated {
                version: Version::Tls12,
                suite,
                group: flight.key_exchange.and_then(|(code_point, _)| group(code_point)),
                signature_scheme: flight.key_exchange.map(|(_, scheme)| scheme),
                certificate_key: ssl
                    .peer_certificate()
                    .and_then(|certificate| certificate.to_der().ok())
                    .and_then(|der| lock(&self.seen).key_of(der)),
                encrypt_then_mac: flight.encrypt_then_mac,
                resumed,
            },
            remarks: Remarks {
                is_signature_verified: flight.key_exchange.is_some(),
                asks_certificate: flight.asks_certificate,
                is_retried: false,
                offers_session: self.offers_session,
                given: flight.given_session(resumed),
            },
            protocol: None,
            post_handshake: None,
        })
    }

    fn keep_session(&mut self, established: &Established) {
        let Some(kept) = &self.kept else { return };
        // The one that was resumed stays where the server gave no other. OpenSSL has an object for a
        // session of which the server gave nothing, too.
        if established.remarks.given.is_some() || !established.negotiated.resumed {
            let session = established.remarks.given.and(self.stream.ssl().session());
            lock(kept).session = session.map(ToOwned::to_owned);
        }
        // OpenSSL does not resume a session whose connection ended without a close. This connection
        // is closed later, without OpenSSL.
        self.stream.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    }

    fn failure(&self, error: &openssl::ssl::Error) -> Failure {
        let verified = self.stream.ssl().verify_result();
        if verified != X509VerifyResult::OK && !self.is_anyone_trusted {
            return Failure::new(ErrorKind::Authentication, verified.error_string());
        }
        let Some(first) = error.ssl_error().and_then(|stack| stack.errors().first()) else {
            return Failure::new(ErrorKind::EarlyClose, "closed within the handshake");
        };
        // OpenSSL's reason for a received alert is 1000 plus the alert's number.
        let reason = first.reason_code();
        if let Ok(description) = u8::try_from(reason - 1000) {
            return Failure::new(ErrorKind::Alert, format!("alert {}", alert_name(description)));
        }
        if !begins_with_record(&self.beginning) {
            return Refusal::not_tls().failure;
        }
        let kind = match reason {
            BAD_SIGNATURE | DECRYPTION_FAILED_OR_BAD_RECORD_MAC | DIGEST_CHECK_FAILED => {
                ErrorKind::Authentication
            }
            _ => ErrorKind::Handshake,
        };
        Failure::new(kind, first.reason().unwrap_or("an unnamed error of OpenSSL"))
    }
}

// Reasons of OpenSSL's sslerr.h.
const DECRYPTION_FAILED_OR_BAD_RECORD_MAC: i32 = 281;
const BAD_SIGNATURE: i32 = 123;
const DIGEST_CHECK_FAILED: i32 = 149;

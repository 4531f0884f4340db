//! The system's OpenSSL, or the one of `LD_LIBRARY_PATH`.

use std::collections::HashMap;
use std::io;

use foreign_types::ForeignTypeRef;
use offload::Way;
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{
    self, AlpnError, ErrorCode, NameType, ShutdownState, SniError, Ssl, SslContext,
    SslContextBuilder, SslMethod, SslMode, SslOptions, SslRef, SslSessionCacheMode, SslStream,
    SslVerifyMode, SslVersion, select_next_proto,
};
use openssl::x509::X509;
use tls::{
    AskClient, CertificateKey, Identity, LibraryContext, RecordSize, SendMode, Suite, Version,
};

use super::jobs::{MODE_ASYNC, leave_jobs, paused};
use super::kernel::ENABLE_KTLS;
use super::offered::{FIRST_WITH_ML_KEM, client_authorities};
use super::own_context::{OwnContext, TICKET_KEYS, set_ticket_keys};
use super::session::{Handshake, Session, TlsContext};
use crate::error::ServerError;
use crate::settings::{AcceleratorSource, Settings};
use crate::wire::Wire;

/// `SSL_CTRL_SET_MAX_SEND_FRAGMENT`, which openssl-sys does not name.
const SET_MAX_SEND_FRAGMENT: libc::c_int = 52;

/// The protocols of ALPN (RFC 7301) that this server speaks, in wire form, the preferred one first.
const ALPN: &[u8] = b"\x02h2\x08http/1.1";
/// Frames are written, so that whoever sends by `sendfile` speaks no HTTP/2.
const ALPN_OF_SENDFILE: &[u8] = b"\x08http/1.1";

impl TlsContext for SslContext {
    type Session = SslStream<Wire>;

    fn accept(&self, wire: Wire) -> io::Result<SslStream<Wire>> {
        Ok(SslStream::new(Ssl::new(self)?, wire)?)
    }
}

impl Session for SslStream<Wire> {
    fn wire(&self) -> &Wire {
        self.get_ref()
    }

    fn wire_mut(&mut self) -> &mut Wire {
        self.get_mut()
    }

    fn handshake(&mut self) -> io::Result<Handshake> {
        let outcome = self.accept();
        if let Some(pause) = paused(self.ssl()) {
            return Ok(Handshake::Paused(pause));
        }
        match outcome {
            Ok(()) => {
                leave_jobs(self.ssl());
                Ok(Handshake::Complete)
            }
            Err(error) if error.code() == ErrorCode::WANT_READ => Ok(Handshake::Unready),
            Err(error) => Err(io_error(error)),
        }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        // OpenSSL takes a buffer and gives it back before it says so.
        if !self.get_ref().is_readable() && !has_pending(self.ssl()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        match self.ssl_read(room) {
            Ok(count) => Ok(count),
            Err(error) => match error.code() {
                ErrorCode::ZERO_RETURN => Ok(0),
                ErrorCode::WANT_READ => Err(io::ErrorKind::WouldBlock.into()),
                _ => Err(io_error(error)),
            },
        }
    }

    fn is_http2(&self) -> bool {
        self.ssl().selected_alpn_protocol() == Some(http2::ALPN)
    }

    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        self.ssl_write(plaintext).map_err(io_error)
    }

    /// The client's close_notify is not waited for.
    fn close(&mut self) {
        let _ = self.shutdown();
    }

    /// Otherwise OpenSSL takes the session for a broken one and forgets it.
    fn abandon(&mut self) {
        self.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    }
}

unsafe extern "C" {
    fn SSL_has_pending(ssl: *const openssl_sys::SSL) -> libc::c_int;
}

/// Whether OpenSSL holds bytes that it has received, decrypted or not.
fn has_pending(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid while borrowed.
    unsafe { SSL_has_pending(ssl.as_ptr()) == 1 }
}

fn io_error(error: ssl::Error) -> io::Error {
    error.into_io_error().unwrap_or_else(io::Error::other)
}

const WITH_ML_KEM: &str = "DEFAULT:?SecP256r1MLKEM768:?MLKEM1024";
/// The default without CBC suites, for which the kernel's TLS takes no keys.
const OF_KERNEL: &str = "DEFAULT:!SHA1:!SHA256:!SHA384";

/// The context that all threads share, or one for each.
pub(super) fn build(
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
    key: CertificateKey,
) -> Result<Vec<SslContext>, ServerError> {
    if settings.library_context == LibraryContext::Shared {
        return Ok(vec![with_names(settings, versions, identity, key, None)?.build()]);
    }
    let refused = |source| ServerError::OpenSsl { what: "a library context", source };
    let mut ticket_keys = [0; TICKET_KEYS];
    openssl::rand::rand_bytes(&mut ticket_keys).map_err(refused)?;
    let of_thread = |_: &usize| {
        let own = OwnContext::new().map_err(refused)?;
        let mut context = with_names(settings, versions, identity, key, Some(&own))?;
        set_ticket_keys(&mut context, ticket_keys).map_err(refused)?;
        Ok(context.build())
    };
    settings.cpus.as_slice().iter().map(of_thread).collect()
}

/// A context that offers exactly what the settings name, with one for each further name.
fn with_names(
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
    key: CertificateKey,
    own: Option<&OwnContext>,
) -> Result<SslContextBuilder, ServerError> {
    let mut context = with_certificate(settings, versions, identity, key, own)?;
    let of_name = |(name, certificate_pem)| {
        let identity = Identity { certificate_pem, ..identity.clone() };
        Ok((name, with_certificate(settings, versions, &identity, key, own)?.build()))
    };
    let named: Result<HashMap<String, SslContext>, ServerError> =
        settings.named_certificates()?.into_iter().map(of_name).collect();
    let named = named?;
    if !named.is_empty() {
        context.set_servername_callback(move |ssl, _| {
            // Names have no case (RFC 6066, section 3).
            let name = ssl.servername(NameType::HOST_NAME).map(str::to_ascii_lowercase);
            match name.and_then(|name| named.get(&name)) {
                Some(context) => ssl.set_ssl_context(context).map_err(|_| SniError::ALERT_FATAL),
                None => Ok(()),
            }
        });
    }
    Ok(context)
}

fn with_certificate(
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
    key: CertificateKey,
    own: Option<&OwnContext>,
) -> Result<SslContextBuilder, ServerError> {
    let refused = |what| move |source| ServerError::OpenSsl { what, source };
    let chain = X509::stack_from_pem(&identity.certificate_pem)
        .map_err(refused("the certificate chain"))?;
    let accelerator = settings.accelerator.as_ref();
    let mut context = match (accelerator, own) {
        (Some(accelerator), _) => offload::tls_server(accelerator.provider()),
        (None, Some(own)) => own.server(),
        (None, None) => SslContext::builder(SslMethod::tls_server()),
    }
    .map_err(refused("a server's context"))?;
    if matches!(key, CertificateKey::Rsa(bits) if bits < 2048) {
        // Such keys are below every level that distributions set; they are measured all the same.
        context.set_security_level(0);
    }
    set_versions(&mut context, versions).map_err(refused("these versions"))?;
    set_suites(&mut context, &settings.suites).map_err(refused("these suites"))?;
    if settings.send.is_kernels() && settings.suites.is_empty() {
        context.set_cipher_list(OF_KERNEL).map_err(refused("the kernel's suites"))?;
    }
    let names: Vec<_> = settings.groups.iter().map(|group| group.openssl_name()).collect();
    let groups = match names.is_empty() {
        // Its default, and what it has beside that; clients choose.
        true if openssl::version::number() >= FIRST_WITH_ML_KEM => Some(WITH_ML_KEM.to_owned()),
        true => None,
        false => Some(names.join(":")),
    };
    if let Some(groups) = groups {
        context.set_groups_list(&groups).map_err(refused("these groups"))?;
    }
    let private = set_identity(&mut context, &chain, &identity.key_pem, own)
        .map_err(refused("the certificate and its key"))?;
    set_clients(&mut context, settings)?;
    if matches!(accelerator, Some(AcceleratorSource::MultiBuffer(_))) {
        offload::prepare(&private);
    }
    set_resumption(&mut context, settings).map_err(refused("these settings of resumption"))?;
    // OpenSSL keeps its keys from the kernel unless it may write records of the largest size; how large
    // they are follows from what is sent then.
    if !settings.send.is_kernels() {
        set_record_size(&mut context, settings.record_size).map_err(refused("this record size"))?;
    }

    // An end of the stream without close_notify is no attack here: requests frame themselves.
    let mut options = SslOptions::NO_COMPRESSION
        | SslOptions::NO_RENEGOTIATION
        | SslOptions::CIPHER_SERVER_PREFERENCE
        | SslOptions::IGNORE_UNEXPECTED_EOF;
    options.set(tls::NO_ENCRYPT_THEN_MAC, !settings.encrypt_then_mac);
    options.set(ENABLE_KTLS, settings.send.is_kernels());
    context.set_options(options);
    // One recv takes what is there instead of one for each header and one for each body.
    context.set_read_ahead(true);
    let mut mode = SslMode::RELEASE_BUFFERS;
    let is_asynchronous = accelerator.is_some_and(|device| device.way() == Way::Asynchronous);
    mode.set(SslMode::from_bits_retain(MODE_ASYNC.into()), is_asynchronous);
    context.set_mode(mode);
    let protocols = if settings.send == SendMode::KtlsSendfile { ALPN_OF_SENDFILE } else { ALPN };
    context.set_alpn_select_callback(move |_, offered| {
        select_next_proto(protocols, offered).ok_or(AlpnError::NOACK)
    });
    Ok(context)
}

fn set_versions(context: &mut SslContextBuilder, versions: &[Version]) -> Result<(), ErrorStack> {
    let theirs = |version: &Version| match version {
        Version::Tls12 => SslVersion::TLS1_2,
        Version::Tls13 => SslVersion::TLS1_3,
    };
    context.set_min_proto_version(versions.first().map(theirs))?;
    context.set_max_proto_version(versions.last().map(theirs))
}

/// Sets the suites of both versions; a version without any is not offered, so that what is left
/// as it is there does not matter.
fn set_suites(
    context: &mut SslContextBuilder,
    suites: &[&'static Suite],
) -> Result<(), ErrorStack> {
    let list = |version| {
        let names: Vec<_> = suites
            .iter()
            .filter(|suite| suite.version() == version)
            .map(|suite| suite.openssl_name)
            .collect();
        (!names.is_empty()).then(|| names.join(":"))
    };
    if let Some(names) = list(Version::Tls12) {
        context.set_cipher_list(&names)?;
    }
    if let Some(names) = list(Version::Tls13) {
        context.set_ciphersuites(&names)?;
    }
    Ok(())
}

fn set_identity(
    context: &mut SslContextBuilder,
    chain: &[X509],
    key_pem: &[u8],
    own: Option<&OwnContext>,
) -> Result<PKey<Private>, ErrorStack> {
    for (position, certificate) in chain.iter().enumerate() {
        match position {
            0 => context.set_certificate(certificate)?,
            _ => context.add_extra_chain_cert(certificate.clone())?,
        }
    }
    let mut key = PKey::private_key_from_pem(key_pem)?;
    if let Some(own) = own {
        key = own.own(&key)?;
    }
    context.set_private_key(&key)?;
    context.check_private_key()?;
    Ok(key)
}

/// Asks clients for a certificate that these authorities have issued.
fn set_clients(context: &mut SslContextBuilder, settings: &Settings) -> Result<(), ServerError> {
    let refused = |source| ServerError::OpenSsl { what: "the authorities of clients", source };
    let mode = match settings.ask_client {
        AskClient::None => return Ok(()),
        AskClient::Ask => SslVerifyMode::PEER,
        AskClient::Require => SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT,
    };
    for authority in client_authorities(settings)? {
        context.add_client_ca(&authority).map_err(refused)?;
        context.cert_store_mut().add_cert(authority).map_err(refused)?;
    }
    context.set_verify(mode);
    Ok(())
}

fn set_resumption(context: &mut SslContextBuilder, settings: &Settings) -> Result<(), ErrorStack> {
    context.set_session_id_context(b"toll")?;
    context.set_session_cache_mode(if settings.session_cache {
        SslSessionCacheMode::SERVER
    } else {
        SslSessionCacheMode::OFF
    });
    if !settings.tickets {
        // The option alone would leave TLS 1.3 with tickets that name a session in the cache.
        context.set_options(SslOptions::NO_TICKET);
        context.set_num_tickets(0)?;
    }
    Ok(())
}

fn set_record_size(context: &mut SslContextBuilder, size: RecordSize) -> Result<(), ErrorStack> {
    let bytes = libc::c_long::try_from(size.get()).unwrap_or(libc::c_long::MAX);
    // SAFETY: the context is valid while borrowed; this command takes a number and no pointer.
    let rc = unsafe {
        openssl_sys::SSL_CTX_ctrl(
            context.as_ptr(),
            SET_MAX_SEND_FRAGMENT,
            bytes,
            std::ptr::null_mut(),
        )
    };
    if rc == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

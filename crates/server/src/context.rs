//! The TLS context of the settings.

use openssl::error::ErrorStack;
use openssl::pkey::PKey;
use openssl::ssl::{
    AlpnError, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslSessionCacheMode,
    SslVersion, select_next_proto,
};
use openssl::x509::X509;
use tls::{CertificateKey, Identity, KeyExchange, RecordSize, Suite, Version};

use crate::{ServerError, Settings};

/// `SSL_CTRL_SET_MAX_SEND_FRAGMENT`, which openssl-sys does not name.
const SET_MAX_SEND_FRAGMENT: libc::c_int = 52;

/// The only protocol of ALPN (RFC 7301) that this server speaks, in wire form.
const ALPN: &[u8] = b"\x08http/1.1";

/// A context that offers exactly what the settings name.
pub(crate) fn build(settings: &Settings, identity: &Identity) -> Result<SslContext, ServerError> {
    let refused = |what| move |source| ServerError::OpenSsl { what, source };
    let chain = X509::stack_from_pem(&identity.certificate_pem)
        .map_err(refused("the certificate chain"))?;
    let key = chain
        .first()
        .and_then(|leaf| leaf.to_der().ok())
        .and_then(|der| CertificateKey::of_certificate(&der))
        .ok_or(ServerError::KeyKind)?;
    let versions = versions(settings)?;
    settings.suites.iter().try_for_each(|suite| check_key(suite, key))?;

    let mut context =
        SslContext::builder(SslMethod::tls_server()).map_err(refused("a server's context"))?;
    if matches!(key, CertificateKey::Rsa(bits) if bits < 2048) {
        // Such keys are below every level that distributions set; they are measured all the same.
        context.set_security_level(0);
    }
    set_versions(&mut context, &versions).map_err(refused("these versions"))?;
    set_suites(&mut context, &settings.suites).map_err(refused("these suites"))?;
    if !settings.groups.is_empty() {
        let names: Vec<_> = settings.groups.iter().map(|group| group.openssl_name()).collect();
        context.set_groups_list(&names.join(":")).map_err(refused("these groups"))?;
    }
    set_identity(&mut context, &chain, &identity.key_pem)
        .map_err(refused("the certificate and its key"))?;
    set_resumption(&mut context, settings).map_err(refused("these settings of resumption"))?;
    set_record_size(&mut context, settings.record_size).map_err(refused("this record size"))?;

    // An end of the stream without close_notify is no attack here: requests frame themselves.
    let mut options = SslOptions::NO_COMPRESSION
        | SslOptions::NO_RENEGOTIATION
        | SslOptions::CIPHER_SERVER_PREFERENCE
        | SslOptions::IGNORE_UNEXPECTED_EOF;
    options.set(tls::NO_ENCRYPT_THEN_MAC, !settings.encrypt_then_mac);
    context.set_options(options);
    // One recv takes what is there instead of one for each header and one for each body.
    context.set_read_ahead(true);
    context.set_mode(SslMode::RELEASE_BUFFERS);
    context.set_alpn_select_callback(|_, offered| {
        select_next_proto(ALPN, offered).ok_or(AlpnError::NOACK)
    });
    Ok(context.build())
}

/// The versions to offer, ascending.
fn versions(settings: &Settings) -> Result<Vec<Version>, ServerError> {
    let of_suites = |version| settings.suites.iter().any(|suite| suite.version() == version);
    let all = [Version::Tls12, Version::Tls13];
    if settings.versions.is_empty() {
        return Ok(if settings.suites.is_empty() {
            all.to_vec()
        } else {
            all.into_iter().filter(|&version| of_suites(version)).collect()
        });
    }
    if let Some(suite) =
        settings.suites.iter().find(|suite| !settings.versions.contains(&suite.version()))
    {
        return Err(ServerError::SuiteVersion { suite });
    }
    let versions: Vec<_> =
        all.into_iter().filter(|version| settings.versions.contains(version)).collect();
    match versions.iter().find(|&&version| !settings.suites.is_empty() && !of_suites(version)) {
        Some(&version) => Err(ServerError::VersionWithoutSuite(version)),
        None => Ok(versions),
    }
}

fn check_key(suite: &'static Suite, key: CertificateKey) -> Result<(), ServerError> {
    let rsa = matches!(key, CertificateKey::Rsa(_));
    let needs = match suite.key_exchange {
        KeyExchange::Tls13 => return Ok(()),
        KeyExchange::EcdheRsa | KeyExchange::Rsa if rsa => return Ok(()),
        KeyExchange::EcdheEcdsa if !rsa => return Ok(()),
        KeyExchange::EcdheRsa | KeyExchange::Rsa => "an RSA key",
        KeyExchange::EcdheEcdsa => "an ECDSA or Ed25519 key",
    };
    Err(ServerError::SuiteKey { suite, needs, key })
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
) -> Result<(), ErrorStack> {
    for (position, certificate) in chain.iter().enumerate() {
        match position {
            0 => context.set_certificate(certificate)?,
            _ => context.add_extra_chain_cert(certificate.clone())?,
        }
    }
    let key = PKey::private_key_from_pem(key_pem)?;
    context.set_private_key(&key)?;
    context.check_private_key()
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

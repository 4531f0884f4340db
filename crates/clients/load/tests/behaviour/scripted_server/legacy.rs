//! TLS 1.2 through OpenSSL: the CBC and static-RSA suites, which rustls does not serve.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use openssl::pkey::PKey;
use openssl::ssl::{
    NameType, Ssl, SslContext, SslContextBuilder, SslMethod, SslOptions, SslSessionCacheMode,
    SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::X509;
use tls::{Identity, Suite};

use super::{Session, split};

/// A server's means of resumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    Nothing,
    Tickets,
    SessionIds,
    /// Session identifiers of sessions that it does not keep, as nginx does by default.
    ForgottenSessionIds,
}

/// A server of one suite of TLS 1.2 that resumes nothing.
pub fn legacy_acceptor(identity: &Identity, suite: &Suite) -> SslContext {
    resuming_acceptor(identity, suite, Gives::Nothing)
}

/// A server of one suite of TLS 1.2.
pub fn resuming_acceptor(identity: &Identity, suite: &Suite, gives: Gives) -> SslContext {
    acceptor(identity, suite, gives).build()
}

/// One that asks for a certificate of the client, and goes on without.
pub fn asking_acceptor(identity: &Identity, suite: &Suite) -> SslContext {
    let mut builder = acceptor(identity, suite, Gives::Nothing);
    builder.set_verify_callback(SslVerifyMode::PEER, |_, _| true);
    builder.build()
}

fn acceptor(identity: &Identity, suite: &Suite, gives: Gives) -> SslContextBuilder {
    let mut builder = SslContext::builder(SslMethod::tls_server()).unwrap();
    builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    builder.set_cipher_list(&format!("{}:@SECLEVEL=0", suite.openssl_name)).unwrap();
    if gives != Gives::Tickets {
        builder.set_options(SslOptions::NO_TICKET);
    }
    builder.set_session_cache_mode(match gives {
        Gives::SessionIds => SslSessionCacheMode::SERVER,
        Gives::ForgottenSessionIds => {
            SslSessionCacheMode::SERVER | SslSessionCacheMode::NO_INTERNAL
        }
        Gives::Nothing | Gives::Tickets => SslSessionCacheMode::OFF,
    });
    builder.set_session_id_context(b"toll").unwrap();
    builder.set_certificate(&X509::from_pem(&identity.certificate_pem).unwrap()).unwrap();
    builder.set_private_key(&PKey::private_key_from_pem(&identity.key_pem).unwrap()).unwrap();
    builder
}

/// A connection whose handshake has ended.
pub struct Legacy(SslStream<Tap>);

impl Legacy {
    pub fn accept(stream: TcpStream, context: &SslContext) -> io::Result<Self> {
        let ssl = Ssl::new(context)?;
        let mut stream = SslStream::new(ssl, Tap { stream, held: None })?;
        stream.accept().map_err(io::Error::other)?;
        Ok(Self(stream))
    }

    /// The name that the client asked for (SNI).
    pub fn server_name(&self) -> Option<&str> {
        self.0.ssl().servername(NameType::HOST_NAME)
    }

    /// Whether it resumed a session.
    pub fn is_resumed(&self) -> bool {
        self.0.ssl().session_reused()
    }

    /// What OpenSSL sends while `write` runs.
    fn held(
        &mut self,
        write: impl FnOnce(&mut SslStream<Tap>) -> io::Result<()>,
    ) -> io::Result<Vec<u8>> {
        self.0.get_mut().held = Some(Vec::new());
        let written = write(&mut self.0);
        let held = self.0.get_mut().held.take().unwrap_or_default();
        written.map(|()| held)
    }
}

impl Session for Legacy {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        self.0.read(piece)
    }

    fn records(&mut self, content: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.held(|stream| stream.write_all(content)).map(|bytes| split(&bytes))
    }

    fn close_notify(&mut self) -> io::Result<Vec<u8>> {
        self.held(|stream| stream.shutdown().map(drop).map_err(io::Error::other))
    }

    fn stream(&mut self) -> &mut TcpStream {
        &mut self.0.get_mut().stream
    }
}

/// A stream whose outgoing bytes can be held back.
struct Tap {
    stream: TcpStream,
    held: Option<Vec<u8>>,
}

impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Tap {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.held {
            Some(held) => held.write(bytes),
            None => self.stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

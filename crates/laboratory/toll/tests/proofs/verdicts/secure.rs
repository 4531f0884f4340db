//! A server over TLS in this process, on which a test can make anything false.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use openssl::pkey::PKey;
use openssl::ssl::{SslAcceptor, SslMethod, SslStream, SslVerifyMode};
use openssl::x509::X509;
use socket2::{Domain, Socket, Type};
use tls::{CertificateKey, Identity};

/// What a server lets a test change.
pub(crate) struct Server {
    /// How many connections wait until they are accepted.
    pub(crate) backlog: i32,
    /// Whether a connection is asked for a certificate that no client here has.
    pub(crate) asks_certificate: fn(usize) -> bool,
}

impl Default for Server {
    fn default() -> Self {
        Self { backlog: 1024, asks_certificate: |_| false }
    }
}

type Secure = SslStream<TcpStream>;

impl Server {
    /// Begins to listen on loopback; `serve` is given each connection with its number, from 0, when
    /// it is accepted. It ends with the process.
    pub(crate) fn start(self, serve: impl Fn(usize, Accept) + Send + Sync + 'static) -> SocketAddr {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        socket.listen(self.backlog).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        let listener = TcpListener::from(socket);
        let identity = Identity::generate(CertificateKey::Rsa(2048)).unwrap();
        let [open, asking] = [SslVerifyMode::NONE, MUST_SHOW].map(|mode| acceptor(&identity, mode));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let acceptor = if (self.asks_certificate)(number) { &asking } else { &open };
                serve(number, Accept { acceptor: acceptor.clone(), stream });
            }
        });
        address
    }
}

const MUST_SHOW: SslVerifyMode = SslVerifyMode::PEER.union(SslVerifyMode::FAIL_IF_NO_PEER_CERT);

fn acceptor(identity: &Identity, mode: SslVerifyMode) -> Arc<SslAcceptor> {
    let mut builder = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
    builder.set_certificate(&X509::from_pem(&identity.certificate_pem).unwrap()).unwrap();
    builder.set_private_key(&PKey::private_key_from_pem(&identity.key_pem).unwrap()).unwrap();
    builder.set_verify(mode);
    builder.set_num_tickets(0).unwrap();
    Arc::new(builder.build())
}

/// A connection whose handshake has not begun.
pub(crate) struct Accept {
    acceptor: Arc<SslAcceptor>,
    stream: TcpStream,
}

impl Accept {
    /// Makes the handshake, and waits for the client's close.
    pub(crate) fn handshake(self) {
        if let Some(mut secure) = self.accepted() {
            let _ = secure.read(&mut [0; 4096]);
            let _ = secure.shutdown();
        }
    }

    /// Answers every request with a body of a byte, and never closes.
    pub(crate) fn answer_all(self) {
        const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
        let Some(mut secure) = self.accepted() else { return };
        while secure.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
            if secure.write_all(HEAD).is_err() {
                return;
            }
        }
    }

    fn accepted(self) -> Option<Secure> {
        self.acceptor.accept(self.stream).ok()
    }
}

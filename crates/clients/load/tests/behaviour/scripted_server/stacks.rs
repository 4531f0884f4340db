use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::version::TLS12;
use tls::Suite;

use super::{Legacy, Secure, Session, config, config_of, legacy_acceptor, rsa};

/// Makes a session of a connection.
pub type Accept = Arc<dyn Fn(TcpStream) -> io::Result<Box<dyn Session>> + Send + Sync>;

/// Runs a check over each of [`stacks`], all at the same time: most of what they do is to wait.
pub fn on_each_stack(check: impl Fn(Accept, Option<&'static Suite>) + Sync) {
    let check = &check;
    std::thread::scope(|scope| {
        for (accept, suite) in stacks() {
            scope.spawn(move || check(accept, suite));
        }
    });
}

/// TLS 1.3 and TLS 1.2 through rustls, and CBC through OpenSSL, with the suite to ask for.
pub fn stacks() -> [(Accept, Option<&'static Suite>); 3] {
    let tls13 = config();
    let tls12 = Arc::new(config_of(rsa(), &[&TLS12]));
    let suite = Suite::parse("AES128-SHA").unwrap();
    let legacy = legacy_acceptor(rsa(), suite);
    [
        (Arc::new(move |stream| Ok(Box::new(Secure::accept(stream, &tls13)?))), None),
        (Arc::new(move |stream| Ok(Box::new(Secure::accept(stream, &tls12)?))), None),
        (Arc::new(move |stream| Ok(Box::new(Legacy::accept(stream, &legacy)?))), Some(suite)),
    ]
}

//! TLS in memory: two sides, no sockets. What lies between a primitive and a server.
//!
//! A library that speaks TLS is a [`TlsStack`](crate::stack::TlsStack). Its side of a connection is measured; the other side is
//! another library's where one can, and is never inside a timed interval. Nothing is measured that is
//! not proven: every record that was sealed is opened by the other side and compared, and of every
//! handshake both sides must report the same, and what was asked for.

mod handshakes;
mod pair;
mod records;

use tls::{CertificateKey, KeyExchange};

use self::handshakes::Handshakes;
use self::records::Records;
use crate::algorithm::{Algorithm, Handshake, Side};
use crate::cache::Cache;
use crate::check::Checker;
use crate::libraries::library::Library;
use crate::routine::Unavailable;
use crate::row::NoFigure;
use crate::stack::{ConnectionSpec, Identity};
use crate::work::Work;

/// Sets up what takes a connection.
pub(crate) fn set_up(
    library: &dyn Library,
    algorithm: Algorithm,
    size: usize,
    cache: Cache,
    checker: &Checker<'_>,
) -> Result<Box<dyn Work>, NoFigure> {
    if cache == Cache::Cold {
        return Err(
            Unavailable::because("records and handshakes are measured with warm caches").into()
        );
    }
    let wanted = ConnectionSpec::of(algorithm)?;
    let side = match algorithm {
        Algorithm::Handshake(_, side) => side,
        _ => Side::Server,
    };
    let key = match (algorithm, wanted.suite.key_exchange) {
        (Algorithm::Handshake(Handshake::Full(key, _), _), _) => key,
        (_, KeyExchange::EcdheRsa) => CertificateKey::Rsa(2048),
        _ => CertificateKey::EcdsaP256,
    };
    let identity = Identity::of(key)?;
    let ends = pair::Ends::new(library, checker, side, wanted, identity)?;
    algorithm.check_size(size)?;
    Ok(match algorithm {
        Algorithm::Record(_, way) => Box::new(Records::new(ends, way, size)?),
        _ => Box::new(Handshakes::new(ends)?),
    })
}

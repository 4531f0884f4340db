//! What must hold whatever a client sends: the bodies of the fuzz targets.
//!
//! `cargo fuzz` runs them on what it finds (`crates/servers/server/fuzz`), the tests here on the targets'
//! seeds and on mutations of these. This module is there for them alone, under `cfg(fuzzing)` and
//! `cfg(test)`.

use std::time::Instant;

use http3::{ControlEvent, ErrorCode, Fields, PeerStreams, Side};

use crate::content::Contents;
use crate::input::HEAD_LIMIT;
use crate::quic::{Exchange, Heads};
use crate::request::{Parsed, parse};

/// The input is what a client has sent so far.
pub fn request(input: &[u8]) {
    let contents = Contents::new(None).expect("no folder is opened");
    match parse(input) {
        Parsed::Complete(request, length) => {
            assert!(length <= input.len() && length <= HEAD_LIMIT);
            if let Ok(wanted) = &request.wanted {
                assert_eq!(wanted.path.first(), Some(&b'/'));
                let _ = contents.find(&wanted.path);
            }
            // What follows a head is not part of it, and no part of it is a whole one.
            assert_eq!(parse(&input[..length]), Parsed::Complete(request, length));
            for end in [length / 2, length - 1] {
                assert!(!matches!(parse(&input[..end]), Parsed::Complete(..)));
            }
        }
        Parsed::Incomplete => assert!(input.len() < HEAD_LIMIT),
        Parsed::Bad(_) => {}
    }
}

/// The input is what a client has sent on a stream of HTTP/3: after a 0 that of a request, else a unidirectional one.
pub fn http3(input: &[u8]) {
    let Some((kind, bytes)) = input.split_first() else { return };
    let whole = bytes.len().max(1);
    match kind {
        // What is read does not depend on the pieces in which it comes.
        0 => assert_eq!(requested(bytes, whole), requested(bytes, 1)),
        _ => assert_eq!(announced(bytes, whole), announced(bytes, 1)),
    }
}

/// Whether a request in pieces of this length is answered, or what it breaks.
fn requested(bytes: &[u8], piece: usize) -> Result<bool, ErrorCode> {
    let contents = Contents::new(None).expect("no folder is opened");
    let (mut exchange, mut fields) = (Exchange::new(Instant::now()), Fields::default());
    let mut take = || {
        for piece in bytes.chunks(piece) {
            exchange.receive(piece, &mut fields, &contents)?;
            assert!(!exchange.is_responding());
        }
        exchange.respond(&mut Heads::default())?;
        Ok(exchange.is_responding())
    };
    take().map_err(|breach: http3::Breach| breach.code)
}

/// What a unidirectional stream in pieces of this length says, or what it breaks.
fn announced(bytes: &[u8], piece: usize) -> Result<Vec<ControlEvent>, ErrorCode> {
    let (mut peer, mut events) = (PeerStreams::new(Side::Client), Vec::new());
    for mut piece in bytes.chunks(piece) {
        while let Some(event) = peer.next(2, &mut piece).map_err(|breach| breach.code)? {
            events.push(event);
            if event == ControlEvent::UnknownStream {
                return Ok(events);
            }
        }
        assert!(piece.is_empty());
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    fn holds(name: &str, body: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(name);
        for input in mutation::mutated(&mutation::seeds(&folder).unwrap(), 20_000) {
            if std::panic::catch_unwind(|| body(&input)).is_err() {
                panic!("{name} fails on {:?}", input.escape_ascii().to_string());
            }
        }
    }

    #[test]
    fn request() {
        holds("request", super::request);
    }

    #[test]
    fn seeds_of_requests_are_answered() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/http3");
        let mut count = 0;
        for seed in mutation::seeds(&folder).unwrap().iter().filter(|seed| seed[0] == 0) {
            assert_eq!(super::requested(&seed[1..], 7), Ok(true), "{}", seed.escape_ascii());
            count += 1;
        }
        assert_eq!(count, 4);
    }

    #[test]
    fn http3() {
        holds("http3", super::http3);
    }
}

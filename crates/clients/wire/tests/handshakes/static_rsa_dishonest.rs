//! Static RSA with a server that breaks the rules, but has the right keys.

use openssl::rsa::Padding;
use openssl::x509::X509;
use sha2::{Digest, Sha256};
use tls::{CertificateKey, Identity};
use wire::record::{HEADER, Sealer, content_type, tls12_keys, tls12_prf};
use wire::{ErrorKind, Failure};
use wire_peer::messages::{self, Extensions, in_records, kind, message, vector24};

use super::static_rsa::{identity, offering, suite};
use super::{hello_of, private, start};

const RENEGOTIATION_INFO: (u16, &[u8]) = (0xff01, &[0]);
const EXTENDED_MASTER_SECRET: (u16, &[u8]) = (23, &[]);

const SERVER_RANDOM: [u8; 32] = [5; 32];

fn server_hello(version: [u8; 2], suite: u16, extensions: &Extensions<'_>) -> Vec<u8> {
    messages::server_hello(version, &SERVER_RANDOM, &[], suite, extensions)
}

fn honest_hello() -> Vec<u8> {
    server_hello([3, 3], 0x002f, &[RENEGOTIATION_INFO, EXTENDED_MASTER_SECRET])
}

fn certificate_of(der: &[u8]) -> Vec<u8> {
    message(kind::CERTIFICATE, &vector24(&vector24(der)))
}

fn certificate() -> Vec<u8> {
    let pem = &identity().certificate_pem;
    certificate_of(&X509::from_pem(pem).unwrap().to_der().unwrap())
}

fn done() -> Vec<u8> {
    message(kind::SERVER_HELLO_DONE, &[])
}

/// A server whose messages the test chooses, with the right keys.
struct Puppet {
    /// All handshake messages so far.
    transcript: Vec<u8>,
    client_random: [u8; 32],
    out: Vec<u8>,
}

impl Puppet {
    fn new(client_hello: &[u8]) -> Self {
        let client_random = client_hello[11..43].try_into().unwrap();
        Self { transcript: client_hello[HEADER..].to_vec(), client_random, out: Vec::new() }
    }

    fn send(&mut self, message: &[u8]) {
        self.transcript.extend_from_slice(message);
        self.out.extend(in_records(content_type::HANDSHAKE, message));
    }

    /// The PRF over the transcript.
    fn derive(&self, secret: &[u8], label: &[u8], length: usize) -> Vec<u8> {
        let hash = Sha256::digest(&self.transcript);
        tls12_prf(suite("AES128-SHA").prf, secret, label, &hash, length)
    }

    /// Reads the client's flight; returns the server's sealer and its Finished.
    fn agree(&mut self, flight: &[u8]) -> (Sealer, Vec<u8>) {
        let exchange = &flight[HEADER..HEADER + 4 + 2 + 256];
        self.transcript.extend_from_slice(exchange);
        let mut premaster = [0; 256];
        let rsa = private(identity()).rsa().unwrap();
        let length = rsa.private_decrypt(&exchange[6..], &mut premaster, Padding::PKCS1).unwrap();
        assert_eq!((&premaster[..2], length), (&[3, 3][..], 48));
        let master = self.derive(&premaster[..length], b"extended master secret", 48);
        let finished = self.derive(&master, b"client finished", 12);
        self.transcript.extend(message(kind::FINISHED, &finished));
        let finished = self.derive(&master, b"server finished", 12);
        let (client, server) = (&self.client_random, &SERVER_RANDOM);
        let keys = tls12_keys(suite("AES128-SHA"), false, &master, client, server).unwrap();
        (Sealer::new(keys.server, 0), message(kind::FINISHED, &finished))
    }
}

/// How a server ends a handshake, given its sealer and its honest Finished.
type Ending<'a> = &'a dyn Fn(&mut Puppet, Sealer, Vec<u8>) -> Vec<u8>;

/// The client's result when the server answers its ClientHello with the first, and its Finished
/// with the second.
fn result_of(
    answer: impl FnOnce(&mut Puppet),
    ending: impl FnOnce(&mut Puppet, Sealer, Vec<u8>) -> Vec<u8>,
) -> Result<bool, Failure> {
    let mut handshake = start(&offering(suite("AES128-SHA")));
    let hello = hello_of(&mut *handshake);
    let mut puppet = Puppet::new(&hello);
    answer(&mut puppet);
    let mut to_send = Vec::new();
    let mut received = std::mem::take(&mut puppet.out);
    let mut result = handshake.advance(&mut received, &mut to_send);
    if matches!(result, Ok(None)) && !to_send.is_empty() {
        let (sealer, finished) = puppet.agree(&to_send);
        to_send.clear();
        received = ending(&mut puppet, sealer, finished);
        result = handshake.advance(&mut received, &mut to_send);
    }
    if let Err(failure) = &result
        && !matches!(failure.kind, ErrorKind::Alert | ErrorKind::EarlyClose)
    {
        assert!(!to_send.is_empty(), "no alert was sent for {}", failure.seen);
    }
    result.map(|established| established.is_some())
}

#[track_caller]
fn assert_refused(kind: ErrorKind, seen: &str, answer: impl FnOnce(&mut Puppet)) {
    let failure = result_of(answer, |_, _, _| panic!("the flight was accepted")).unwrap_err();
    assert_eq!(failure.kind, kind, "{}", failure.seen);
    assert!(failure.seen.contains(seen), "`{}`", failure.seen);
}

fn honest(puppet: &mut Puppet) {
    [honest_hello(), certificate(), done()].iter().for_each(|message| puppet.send(message));
}

fn seal(sealer: &mut Sealer, content_type: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    sealer.seal(content_type, content, &mut out).unwrap();
    out
}

fn changed() -> Vec<u8> {
    in_records(content_type::CHANGE_CIPHER_SPEC, &[1])
}

#[test]
fn an_honest_puppet_is_accepted() {
    let ending = |_: &mut Puppet, mut sealer: Sealer, finished: Vec<u8>| {
        [changed(), seal(&mut sealer, content_type::HANDSHAKE, &finished)].concat()
    };
    assert!(result_of(honest, ending).unwrap());
    // A HelloRequest and a warning are ignored.
    let noisy = |puppet: &mut Puppet| {
        puppet.out.extend(in_records(22, &message(kind::HELLO_REQUEST, &[])));
        puppet.out.extend(in_records(21, &[1, 112]));
        honest(puppet);
    };
    assert!(result_of(noisy, ending).unwrap());
}

#[test]
fn bad_server_hellos_are_refused() {
    use ErrorKind::Handshake;
    let refused = |version, suite, extensions: &[(u16, &[u8])], seen: &str| {
        let hello = server_hello(version, suite, extensions);
        assert_refused(Handshake, seen, |puppet| puppet.send(&hello));
    };
    refused([3, 2], 0x002f, &[], "a version that was not offered");
    refused([3, 4], 0x002f, &[], "a version that was not offered");
    refused([3, 3], 0x009c, &[], "a suite that was not offered");
    refused([3, 3], 0xc013, &[], "a suite that was not offered");
    refused([3, 3], 0x002f, &[(22, &[])], "extension 22, which was not offered");
    refused([3, 3], 0x002f, &[(35, &[])], "extension 35, which was not offered");
    refused([3, 3], 0x002f, &[(23, &[]), (23, &[])], "a malformed ServerHello");
    refused([3, 3], 0x002f, &[(23, &[0])], "a malformed ServerHello");
    refused([3, 3], 0x002f, &[(RENEGOTIATION_INFO.0, &[1, 7])], "a malformed ServerHello");
    let short = message(kind::SERVER_HELLO, &[3, 3, 1]);
    assert_refused(Handshake, "a malformed ServerHello", |puppet| puppet.send(&short));
    let mut compressed = honest_hello();
    compressed[4 + 2 + 32 + 1 + 2] = 1;
    assert_refused(Handshake, "a malformed ServerHello", |puppet| puppet.send(&compressed));
    let record = |bytes: &'static [u8]| move |puppet: &mut Puppet| puppet.out.extend(bytes);
    assert_refused(Handshake, "a message of type 11", |puppet| puppet.send(&certificate()));
    assert_refused(Handshake, "an empty record", record(&[22, 3, 3, 0, 0]));
    assert_refused(Handshake, "a record of type 20", record(&[20, 3, 3, 0, 1, 1]));
    assert_refused(Handshake, "a record of type 23", record(&[23, 3, 3, 0, 1, 1]));
    assert_refused(ErrorKind::NotTls, "not a TLS record", record(b"HTTP/1.1 400"));
    assert_refused(ErrorKind::Alert, "handshake_failure", record(&[21, 3, 3, 0, 2, 2, 40]));
    assert_refused(ErrorKind::EarlyClose, "close_notify", record(&[21, 3, 3, 0, 2, 1, 0]));
    assert_refused(Handshake, "a malformed alert", record(&[21, 3, 3, 0, 1, 1]));
}

#[test]
fn bad_flights_are_refused() {
    use ErrorKind::{Authentication, Handshake};
    let refused = |kind, seen: &str, messages: &[Vec<u8>]| {
        assert_refused(kind, seen, |puppet| {
            puppet.send(&honest_hello());
            messages.iter().for_each(|message| puppet.send(message));
        });
    };
    refused(Handshake, "a message of type 2", &[honest_hello()]);
    refused(Handshake, "a message of type 14", &[done()]);
    refused(
        Authentication,
        "empty list of certificates",
        &[message(kind::CERTIFICATE, &[0, 0, 0])],
    );
    refused(Handshake, "a malformed Cert", &[message(kind::CERTIFICATE, &[0, 0, 3, 0, 0, 1])]);
    refused(Handshake, "a malformed Cert", &[message(kind::CERTIFICATE, &[0, 0, 0, 0])]);
    refused(Authentication, "cannot be read", &[certificate_of(&[9; 40])]);
    let ecdsa = Identity::generate(CertificateKey::EcdsaP256).unwrap();
    let ecdsa = X509::from_pem(&ecdsa.certificate_pem).unwrap().to_der().unwrap();
    refused(Authentication, "cannot encrypt with RSA", &[certificate_of(&ecdsa)]);
    let more = message(kind::SERVER_HELLO_DONE, &[0]);
    refused(Handshake, "a malformed ServerHelloDone", &[certificate(), more]);
    refused(Handshake, "a message of type 12", &[certificate(), message(12, &[3, 0, 29])]);
    let request = message(kind::CERTIFICATE_REQUEST, &[1, 1, 0, 2, 4, 1, 0, 0]);
    let twice = [certificate(), request.clone(), request];
    refused(Handshake, "a message of type 13", &twice);
    for body in [
        &[1, 1, 0][..],
        // No type, no scheme, half a scheme, half the name of an authority, and more after the names.
        &[0, 0, 2, 4, 1, 0, 0],
        &[1, 1, 0, 0, 0, 0],
        &[1, 1, 0, 3, 4, 1, 4, 0, 0],
        &[1, 1, 0, 2, 4, 1, 0, 1, 0],
        &[1, 1, 0, 2, 4, 1, 0, 0, 0],
    ] {
        let malformed = message(kind::CERTIFICATE_REQUEST, body);
        refused(Handshake, "a malformed CertificateRequest", &[certificate(), malformed]);
    }
    assert_refused(Handshake, "a message of type 20", |puppet| {
        let finished = message(kind::FINISHED, &[0; 12]);
        [honest_hello(), certificate(), done(), finished].iter().for_each(|m| puppet.send(m));
    });
    assert_refused(Handshake, "more than 256 KiB", |puppet| {
        puppet.send(&honest_hello());
        puppet.send(&message(kind::CERTIFICATE, &vec![0; 300 << 10]));
    });
}

#[test]
fn bad_endings_are_refused() {
    use ErrorKind::{Authentication, Handshake};
    let refused = |kind, seen: &str, ending: Ending<'_>| {
        let failure = result_of(honest, ending).unwrap_err();
        assert_eq!(failure.kind, kind, "{}", failure.seen);
        assert!(failure.seen.contains(seen), "`{}`", failure.seen);
    };
    let protected = |content_type: u8, content: Vec<u8>| {
        move |_: &mut Puppet, mut sealer: Sealer, _: Vec<u8>| {
            [changed(), seal(&mut sealer, content_type, &content)].concat()
        }
    };
    let wrong = "a Finished that does not match the handshake";
    refused(Authentication, wrong, &protected(22, message(kind::FINISHED, &[0; 12])));
    refused(Authentication, wrong, &protected(22, message(kind::FINISHED, &[])));
    refused(Handshake, "a message of type 4", &protected(22, message(4, &[0; 6])));
    refused(Handshake, "an empty record", &protected(22, Vec::new()));
    refused(Handshake, "data before the handshake's end", &protected(23, b"HTTP".to_vec()));
    refused(ErrorKind::Alert, "bad_record_mac", &protected(21, vec![2, 20]));
    refused(Handshake, "more in a record", &|_, mut sealer, finished| {
        let more = [finished, message(kind::HELLO_REQUEST, &[])].concat();
        [changed(), seal(&mut sealer, 22, &more)].concat()
    });
    refused(Handshake, "not authentic", &|_, _, _| [changed(), in_records(22, &[1; 64])].concat());
    refused(Handshake, "not authentic", &|_, mut sealer, finished| {
        // It is the server's second record, so its sequence number is wrong for a first.
        seal(&mut sealer, 22, &finished);
        [changed(), seal(&mut sealer, 22, &finished)].concat()
    });
    refused(Handshake, "a message of type 20", &|_, _, finished| in_records(22, &finished));
    refused(Handshake, "a record of type 20", &|_, _, _| in_records(20, &[2]));
    refused(ErrorKind::Alert, "decrypt_error", &|_, _, _| in_records(21, &[2, 51]));
    refused(Handshake, "not authentic", &|_, _, _| [changed(), changed()].concat());
}

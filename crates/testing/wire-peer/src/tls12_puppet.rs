//! A server of TLS 1.2 with X25519 whose messages the caller chooses, with the right keys.
//!
//! The client's key exchange is fixed, so the premaster secret is the server's share, whatever it is.

use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;
use openssl::sign::Signer;
use openssl::x509::X509;
use tls::{Identity, PrfHash, Suite};
use wire::record::{HEADER, Header, Opener, Sealer, content_type, tls12_keys, tls12_prf};

use crate::messages::{
    Extensions, in_handshake_records, in_records, kind, message, server_hello, vector16, vector24,
};

const SERVER_RANDOM: [u8; 32] = [5; 32];
const SHARE: [u8; 32] = [7; 32];

/// A server that has received a ClientHello and sends what the caller chooses.
pub struct Tls12Puppet {
    suite: &'static Suite,
    client_random: [u8; 32],
    /// All handshake messages so far.
    transcript: Vec<u8>,
    /// Whether it agrees to an extended master secret.
    is_extended: bool,
    /// Whether it agrees to encrypt-then-MAC.
    encrypt_then_mac: bool,
    /// The transcript's hash up to the client's share (RFC 7627, section 3).
    session_hash: Vec<u8>,
    /// Once the client has sent its share, or the server has resumed.
    keys: Option<Keys>,
    /// The bytes to send.
    pub out: Vec<u8>,
}

struct Keys {
    master: Vec<u8>,
    opener: Opener,
    sealer: Sealer,
}

impl Tls12Puppet {
    /// # Panics
    /// Where the record is too short for a ClientHello.
    pub fn new(client_hello: &[u8], suite: &'static Suite) -> Self {
        Self {
            suite,
            client_random: client_hello[11..43].try_into().expect("32 bytes"),
            transcript: client_hello[HEADER..].to_vec(),
            is_extended: false,
            encrypt_then_mac: false,
            session_hash: Vec::new(),
            keys: None,
            out: Vec::new(),
        }
    }

    /// A ServerHello with these extensions.
    pub fn hello(&self, session_id: &[u8], extensions: &Extensions<'_>) -> Vec<u8> {
        server_hello([3, 3], &SERVER_RANDOM, session_id, self.suite.code_point, extensions)
    }

    /// The Certificate message of an identity.
    ///
    /// # Panics
    /// Where it is none in PEM.
    pub fn certificate(identity: &Identity) -> Vec<u8> {
        let certificate = X509::from_pem(&identity.certificate_pem).expect("PEM");
        let der = certificate.to_der().expect("it was read");
        message(kind::CERTIFICATE, &vector24(&vector24(&der)))
    }

    /// What a ServerKeyExchange says before its signature.
    pub fn parameters(group: u16, share: &[u8]) -> Vec<u8> {
        [&[3], &group.to_be_bytes()[..], &[share.len() as u8], share].concat()
    }

    /// What an honest one says.
    pub fn own_parameters() -> Vec<u8> {
        Self::parameters(29, &SHARE)
    }

    /// A signature of the randoms and these parameters with ECDSA and SHA-256, by this key.
    ///
    /// # Panics
    /// Where the key is none of ECDSA.
    pub fn signature(&self, identity: &Identity, parameters: &[u8]) -> Vec<u8> {
        let key = PKey::private_key_from_pem(&identity.key_pem).expect("PEM");
        let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("an ECDSA key");
        let signed = [&self.client_random, &SERVER_RANDOM, parameters].concat();
        signer.sign_oneshot_to_vec(&signed).expect("an ECDSA key signs")
    }

    /// A ServerKeyExchange with these parameters and this signature.
    pub fn key_exchange(parameters: &[u8], scheme: u16, signature: &[u8]) -> Vec<u8> {
        let body = [parameters, &scheme.to_be_bytes(), &vector16(signature)].concat();
        message(kind::SERVER_KEY_EXCHANGE, &body)
    }

    /// Sends a handshake message without protection.
    pub fn send(&mut self, message: &[u8]) {
        self.note(message);
        self.out.extend(in_handshake_records(message));
    }

    /// Takes a message of its own into the transcript.
    fn note(&mut self, message: &[u8]) {
        if message.first() == Some(&kind::SERVER_HELLO) {
            // After the message's header, version, random and session identifier, which may look like one.
            let length = message.get(38).map_or(0, |length| usize::from(*length));
            let extensions = message.get(39 + length..).unwrap_or_default();
            let has = |kind: u16| {
                let empty = [kind.to_be_bytes(), [0, 0]].concat();
                extensions.windows(empty.len()).any(|window| window == empty)
            };
            (self.is_extended, self.encrypt_then_mac) = (has(23), has(22));
        }
        if message.first() != Some(&kind::HELLO_REQUEST) {
            self.transcript.extend_from_slice(message);
        }
    }

    /// Changes to protected records.
    pub fn change(&mut self) {
        self.out.extend(in_records(content_type::CHANGE_CIPHER_SPEC, &[1]));
    }

    /// Sends a protected record; without keys nothing.
    pub fn seal(&mut self, content_type: u8, content: &[u8]) {
        if let Some(keys) = &mut self.keys {
            let _ = keys.sealer.seal(content_type, content, &mut self.out);
        }
    }

    /// Resumes a session with this master secret.
    pub fn resume(&mut self, master: Vec<u8>) {
        self.set_keys(master);
    }

    /// Takes the client's flight up to its Finished; whether that is the right one.
    pub fn take(&mut self, flight: &[u8]) -> bool {
        let mut rest = flight.to_vec();
        while let Some((header, body)) = record(&mut rest) {
            match (header.content_type, &mut self.keys) {
                (content_type::CHANGE_CIPHER_SPEC, None) => {
                    let (label, seed): (&[u8], _) = match self.is_extended {
                        true => (b"extended master secret", self.session_hash.clone()),
                        false => (b"master secret", [self.client_random, SERVER_RANDOM].concat()),
                    };
                    let master = tls12_prf(self.suite.prf, &SHARE, label, &seed, 48);
                    self.set_keys(master);
                }
                (content_type::CHANGE_CIPHER_SPEC, Some(_)) => {}
                (content_type::HANDSHAKE, None) => self.take_plain(&body),
                (content_type::HANDSHAKE, Some(keys)) => {
                    let mut body = body;
                    let Ok(opened) = keys.opener.open(header, &mut body) else { return false };
                    let finished = &body[opened.plaintext];
                    let is_right = finished == self.finished_of(b"client finished");
                    self.transcript.extend_from_slice(finished);
                    return is_right;
                }
                _ => return false,
            }
        }
        false
    }

    /// Takes the client's messages before its Finished.
    fn take_plain(&mut self, mut messages: &[u8]) {
        while let [kind, high, middle, low, ..] = *messages {
            let length = 4 + u32::from_be_bytes([0, high, middle, low]) as usize;
            let Some((message, rest)) = messages.split_at_checked(length) else { return };
            self.transcript.extend_from_slice(message);
            if kind == kind::CLIENT_KEY_EXCHANGE {
                self.session_hash = self.hash();
            }
            messages = rest;
        }
    }

    /// The server's Finished for this transcript; without keys it is wrong.
    pub fn finished(&self) -> Vec<u8> {
        self.finished_of(b"server finished")
    }

    /// Sends the honest end of a handshake.
    pub fn finish(&mut self) {
        let finished = self.finished();
        self.change();
        self.seal(content_type::HANDSHAKE, &finished);
        self.transcript.extend(finished);
    }

    /// The master secret, once there is one.
    pub fn master(&self) -> Option<Vec<u8>> {
        self.keys.as_ref().map(|keys| keys.master.clone())
    }

    fn finished_of(&self, label: &[u8]) -> Vec<u8> {
        let master = self.keys.as_ref().map_or(&[][..], |keys| &keys.master);
        let verify_data = tls12_prf(self.suite.prf, master, label, &self.hash(), 12);
        message(kind::FINISHED, &verify_data)
    }

    fn set_keys(&mut self, master: Vec<u8>) {
        let etm = self.encrypt_then_mac && self.suite.mac != tls::Mac::Aead;
        let keys = tls12_keys(self.suite, etm, &master, &self.client_random, &SERVER_RANDOM)
            .expect("keys of the right length");
        let (opener, sealer) = (Opener::new(keys.client, 0), Sealer::new(keys.server, 0));
        self.keys = Some(Keys { master, opener, sealer });
    }

    fn hash(&self) -> Vec<u8> {
        let digest = match self.suite.prf {
            PrfHash::Sha256 => MessageDigest::sha256(),
            PrfHash::Sha384 => MessageDigest::sha384(),
        };
        hash(digest, &self.transcript).expect("OpenSSL has SHA-2").to_vec()
    }
}

/// Takes the record that begins here, if it is whole.
fn record(bytes: &mut Vec<u8>) -> Option<(Header, Vec<u8>)> {
    let header = Header::parse(*bytes.first_chunk()?)?;
    let end = HEADER + header.length;
    let body = bytes.get(HEADER..end)?.to_vec();
    bytes.drain(..end);
    Some((header, body))
}

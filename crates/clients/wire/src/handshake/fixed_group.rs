//! Key exchange at no cost for the client: its share is the group's base point.
//!
//! The server multiplies its private key with the client's share. If that is the base point, the
//! result is the server's own public share, which it sends to the client. The server does the same
//! work as always. This gives no secrecy: it is for load on one's own servers.

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// One group with its base point as the client's share.
#[derive(Debug, Clone)]
pub(super) struct FixedGroup {
    name: NamedGroup,
    /// The base point in the encoding of a TLS key share.
    pub(super) base_point: &'static [u8],
    /// The part of the server's share that is the shared secret: all of it, or the x coordinate.
    secret: std::ops::Range<usize>,
}

/// RFC 7748, section 4.1: u = 9, little-endian.
pub(super) static X25519: FixedGroup = FixedGroup {
    name: NamedGroup::X25519,
    base_point: &{
        let mut u = [0; 32];
        u[0] = 9;
        u
    },
    secret: 0..32,
};

/// SEC 2, section 2.4.2: an uncompressed point.
pub(super) static SECP256R1: FixedGroup = FixedGroup {
    name: NamedGroup::secp256r1,
    base_point: &point::<65, 32>(
        b"6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
          4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
    ),
    secret: 1..33,
};

/// SEC 2, section 2.5.1: an uncompressed point.
pub(super) static SECP384R1: FixedGroup = FixedGroup {
    name: NamedGroup::secp384r1,
    base_point: &point::<97, 48>(
        b"aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7\
          3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
    ),
    secret: 1..49,
};

/// SEC 2, section 2.6.1: an uncompressed point.
pub(super) static SECP521R1: FixedGroup = FixedGroup {
    name: NamedGroup::secp521r1,
    base_point: &point::<133, 66>(
        b"00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3d\
          baa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66\
          011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e66\
          2c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650",
    ),
    secret: 1..67,
};

impl FixedGroup {
    /// Only the shape is checked: with a wrong share no record decrypts.
    pub(super) fn shared<'s>(&self, share: &'s [u8]) -> Option<&'s [u8]> {
        (share.len() == self.base_point.len()).then(|| &share[self.secret.clone()])
    }
}

/// `04 || x || y` from hexadecimal digits.
const fn point<const LENGTH: usize, const COORDINATE: usize>(hex: &[u8]) -> [u8; LENGTH] {
    assert!(LENGTH == 1 + 2 * COORDINATE && hex.len() == 4 * COORDINATE);
    const fn digit(ascii: u8) -> u8 {
        match ascii {
            b'0'..=b'9' => ascii - b'0',
            b'a'..=b'f' => ascii - b'a' + 10,
            _ => panic!("not a digit"),
        }
    }
    let mut bytes = [0; LENGTH];
    bytes[0] = 4;
    let mut i = 0;
    while i < 2 * COORDINATE {
        bytes[1 + i] = digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]);
        i += 1;
    }
    bytes
}

impl SupportedKxGroup for FixedGroup {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(self.clone()))
    }

    fn name(&self) -> NamedGroup {
        self.name
    }
}

impl ActiveKeyExchange for FixedGroup {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        let shared = self.shared(peer_pub_key).ok_or(PeerMisbehaved::InvalidKeyShare)?;
        Ok(SharedSecret::from(shared))
    }

    fn pub_key(&self) -> &[u8] {
        self.base_point
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}

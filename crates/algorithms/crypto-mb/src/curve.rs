//! Elliptic curves: ECDSA and ECDH on P-256 and P-384 (FIPS 186-5, SP 800-56A), and X25519 (RFC 7748).

use zeroize::Zeroizing;

use crate::lanes::{Fault, LANES, Statuses, lanes};
use crate::library::CryptoMb;
use crate::rsa::words;

/// A curve of NIST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Curve {
    P256,
    P384,
}

impl Curve {
    /// Bytes of a coordinate, of a scalar, and of the digest that is signed.
    pub const fn bytes(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
        }
    }

    /// The number of its points, the lowest word first (SP 800-186, section 3.2.1).
    const fn order(self) -> &'static [u64] {
        match self {
            Self::P256 => &[
                0xf3b9_cac2_fc63_2551,
                0xbce6_faad_a717_9e84,
                0xffff_ffff_ffff_ffff,
                0xffff_ffff_0000_0000,
            ],
            Self::P384 => &[
                0xecec_196a_ccc5_2973,
                0x581a_0db2_48b0_a77a,
                0xc763_4d81_f437_2ddf,
                0xffff_ffff_ffff_ffff,
                0xffff_ffff_ffff_ffff,
                0xffff_ffff_ffff_ffff,
            ],
        }
    }
}

/// A private key, or a nonce: a number from 1 to the order of the curve less 1.
pub struct Scalar {
    curve: Curve,
    words: Zeroizing<Box<[u64]>>,
}

impl Scalar {
    /// From its bytes, the highest first; `None` where it is out of range.
    pub fn new(curve: Curve, bytes: &[u8]) -> Option<Self> {
        let is_short = bytes.len() <= curve.bytes();
        let words = Zeroizing::new(words(bytes, curve.bytes()));
        let is_below = words.iter().rev().lt(curve.order().iter().rev());
        (is_short && is_below && words.iter().any(|word| *word != 0))
            .then_some(Self { curve, words })
    }

    /// A fresh one from the system's generator, by rejection (FIPS 186-5, A.3.2).
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random(curve: Curve) -> Result<Self, getrandom::Error> {
        /// Of random numbers, fewer than one in four billions is out of range.
        const TRIES: usize = 8;
        for _ in 0..TRIES {
            let mut bytes = Zeroizing::new([0; 48]);
            let bytes = &mut bytes[..curve.bytes()];
            getrandom::fill(bytes)?;
            if let Some(scalar) = Self::new(curve, bytes) {
                return Ok(scalar);
            }
        }
        Err(getrandom::Error::UNEXPECTED)
    }

    /// The curve whose order it is below.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// Its bytes, the highest first.
    pub fn bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.words.iter().rev().flat_map(|word| word.to_be_bytes()).collect())
    }
}

/// What is to be signed: a digest of as many bytes as the curve has.
pub struct Ecdsa<'a> {
    pub key: &'a Scalar,
    pub digest: &'a [u8],
}

/// The two numbers of a signature, the highest byte first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub r: Vec<u8>,
    pub s: Vec<u8>,
}

/// An own private key and another one's public key (RFC 7748, section 5).
pub struct X25519<'a> {
    pub secret: &'a [u8; 32],
    pub peer: &'a [u8; 32],
}

/// What one lane came to.
type Outcome<T> = Result<T, Fault>;

impl CryptoMb {
    /// Signs up to eight digests, each with a fresh nonce.
    ///
    /// # Errors
    /// The system has no random numbers.
    ///
    /// # Panics
    /// There are more than eight, or a key or a digest is not of this curve.
    pub fn ecdsa_sign(
        &self,
        curve: Curve,
        operations: &[Ecdsa<'_>],
    ) -> Result<Vec<Outcome<Signature>>, getrandom::Error> {
        let fits = |one: &Ecdsa<'_>| one.key.curve == curve && one.digest.len() == curve.bytes();
        assert!(
            operations.len() <= LANES && operations.iter().all(fits),
            "up to eight of one curve"
        );
        let nonces = operations.iter().map(|_| Scalar::random(curve));
        let nonces = nonces.collect::<Result<Vec<_>, _>>()?;
        let mut made = vec![[[0; 48]; 2]; operations.len()];
        let mut places = [[std::ptr::null_mut(); LANES]; 2];
        for (lane, [r, s]) in made.iter_mut().enumerate() {
            (places[0][lane], places[1][lane]) = (r.as_mut_ptr(), s.as_mut_ptr());
        }
        let digests = lanes(operations, |one| one.digest.as_ptr());
        let keys = lanes(operations, |one| one.key.words.as_ptr());
        let nonces_at = lanes(&nonces, |nonce| nonce.words.as_ptr());
        let nowhere = std::ptr::null_mut();
        let sign = match curve {
            Curve::P256 => self.functions.mbx_nistp256_ecdsa_sign_mb8,
            Curve::P384 => self.functions.mbx_nistp384_ecdsa_sign_mb8,
        };
        // SAFETY: each lane has no buffers, or all of them, of the curve's size or more. The library needs no
        // scratch.
        let statuses =
            Statuses(unsafe { sign(&places[0], &places[1], &digests, &nonces_at, &keys, nowhere) });
        let signature = |lane: usize| {
            let [r, s] = made[lane].map(|number| number[..curve.bytes()].to_vec());
            statuses.of_lane(lane)?;
            // FIPS 186-5, section 6.4.1. More is not checked: to verify would cost more than to sign.
            let are_in_range = [&r, &s].iter().all(|number| Scalar::new(curve, number).is_some());
            if are_in_range { Ok(Signature { r, s }) } else { Err(Fault::Wrong) }
        };
        Ok((0..operations.len()).map(signature).collect())
    }

    /// The x-coordinates of the points that up to eight own keys share with those of others: points as
    /// uncompressed ones without their first byte, which the caller knows to be on the curve.
    ///
    /// # Panics
    /// There are more than eight, or a key or a point is not of this curve.
    pub fn ecdh(
        &self,
        curve: Curve,
        operations: &[(&Scalar, &[u8])],
    ) -> Vec<Outcome<Zeroizing<Vec<u8>>>> {
        let bytes = curve.bytes();
        let fits = |(key, point): &(&Scalar, &[u8])| key.curve == curve && point.len() == 2 * bytes;
        assert!(
            operations.len() <= LANES && operations.iter().all(fits),
            "up to eight of one curve"
        );
        let half = |which: usize| {
            let halves = operations.iter().map(move |(_, point)| &point[which * bytes..][..bytes]);
            halves.map(|half| words(half, bytes)).collect::<Vec<_>>()
        };
        let (x, y) = (half(0), half(1));
        let keys = lanes(operations, |(key, _)| key.words.as_ptr());
        let (x_at, y_at) = (lanes(&x, |one| one.as_ptr()), lanes(&y, |one| one.as_ptr()));
        let mut secrets = vec![Zeroizing::new(vec![0; bytes]); operations.len()];
        let places = places(&mut secrets);
        let (affine, nowhere) = (std::ptr::null(), std::ptr::null_mut());
        let derive = match curve {
            Curve::P256 => self.functions.mbx_nistp256_ecdh_mb8,
            Curve::P384 => self.functions.mbx_nistp384_ecdh_mb8,
        };
        // SAFETY: each lane has no buffers, or all of them, of the curve's size or more; without the third coordinates,
        // points are affine.
        let statuses = Statuses(unsafe { derive(&places, &keys, &x_at, &y_at, affine, nowhere) });
        outcomes(statuses, secrets)
    }

    /// The public points of up to eight keys, as uncompressed ones without their first byte.
    ///
    /// # Panics
    /// There are more than eight, or a key is not of this curve.
    pub fn ec_public(&self, curve: Curve, keys: &[&Scalar]) -> Vec<Outcome<Vec<u8>>> {
        let is_of_curve = keys.iter().all(|key| key.curve == curve);
        assert!(keys.len() <= LANES && is_of_curve, "up to eight of one curve");
        let mut points = vec![[[0u64; 6]; 2]; keys.len()];
        let mut places = [[std::ptr::null_mut(); LANES]; 2];
        for (lane, [x, y]) in points.iter_mut().enumerate() {
            (places[0][lane], places[1][lane]) = (x.as_mut_ptr(), y.as_mut_ptr());
        }
        let keys_at = lanes(keys, |key| key.words.as_ptr());
        let (affine, nowhere) = (std::ptr::null(), std::ptr::null_mut());
        let public = match curve {
            Curve::P256 => self.functions.mbx_nistp256_ecpublic_key_mb8,
            Curve::P384 => self.functions.mbx_nistp384_ecpublic_key_mb8,
        };
        // SAFETY: each lane has no buffers, or all of them, of the curve's size or more; without the third coordinates,
        // points are affine.
        let statuses =
            Statuses(unsafe { public(&places[0], &places[1], affine, &keys_at, nowhere) });
        let point = |lane: usize| {
            let words = points[lane].iter().flat_map(|half| half[..curve.bytes() / 8].iter().rev());
            let bytes: Vec<_> = words.flat_map(|word| word.to_be_bytes()).collect();
            statuses.of_lane(lane)?;
            if is_zero(&bytes) { Err(Fault::Wrong) } else { Ok(bytes) }
        };
        (0..keys.len()).map(point).collect()
    }

    /// The secrets that up to eight own keys share with those of others; one of all zeros, as a peer's key of low
    /// order leads to, is refused (RFC 7748, section 6.1).
    ///
    /// # Panics
    /// There are more than eight.
    pub fn x25519(&self, operations: &[X25519<'_>]) -> Vec<Outcome<Zeroizing<Vec<u8>>>> {
        assert!(operations.len() <= LANES, "up to eight");
        let mut secrets = vec![Zeroizing::new(vec![0; 32]); operations.len()];
        let places = places(&mut secrets);
        let keys = lanes(operations, |one| one.secret.as_ptr());
        let peers = lanes(operations, |one| one.peer.as_ptr());
        // SAFETY: each lane has no buffers, or three of 32 bytes.
        let statuses = Statuses(unsafe { (self.functions.mbx_x25519_mb8)(&places, &keys, &peers) });
        outcomes(statuses, secrets)
    }

    /// The public keys of up to eight private ones.
    ///
    /// # Panics
    /// There are more than eight.
    pub fn x25519_public(&self, secrets: &[&[u8; 32]]) -> Vec<Outcome<[u8; 32]>> {
        assert!(secrets.len() <= LANES, "up to eight");
        let mut public = vec![[0; 32]; secrets.len()];
        let mut places = [std::ptr::null_mut(); LANES];
        for (place, room) in places.iter_mut().zip(&mut public) {
            *place = room.as_mut_ptr();
        }
        let keys = lanes(secrets, |secret| secret.as_ptr());
        // SAFETY: each lane has no buffers, or two of 32 bytes.
        let statuses =
            Statuses(unsafe { (self.functions.mbx_x25519_public_key_mb8)(&places, &keys) });
        let public = public.into_iter().enumerate();
        let outcome = |(lane, key): (usize, [u8; 32])| {
            statuses.of_lane(lane)?;
            if is_zero(&key) { Err(Fault::Wrong) } else { Ok(key) }
        };
        public.map(outcome).collect()
    }
}

/// Secrets with what became of their lanes; one of all zeros is wrong.
fn outcomes(
    statuses: Statuses,
    secrets: Vec<Zeroizing<Vec<u8>>>,
) -> Vec<Outcome<Zeroizing<Vec<u8>>>> {
    let outcome = |(lane, secret): (usize, Zeroizing<Vec<u8>>)| {
        statuses.of_lane(lane)?;
        if is_zero(&secret) { Err(Fault::Wrong) } else { Ok(secret) }
    };
    secrets.into_iter().enumerate().map(outcome).collect()
}

/// In the same time for all secrets.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, byte| all | byte) == 0
}

/// Where the library is to write secrets.
fn places(secrets: &mut [Zeroizing<Vec<u8>>]) -> [*mut u8; LANES] {
    let mut places = [std::ptr::null_mut(); LANES];
    for (place, room) in places.iter_mut().zip(secrets) {
        *place = room.as_mut_ptr();
    }
    places
}

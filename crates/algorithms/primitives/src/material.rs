//! What all libraries work on: one message, one key pair, one signature for an algorithm, so that
//! their results can be compared.
//!
//! Symmetric keys and messages are fixed: they protect nothing, and neither content nor key changes
//! what these algorithms cost. Key pairs are made fresh by the system's OpenSSL in each process.
//! Signatures that are verified come from it too, and have been accepted by `ring`.

use std::sync::OnceLock;

use ml_kem::kem::{Encapsulate, KeyExport};
use openssl::bn::BigNumContext;
use openssl::ec::{EcGroup, EcKey, PointConversionForm};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::rsa::{Padding, Rsa};
use openssl::sign::Signer;
use ring::signature::{self as rs, VerificationAlgorithm};

use crate::algorithm::{Agreement, Algorithm, Curve, KEM_KEY, RsaBits, Signing};
use crate::routine::{Failed, Unavailable};

/// The associated data of sealing: as long as that of a TLS 1.2 record.
const ASSOCIATED_DATA: [u8; 13] = [0x17; 13];

/// What is signed: as long as a digest, so that hashing it costs next to nothing.
const SIGNED: [u8; 32] = [0x5a; 32];

pub struct Material {
    /// The key of a cipher; shorter keys are its beginning.
    pub(crate) key: [u8; 32],
    pub(crate) mac_key: [u8; 32],
    /// The first block of a chain or counter; nonces are its beginning.
    pub(crate) iv: [u8; 16],
    /// What is sealed with the message, unencrypted.
    pub(crate) associated: Vec<u8>,
    /// What the routine's input is: a message, the peer's share, a signature or a ciphertext.
    pub(crate) input: Vec<u8>,
    pub(crate) signed: &'static [u8],
    /// The own key pair, where the algorithm has one.
    pub(crate) own: Option<KeyPair>,
    /// The other side's key pair, where there is another side.
    pub(crate) peer: Option<KeyPair>,
    /// The ML-KEM key pair, where the algorithm has one.
    pub(crate) kem: Option<KemKeys>,
}

/// A key pair in the forms that libraries read.
#[derive(Clone)]
pub(crate) struct KeyPair {
    /// PKCS #8, in DER.
    pub pkcs8: Vec<u8>,
    /// SubjectPublicKeyInfo, in DER.
    pub spki: Vec<u8>,
    /// 32 bytes of Curve25519 or a scalar of P-256 or P-384; empty for others.
    pub secret: Vec<u8>,
    /// RSAPublicKey in DER, an uncompressed point, or the bytes of Curve25519.
    pub public: Vec<u8>,
}

/// An ML-KEM-768 key pair (FIPS 203), and an encapsulation to it.
#[derive(Clone)]
pub(crate) struct KemKeys {
    /// The seed, 64 bytes; a key that a library generated may have its expanded form only.
    pub seed: Option<[u8; 64]>,
    /// The decapsulation key in its expanded form, 2,400 bytes.
    pub decapsulation: Vec<u8>,
    /// The encapsulation key, 1,184 bytes.
    pub encapsulation: Vec<u8>,
    /// An encapsulation by RustCrypto, 1,088 bytes.
    pub ciphertext: Vec<u8>,
}

impl From<ErrorStack> for Failed {
    fn from(error: ErrorStack) -> Self {
        Self(format!("the keys for a measurement cannot be made: {error}"))
    }
}

impl Material {
    /// What stands for the hashes of a transcript: two of the fixed keys.
    pub(crate) fn transcript_hashes(&self) -> [[u8; 32]; 2] {
        [self.key, self.mac_key]
    }

    /// For messages of `size` bytes, which algorithms measured by the operation do not look at.
    pub fn new(algorithm: Algorithm, size: usize) -> Result<Self, Failed> {
        let mut material = Self {
            key: std::array::from_fn(|i| i as u8),
            mac_key: std::array::from_fn(|i| 0x40 + i as u8),
            iv: std::array::from_fn(|i| 0xa0 + i as u8),
            associated: ASSOCIATED_DATA.to_vec(),
            input: Vec::new(),
            signed: &SIGNED,
            own: None,
            peer: None,
            kem: None,
        };
        match algorithm {
            Algorithm::Rsa(bits, signing) => {
                material.signature(rsa_keys(bits)?, algorithm, signing)?
            }
            Algorithm::RsaDecrypt(bits) => {
                let keys = rsa_keys(bits)?;
                material.input = encrypted(keys, &premaster())?;
                material.own = Some(keys.clone());
            }
            Algorithm::Ecdsa(curve, signing) => {
                material.signature(&ec_keys(curve)?, algorithm, signing)?;
            }
            Algorithm::Ed25519(signing) => {
                material.signature(&curve25519(Id::ED25519)?, algorithm, signing)?;
            }
            Algorithm::X25519(_) => {
                let (own, peer) = (curve25519(Id::X25519)?, curve25519(Id::X25519)?);
                material.input.clone_from(&peer.public);
                (material.own, material.peer) = (Some(own), Some(peer));
            }
            Algorithm::Ecdh(curve, _) => {
                let (own, peer) = (ec_keys(curve)?, ec_keys(curve)?);
                material.input.clone_from(&peer.public);
                (material.own, material.peer) = (Some(own), Some(peer));
            }
            Algorithm::MlKem768(_) | Algorithm::X25519MlKem768(_) => {
                let kem = KemKeys::new();
                let (own, peer) = (curve25519(Id::X25519)?, curve25519(Id::X25519)?);
                use crate::algorithm::{Kem, Side};
                // The shares of X25519MLKEM768 have the ML-KEM part in front.
                material.input = match algorithm {
                    Algorithm::MlKem768(Kem::Generate) => Vec::new(),
                    Algorithm::MlKem768(Kem::Encapsulate) => kem.encapsulation.clone(),
                    Algorithm::MlKem768(Kem::Decapsulate) => kem.ciphertext.clone(),
                    Algorithm::X25519MlKem768(Side::Server) => {
                        [&kem.encapsulation[..], &peer.public].concat()
                    }
                    _ => [&kem.ciphertext[..], &peer.public].concat(),
                };
                (material.own, material.peer, material.kem) = (Some(own), Some(peer), Some(kem));
            }
            Algorithm::KeySchedule => material.input = message(32, 0),
            _ => material.input = message(size, 0),
        }
        Ok(material)
    }

    /// The own key pair, which the algorithm must have.
    pub(crate) fn own(&self) -> Result<&KeyPair, Unavailable> {
        self.own.as_ref().ok_or_else(|| Unavailable::because("there is no key for it"))
    }

    /// The ML-KEM key pair, which the algorithm must have.
    pub(crate) fn kem(&self) -> Result<&KemKeys, Unavailable> {
        self.kem.as_ref().ok_or_else(|| Unavailable::because("there is no key for it"))
    }

    /// Of the same keys with another input.
    pub(crate) fn with_input(&self, input: Vec<u8>) -> Self {
        Self {
            input,
            associated: self.associated.clone(),
            own: self.own.clone(),
            peer: self.peer.clone(),
            kem: self.kem.clone(),
            ..*self
        }
    }

    /// The inputs of what is done at once: others for each, where a second library can tell them apart.
    pub(crate) fn of_lanes(
        &self,
        algorithm: Algorithm,
        lanes: usize,
    ) -> Result<Vec<Vec<u8>>, Failed> {
        let input = |lane| {
            Ok(match algorithm {
                Algorithm::RsaDecrypt(bits) => encrypted(rsa_keys(bits)?, &premaster())?,
                Algorithm::X25519(Agreement::Derive) => curve25519(Id::X25519)?.public,
                Algorithm::Ecdh(curve, Agreement::Derive) => ec_keys(curve)?.public,
                Algorithm::X25519(_) | Algorithm::Ecdh(..) | Algorithm::Ecdsa(..) => {
                    self.input.clone()
                }
                _ => message(self.input.len(), lane),
            })
        };
        (0..lanes).map(input).collect()
    }

    fn signature(
        &mut self,
        keys: &KeyPair,
        algorithm: Algorithm,
        signing: Signing,
    ) -> Result<(), Failed> {
        self.input = match signing {
            Signing::Sign => self.signed.to_vec(),
            Signing::Verify => signed(algorithm, keys, self.signed)?,
        };
        if signing == Signing::Verify && !is_accepted(algorithm, keys, self.signed, &self.input) {
            return Err(Failed::because("ring refuses a signature of OpenSSL"));
        }
        self.own = Some(keys.clone());
        Ok(())
    }
}

/// Bytes without a short period, others for each lane.
pub(crate) fn message(size: usize, lane: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 167 + i / 251 + lane * 29 + 3) as u8).collect()
}

/// A premaster secret of TLS 1.2 (RFC 5246, 7.4.7.1): the version and 46 bytes.
pub(crate) fn premaster() -> Vec<u8> {
    [&[3, 3][..], &message(46, 0)].concat()
}

/// With PKCS #1 version 1.5, as a client of static RSA does it.
fn encrypted(keys: &KeyPair, secret: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let key = Rsa::public_key_from_der_pkcs1(&keys.public)?;
    let mut encrypted = vec![0; key.size() as usize];
    key.public_encrypt(secret, &mut encrypted, Padding::PKCS1)?;
    Ok(encrypted)
}

/// The key pair of that size, made once per process: 4096 bits take 1 s.
fn rsa_keys(bits: RsaBits) -> Result<&'static KeyPair, Failed> {
    static KEYS: [OnceLock<Result<KeyPair, Failed>>; 4] = [const { OnceLock::new() }; 4];
    let keys = KEYS[bits as usize / 1024 - 1].get_or_init(|| {
        let rsa = Rsa::generate(bits.bits())?;
        let public = rsa.public_key_to_der_pkcs1()?;
        Ok(KeyPair::new(&PKey::from_rsa(rsa)?, Vec::new(), public)?)
    });
    keys.as_ref().map_err(Clone::clone)
}

fn ec_keys(curve: Curve) -> Result<KeyPair, ErrorStack> {
    let nid = match curve {
        Curve::P256 => Nid::X9_62_PRIME256V1,
        Curve::P384 => Nid::SECP384R1,
    };
    let group = EcGroup::from_curve_name(nid)?;
    let key = EcKey::generate(&group)?;
    let secret = key.private_key().to_vec_padded(curve.bytes() as i32)?;
    let mut context = BigNumContext::new()?;
    let form = PointConversionForm::UNCOMPRESSED;
    let public = key.public_key().to_bytes(&group, form, &mut context)?;
    KeyPair::new(&PKey::from_ec_key(key)?, secret, public)
}

fn curve25519(id: Id) -> Result<KeyPair, ErrorStack> {
    let key = match id {
        Id::ED25519 => PKey::generate_ed25519()?,
        _ => PKey::generate_x25519()?,
    };
    let (secret, public) = (key.raw_private_key()?, key.raw_public_key()?);
    KeyPair::new(&key, secret, public)
}

impl KeyPair {
    pub(crate) fn new(
        key: &PKey<Private>,
        secret: Vec<u8>,
        public: Vec<u8>,
    ) -> Result<Self, ErrorStack> {
        let (pkcs8, spki) = (key.private_key_to_pkcs8()?, key.public_key_to_der()?);
        Ok(Self { pkcs8, spki, secret, public })
    }
}

impl KemKeys {
    fn new() -> Self {
        let seed = std::array::from_fn(|i| i as u8 ^ 0x3c);
        let key = ml_kem::ml_kem_768::DecapsulationKey::from_seed(seed.into());
        let (ciphertext, _) = key.encapsulation_key().encapsulate();
        Self {
            seed: Some(seed),
            decapsulation: expanded(seed),
            encapsulation: key.encapsulation_key().to_bytes().to_vec(),
            ciphertext: ciphertext.to_vec(),
        }
    }

    /// From what a routine generated: a seed or an expanded key, and the encapsulation key after it.
    pub(crate) fn of(generated: &[u8]) -> Option<Self> {
        let secret_bytes = generated.len().checked_sub(KEM_KEY)?;
        let (secret, encapsulation) = generated.split_at(secret_bytes);
        let seed = <[u8; 64]>::try_from(secret).ok();
        Some(Self {
            seed,
            decapsulation: seed.map_or_else(|| secret.to_vec(), expanded),
            encapsulation: encapsulation.to_vec(),
            ciphertext: Vec::new(),
        })
    }
}

/// The decapsulation key of a seed, in its expanded form.
fn expanded(seed: [u8; 64]) -> Vec<u8> {
    let key = ml_kem::ml_kem_768::DecapsulationKey::from_seed(seed.into());
    #[expect(deprecated, reason = "other libraries read the expanded form only")]
    ml_kem::ExpandedKeyEncoding::to_expanded_bytes(&key).to_vec()
}

fn signed(algorithm: Algorithm, keys: &KeyPair, message: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let key = PKey::private_key_from_pkcs8(&keys.pkcs8)?;
    let mut signer = match algorithm {
        Algorithm::Ed25519(_) => Signer::new_without_digest(&key)?,
        Algorithm::Ecdsa(Curve::P384, _) => Signer::new(MessageDigest::sha384(), &key)?,
        _ => Signer::new(MessageDigest::sha256(), &key)?,
    };
    signer.sign_oneshot_to_vec(message)
}

fn is_accepted(algorithm: Algorithm, keys: &KeyPair, message: &[u8], signature: &[u8]) -> bool {
    let method: &dyn VerificationAlgorithm = match algorithm {
        Algorithm::Ecdsa(Curve::P256, _) => &rs::ECDSA_P256_SHA256_ASN1,
        Algorithm::Ecdsa(Curve::P384, _) => &rs::ECDSA_P384_SHA384_ASN1,
        Algorithm::Ed25519(_) => &rs::ED25519,
        _ => &rs::RSA_PKCS1_2048_8192_SHA256,
    };
    rs::UnparsedPublicKey::new(method, &keys.public).verify(message, signature).is_ok()
}

//! AWS-LC, through `aws-lc-rs`: what it does not offer in safe functions is not measured.

use aws_lc_rs::cipher::{
    AES_128, AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{agreement, kem, rsa as encryption};

use crate::algorithm::{Aes, Agreement, Algorithm, Curve, Direction, Hash, Kem, Side, Signing};
use crate::key_schedule::{self, Secrets};
use crate::libraries::library::Library;
use crate::libraries::ring_like::{common, first, put};
use crate::material::{KemKeys, KeyPair, Material};
use crate::routine::{Failed, Routine, Seal, Unavailable};

common!(aws_lc_rs);

/// Bytes of an ML-KEM-768 ciphertext (FIPS 203, table 3).
const CIPHERTEXT: usize = 1088;
/// Bytes of an ML-KEM-768 encapsulation key.
const ENCAPSULATION_KEY: usize = 1184;

pub(crate) struct AwsLc;

impl Library for AwsLc {
    fn id(&self) -> &str {
        "aws-lc"
    }

    fn title(&self) -> &str {
        concat!("AWS-LC (aws-lc-rs ", env!("VERSION_OF_AWS_LC_RS"), ")")
    }

    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
        use Algorithm as A;
        if let Some(prepared) = common(algorithm, material) {
            return prepared;
        }
        match algorithm {
            A::Cbc(..) | A::Ctr(_) => plain(algorithm, material),
            A::X25519(agreement) | A::EcdhP256(agreement) => {
                agreeing(algorithm, agreement, material)
            }
            A::RsaDecrypt(_) => rsa_decryption(material),
            A::MlKem768(part) => ml_kem(part, material),
            A::X25519MlKem768(side) => hybrid(side, material),
            _ => Err(Unavailable::because("aws-lc-rs has no stitched cipher")),
        }
    }
}

fn ecdsa_key(
    method: &'static signature::EcdsaSigningAlgorithm,
    pkcs8: &[u8],
    _random: &rand::SystemRandom,
) -> Result<signature::EcdsaKeyPair, Unavailable> {
    signature::EcdsaKeyPair::from_pkcs8(method, pkcs8).map_err(|error| refused(&error.to_string()))
}

fn verifying_key(
    method: &'static dyn signature::VerificationAlgorithm,
    public: Vec<u8>,
) -> Result<signature::ParsedPublicKey, Unavailable> {
    signature::ParsedPublicKey::new(method, public).map_err(|error| refused(&error.to_string()))
}

fn verify_with(
    key: &signature::ParsedPublicKey,
    message: &[u8],
    made: &[u8],
) -> Result<(), aws_lc_rs::error::Unspecified> {
    key.verify_sig(message, made)
}

fn plain(algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
    let (Algorithm::Cbc(size, _) | Algorithm::Ctr(size)) = algorithm else {
        return Err(refused("the algorithm"));
    };
    let method = match size {
        Aes::Aes128 => &AES_128,
        Aes::Aes256 => &AES_256,
    };
    let key = UnboundCipherKey::new(method, &material.key[..size.key_bytes()]);
    let key = key.map_err(|_| refused("the key"))?;
    let iv = material.iv;
    let seal: Seal = match algorithm {
        Algorithm::Cbc(_, Direction::Decrypt) => {
            let key = DecryptingKey::cbc(key).map_err(|_| refused("the key"))?;
            Box::new(move |message| {
                let context = DecryptionContext::Iv128(FixedLength::from(iv));
                key.decrypt(message, context).map(drop).map_err(|_| Failed::of("decrypt"))
            })
        }
        _ => {
            let key = match algorithm {
                Algorithm::Ctr(_) => EncryptingKey::ctr(key),
                _ => EncryptingKey::cbc(key),
            };
            let key = key.map_err(|_| refused("the key"))?;
            Box::new(move |message| {
                let context = EncryptionContext::Iv128(FixedLength::from(iv));
                key.less_safe_encrypt(message, context).map(drop).map_err(|_| Failed::of("encrypt"))
            })
        }
    };
    Ok(Routine::InPlace { front: 0, seal })
}

fn rsa_decryption(material: &Material) -> Result<Routine, Unavailable> {
    let key = encryption::PrivateDecryptingKey::from_pkcs8(&own(material)?.pkcs8);
    let key = key.map_err(|error| refused(&error.to_string()))?;
    let key = encryption::Pkcs1PrivateDecryptingKey::new(key).map_err(|_| refused("the key"))?;
    Ok(Routine::Apart(Box::new(move |input, output| {
        let secret = key.decrypt(input, output).map_err(|_| Failed::of("decrypt"))?;
        Ok(secret.len())
    })))
}

/// An own key and the functions of a group.
struct Exchange {
    method: &'static agreement::Algorithm,
    own: agreement::PrivateKey,
}

impl Exchange {
    fn new(algorithm: Algorithm, material: &Material) -> Result<Self, Unavailable> {
        let method = match algorithm {
            Algorithm::EcdhP256(_) => &agreement::ECDH_P256,
            _ => &agreement::X25519,
        };
        let own = agreement::PrivateKey::from_private_key(method, &own(material)?.secret);
        Ok(Self { method, own: own.map_err(|error| refused(&error.to_string()))? })
    }

    fn generate(&self) -> Result<agreement::PrivateKey, Failed> {
        agreement::PrivateKey::generate(self.method).map_err(|_| Failed::of("generate"))
    }

    fn derive(
        &self,
        key: &agreement::PrivateKey,
        peer: &[u8],
        output: &mut [u8],
    ) -> Result<usize, Failed> {
        let peer = agreement::UnparsedPublicKey::new(self.method, peer);
        agreement::agree(key, peer, Failed::of("agree"), |secret| put(secret, output))
    }
}

fn public(key: &agreement::PrivateKey, output: &mut [u8]) -> Result<usize, Failed> {
    let public = key.compute_public_key().map_err(|_| Failed::of("compute_public_key"))?;
    put(public.as_ref(), output)
}

fn agreeing(
    algorithm: Algorithm,
    agreement: Agreement,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let exchange = Exchange::new(algorithm, material)?;
    Ok(Routine::Apart(Box::new(move |peer, output| match agreement {
        Agreement::Derive => exchange.derive(&exchange.own, peer, output),
        Agreement::Exchange => {
            let key = exchange.generate()?;
            let share = public(&key, output)?;
            Ok(share + exchange.derive(&key, peer, &mut output[share..])?)
        }
    })))
}

fn decapsulation_key(
    material: &Material,
) -> Result<kem::DecapsulationKey<kem::AlgorithmId>, Unavailable> {
    let keys: &KemKeys = material.kem.as_ref().ok_or_else(|| refused("no key"))?;
    kem::DecapsulationKey::new(&kem::ML_KEM_768, &keys.decapsulation)
        .map_err(|error| refused(&error.to_string()))
}

fn encapsulate(to: &[u8]) -> Result<(kem::Ciphertext<'static>, kem::SharedSecret), Failed> {
    let key = kem::EncapsulationKey::new(&kem::ML_KEM_768, to);
    key.map_err(|_| Failed::of("EncapsulationKey::new"))?
        .encapsulate()
        .map_err(|_| Failed::of("encapsulate"))
}

fn decapsulate(
    key: &kem::DecapsulationKey<kem::AlgorithmId>,
    ciphertext: &[u8],
    output: &mut [u8],
) -> Result<usize, Failed> {
    let secret = key.decapsulate(ciphertext.into()).map_err(|_| Failed::of("decapsulate"))?;
    put(secret.as_ref(), output)
}

/// A fresh key in its expanded form, and the encapsulation key.
fn generate(output: &mut [u8]) -> Result<usize, Failed> {
    let failed = |_| Failed::of("DecapsulationKey::generate");
    let key = kem::DecapsulationKey::generate(&kem::ML_KEM_768).map_err(failed)?;
    let at = put(key.key_bytes().map_err(failed)?.as_ref(), output)?;
    let public = key.encapsulation_key().and_then(|public| public.key_bytes()).map_err(failed)?;
    Ok(at + put(public.as_ref(), &mut output[at..])?)
}

fn ml_kem(part: Kem, material: &Material) -> Result<Routine, Unavailable> {
    let own = decapsulation_key(material)?;
    Ok(Routine::Apart(Box::new(move |input, output| match part {
        Kem::Generate => generate(output),
        Kem::Encapsulate => {
            let (ciphertext, secret) = encapsulate(input)?;
            let bytes = put(ciphertext.as_ref(), output)?;
            Ok(bytes + put(secret.as_ref(), &mut output[bytes..])?)
        }
        Kem::Decapsulate => decapsulate(&own, input, output),
    })))
}

fn hybrid(side: Side, material: &Material) -> Result<Routine, Unavailable> {
    let own = decapsulation_key(material)?;
    let exchange = Exchange::new(Algorithm::X25519(Agreement::Exchange), material)?;
    Ok(Routine::Apart(Box::new(move |share, output| match side {
        Side::Server => {
            let (kem_share, peer) = share.split_at(ENCAPSULATION_KEY.min(share.len()));
            let (ciphertext, secret) = encapsulate(kem_share)?;
            let key = exchange.generate()?;
            let mut at = put(ciphertext.as_ref(), output)?;
            at += public(&key, &mut output[at..])?;
            at += put(secret.as_ref(), &mut output[at..])?;
            Ok(at + exchange.derive(&key, peer, &mut output[at..])?)
        }
        Side::Client => {
            let (ciphertext, peer) = share.split_at(CIPHERTEXT.min(share.len()));
            let at = decapsulate(&own, ciphertext, output)?;
            Ok(at + exchange.derive(&exchange.own, peer, &mut output[at..])?)
        }
    })))
}

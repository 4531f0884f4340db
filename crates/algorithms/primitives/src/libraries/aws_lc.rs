//! AWS-LC, through `aws-lc-rs`: what it does not offer in safe functions is not measured.

use aws_lc_rs::cipher::{
    AES_128, AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{agreement, kem, rsa as encryption};

use crate::algorithm::{Aes, Agreement, Algorithm, Curve, Direction, Hash, Signing};
use crate::key_schedule;
use crate::libraries::agreeing;
use crate::libraries::library::{About, Library};
use crate::libraries::ring_like::{common, first, put};
use crate::material::Material;
use crate::routine::{Failed, Routine, Seal, Unavailable};

common!(aws_lc_rs);

pub(crate) struct AwsLc;

impl Library for AwsLc {
    fn about(&self) -> About<'_> {
        About {
            id: "aws-lc",
            title: concat!("AWS-LC (aws-lc-rs ", env!("VERSION_OF_AWS_LC_RS"), ")"),
            origin: "aws-lc",
        }
    }

    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
        use Algorithm as A;
        if let Some(prepared) = common(algorithm, material) {
            return prepared;
        }
        match algorithm {
            A::Cbc(..) | A::Ctr(_) => plain(algorithm, material),
            A::X25519(agreement) | A::Ecdh(_, agreement) => {
                Ok(agreeing::agreement(agreement, Exchange::new(algorithm, material)?))
            }
            A::RsaDecrypt(_) => rsa_decryption(material),
            A::MlKem768(part) => Ok(agreeing::ml_kem(part, MlKem::new(material)?)),
            A::X25519MlKem768(side) => {
                let x25519 = Exchange::new(A::X25519(Agreement::Exchange), material)?;
                Ok(agreeing::hybrid(side, MlKem::new(material)?, x25519))
            }
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
    let key = encryption::PrivateDecryptingKey::from_pkcs8(&material.own()?.pkcs8);
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
            Algorithm::Ecdh(Curve::P256, _) => &agreement::ECDH_P256,
            Algorithm::Ecdh(Curve::P384, _) => &agreement::ECDH_P384,
            _ => &agreement::X25519,
        };
        let own = agreement::PrivateKey::from_private_key(method, &material.own()?.secret);
        Ok(Self { method, own: own.map_err(|error| refused(&error.to_string()))? })
    }
}

impl agreeing::Exchange for Exchange {
    type Key = agreement::PrivateKey;

    fn generate(&self) -> Result<Self::Key, Failed> {
        agreement::PrivateKey::generate(self.method).map_err(|_| Failed::of("generate"))
    }

    fn public(&self, key: &Self::Key, output: &mut [u8]) -> Result<usize, Failed> {
        let public = key.compute_public_key().map_err(|_| Failed::of("compute_public_key"))?;
        put(public.as_ref(), output)
    }

    fn derive(
        &self,
        key: Option<&Self::Key>,
        peer: &[u8],
        output: &mut [u8],
    ) -> Result<usize, Failed> {
        let key = key.unwrap_or(&self.own);
        let peer = agreement::UnparsedPublicKey::new(self.method, peer);
        agreement::agree(key, peer, Failed::of("agree"), |secret| put(secret, output))
    }
}

struct MlKem(kem::DecapsulationKey<kem::AlgorithmId>);

impl MlKem {
    fn new(material: &Material) -> Result<Self, Unavailable> {
        let keys = material.kem()?;
        let key = kem::DecapsulationKey::new(&kem::ML_KEM_768, &keys.decapsulation);
        key.map(Self).map_err(|error| refused(&error.to_string()))
    }
}

impl agreeing::MlKem for MlKem {
    /// The key in its expanded form.
    fn generate(&self, output: &mut [u8]) -> Result<usize, Failed> {
        let failed = |_| Failed::of("DecapsulationKey::generate");
        let key = kem::DecapsulationKey::generate(&kem::ML_KEM_768).map_err(failed)?;
        let at = put(key.key_bytes().map_err(failed)?.as_ref(), output)?;
        let public =
            key.encapsulation_key().and_then(|public| public.key_bytes()).map_err(failed)?;
        Ok(at + put(public.as_ref(), &mut output[at..])?)
    }

    fn encapsulate(&self, to: &[u8], output: &mut [u8]) -> Result<usize, Failed> {
        let key = kem::EncapsulationKey::new(&kem::ML_KEM_768, to);
        let key = key.map_err(|_| Failed::of("EncapsulationKey::new"))?;
        let (ciphertext, secret) = key.encapsulate().map_err(|_| Failed::of("encapsulate"))?;
        let at = put(ciphertext.as_ref(), output)?;
        Ok(at + put(secret.as_ref(), &mut output[at..])?)
    }

    fn decapsulate(&self, ciphertext: &[u8], output: &mut [u8]) -> Result<usize, Failed> {
        let secret = self.0.decapsulate(ciphertext.into());
        put(secret.map_err(|_| Failed::of("decapsulate"))?.as_ref(), output)
    }
}

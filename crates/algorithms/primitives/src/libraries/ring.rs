//! `ring`: AEADs, hashes, signatures and key agreement; no unauthenticated ciphers.

use ring::agreement;

use crate::algorithm::{Aes, Agreement, Algorithm, Curve, Hash, Signing};
use crate::key_schedule;
use crate::libraries::library::{About, Library};
use crate::libraries::ring_like::{common, first, put};
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};

common!(ring);

pub(crate) struct Ring;

impl Library for Ring {
    fn about(&self) -> About<'_> {
        About { id: "ring", title: concat!("ring ", env!("VERSION_OF_RING")), origin: "ring" }
    }

    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
        use Algorithm as A;
        if let Some(prepared) = common(algorithm, material) {
            return prepared;
        }
        match algorithm {
            A::X25519(Agreement::Exchange) => Ok(exchange(&agreement::X25519)),
            A::Ecdh(Curve::P256, Agreement::Exchange) => Ok(exchange(&agreement::ECDH_P256)),
            A::Ecdh(Curve::P384, Agreement::Exchange) => Ok(exchange(&agreement::ECDH_P384)),
            A::X25519(Agreement::Derive) | A::Ecdh(_, Agreement::Derive) => Err(
                Unavailable::because("ring spends a fresh key on each agreement; see its exchange"),
            ),
            A::MlKem768(_) | A::X25519MlKem768(_) => {
                Err(Unavailable::because("ring has no ML-KEM"))
            }
            A::RsaDecrypt(_) => Err(Unavailable::because("ring has no RSA decryption")),
            A::CbcHmac(_) => Err(Unavailable::because("ring has no stitched cipher")),
            _ => Err(Unavailable::because("ring has only ciphers that authenticate")),
        }
    }
}

fn ecdsa_key(
    method: &'static signature::EcdsaSigningAlgorithm,
    pkcs8: &[u8],
    random: &rand::SystemRandom,
) -> Result<signature::EcdsaKeyPair, Unavailable> {
    signature::EcdsaKeyPair::from_pkcs8(method, pkcs8, random)
        .map_err(|error| refused(&error.to_string()))
}

type VerifyingKey = signature::UnparsedPublicKey<Vec<u8>>;

fn verifying_key(
    method: &'static dyn signature::VerificationAlgorithm,
    public: Vec<u8>,
) -> Result<VerifyingKey, Unavailable> {
    Ok(signature::UnparsedPublicKey::new(method, public))
}

fn verify_with(
    key: &VerifyingKey,
    message: &[u8],
    made: &[u8],
) -> Result<(), ring::error::Unspecified> {
    key.verify(message, made)
}

fn exchange(method: &'static agreement::Algorithm) -> Routine {
    let random = rand::SystemRandom::new();
    Routine::Apart(Box::new(move |peer, output| {
        let failed = |_| Failed::of("agree_ephemeral");
        let own = agreement::EphemeralPrivateKey::generate(method, &random).map_err(failed)?;
        let public = put(own.compute_public_key().map_err(failed)?.as_ref(), output)?;
        let peer = agreement::UnparsedPublicKey::new(method, peer);
        let rest = &mut output[public..];
        let secret = agreement::agree_ephemeral(own, &peer, |secret| put(secret, rest));
        Ok(public + secret.map_err(failed)??)
    }))
}

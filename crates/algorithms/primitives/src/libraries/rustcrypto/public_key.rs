//! Signatures and key agreement.

use ed25519_dalek::Signer as _;
use p256::ecdsa::signature::Verifier as _;
use p256::elliptic_curve::Generate;
use p256::elliptic_curve::sec1::ToSec1Point;
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::signature::SignatureEncoding;

use super::refused::refused;
use crate::algorithm::{Curve, Signing};
use crate::libraries::agreeing;
use crate::libraries::ring_like::{first, put};
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};

fn no(what: &'static str) -> impl Fn() -> Failed {
    move || Failed::of(what)
}

/// RSA with PKCS #1 version 1.5 and SHA-256.
pub(super) fn rsa(signing: Signing, material: &Material) -> Result<Routine, Unavailable> {
    use rsa::pkcs1v15::{Signature, SigningKey, VerifyingKey};
    use rsa::sha2::Sha256;
    let own = material.own()?;
    let signed = material.signed;
    Ok(Routine::Apart(match signing {
        Signing::Sign => {
            let key = rsa::PrivateKey::from_pkcs8_der(&own.pkcs8).map_err(refused)?;
            let key = SigningKey::<Sha256>::new(key);
            Box::new(move |message, output| {
                let signature = key.try_sign(message).map_err(|_| no("rsa signing")())?;
                put(&signature.to_vec(), output)
            })
        }
        Signing::Verify => {
            let key = rsa::PublicKey::from_pkcs1_der(&own.public).map_err(refused)?;
            let key = VerifyingKey::<Sha256>::new(key);
            Box::new(move |input, _| {
                let failed = no("rsa verification");
                let signature = Signature::try_from(input).map_err(|_| failed())?;
                key.verify(signed, &signature).map(|()| 0).map_err(|_| failed())
            })
        }
    }))
}

pub(super) fn rsa_decryption(material: &Material) -> Result<Routine, Unavailable> {
    let key = rsa::PrivateKey::from_pkcs8_der(&material.own()?.pkcs8).map_err(refused)?;
    Ok(Routine::Apart(Box::new(move |input, output| {
        let secret =
            key.decrypt(rsa::Pkcs1v15Encrypt, input).map_err(|_| no("rsa decryption")())?;
        put(&secret, output)
    })))
}

/// ECDSA with signatures in DER.
macro_rules! ecdsa_on {
    ($curve:ident, $signing:expr, $material:expr) => {{
        use $curve::ecdsa::{DerSignature, SigningKey, VerifyingKey};
        let own = $material.own()?;
        let signed = $material.signed;
        Routine::Apart(match $signing {
            Signing::Sign => {
                let key = SigningKey::from_slice(&own.secret).map_err(refused)?;
                Box::new(move |message, output| {
                    let signature: DerSignature =
                        key.try_sign(message).map_err(|_| no("ecdsa signing")())?;
                    put(signature.as_bytes(), output)
                })
            }
            Signing::Verify => {
                let key = VerifyingKey::from_sec1_bytes(&own.public).map_err(refused)?;
                Box::new(move |input, _| {
                    let failed = no("ecdsa verification");
                    let signature = DerSignature::from_bytes(input).map_err(|_| failed())?;
                    key.verify(signed, &signature).map(|()| 0).map_err(|_| failed())
                })
            }
        })
    }};
}

pub(super) fn ecdsa(
    curve: Curve,
    signing: Signing,
    material: &Material,
) -> Result<Routine, Unavailable> {
    Ok(match curve {
        Curve::P256 => ecdsa_on!(p256, signing, material),
        Curve::P384 => ecdsa_on!(p384, signing, material),
    })
}

pub(super) fn ed25519(signing: Signing, material: &Material) -> Result<Routine, Unavailable> {
    let own = material.own()?;
    let signed = material.signed;
    Ok(Routine::Apart(match signing {
        Signing::Sign => {
            let key = ed25519_dalek::SigningKey::from_bytes(&first(&own.secret));
            Box::new(move |message, output| put(&key.sign(message).to_bytes(), output))
        }
        Signing::Verify => {
            let key = ed25519_dalek::VerifyingKey::from_bytes(&first(&own.public));
            let key = key.map_err(refused)?;
            Box::new(move |input, _| {
                let failed = no("ed25519 verification");
                let signature =
                    ed25519_dalek::Signature::from_slice(input).map_err(|_| failed())?;
                key.verify_strict(signed, &signature).map(|()| 0).map_err(|_| failed())
            })
        }
    }))
}

pub(super) struct X25519(x25519_dalek::StaticSecret);

impl X25519 {
    pub(super) fn new(material: &Material) -> Result<Self, Unavailable> {
        Ok(Self(first::<32>(&material.own()?.secret).into()))
    }
}

impl agreeing::Exchange for X25519 {
    type Key = x25519_dalek::StaticSecret;

    fn generate(&self) -> Result<Self::Key, Failed> {
        Ok(x25519_dalek::StaticSecret::random())
    }

    fn public(&self, key: &Self::Key, output: &mut [u8]) -> Result<usize, Failed> {
        put(x25519_dalek::PublicKey::from(key).as_bytes(), output)
    }

    fn derive(
        &self,
        key: Option<&Self::Key>,
        peer: &[u8],
        output: &mut [u8],
    ) -> Result<usize, Failed> {
        let peer = <[u8; 32]>::try_from(peer).map_err(|_| no("reading the share")())?;
        put(key.unwrap_or(&self.0).diffie_hellman(&peer.into()).as_bytes(), output)
    }
}

macro_rules! ecdh_on {
    ($name:ident, $curve:ident) => {
        pub(super) struct $name($curve::SecretKey);

        impl $name {
            pub(super) fn new(material: &Material) -> Result<Self, Unavailable> {
                $curve::SecretKey::from_slice(&material.own()?.secret).map(Self).map_err(refused)
            }
        }

        impl agreeing::Exchange for $name {
            type Key = $curve::SecretKey;

            fn generate(&self) -> Result<Self::Key, Failed> {
                Ok($curve::SecretKey::generate())
            }

            fn public(&self, key: &Self::Key, output: &mut [u8]) -> Result<usize, Failed> {
                put(key.public_key().to_sec1_point(false).as_bytes(), output)
            }

            fn derive(
                &self,
                key: Option<&Self::Key>,
                peer: &[u8],
                output: &mut [u8],
            ) -> Result<usize, Failed> {
                let peer = $curve::PublicKey::from_sec1_bytes(peer)
                    .map_err(|_| no("reading the share")())?;
                put(key.unwrap_or(&self.0).diffie_hellman(&peer).raw_secret_bytes(), output)
            }
        }
    };
}

ecdh_on!(EcdhP256, p256);
ecdh_on!(EcdhP384, p384);

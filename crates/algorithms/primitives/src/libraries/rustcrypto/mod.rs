//! RustCrypto's crates, and those of its neighbours that it is used with: all in Rust.

mod ciphers;
mod hashes;
mod kem;
mod public_key;
mod refused;

use crate::algorithm::{Algorithm, Curve};
use crate::libraries::agreeing;
use crate::libraries::library::{About, Library};
use crate::material::Material;
use crate::routine::{Routine, Unavailable};
use kem::MlKem;
use public_key::{EcdhP256, EcdhP384, X25519};

pub(crate) struct RustCrypto;

impl Library for RustCrypto {
    fn about(&self) -> About<'_> {
        About {
            id: "rustcrypto",
            title: concat!("RustCrypto (aes ", env!("VERSION_OF_AES"), ")"),
            origin: "rustcrypto",
        }
    }

    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
        use Algorithm as A;
        match algorithm {
            A::Cbc(..) | A::Ctr(_) => Ok(ciphers::plain(algorithm, material)),
            A::Gcm(_) | A::ChaCha20Poly1305 => Ok(ciphers::sealing(algorithm, material)),
            A::CbcHmac(hash) => ciphers::two_passes(hash, material),
            A::Hash(hash) => Ok(hashes::hash(hash)),
            A::Hmac(hash) => Ok(hashes::hmac(hash, material)),
            A::KeySchedule => Ok(hashes::key_schedule(material)),
            A::Rsa(_, signing) => public_key::rsa(signing, material),
            A::RsaDecrypt(_) => public_key::rsa_decryption(material),
            A::Ecdsa(curve, signing) => public_key::ecdsa(curve, signing, material),
            A::Ed25519(signing) => public_key::ed25519(signing, material),
            A::X25519(agreement) => Ok(agreeing::agreement(agreement, X25519::new(material)?)),
            A::Ecdh(Curve::P256, agreement) => {
                Ok(agreeing::agreement(agreement, EcdhP256::new(material)?))
            }
            A::Ecdh(Curve::P384, agreement) => {
                Ok(agreeing::agreement(agreement, EcdhP384::new(material)?))
            }
            A::MlKem768(part) => Ok(agreeing::ml_kem(part, MlKem::new(material)?)),
            A::X25519MlKem768(side) => {
                Ok(agreeing::hybrid(side, MlKem::new(material)?, X25519::new(material)?))
            }
            A::Record(..) | A::Handshake(..) => Err(Unavailable::because("it does not speak TLS")),
        }
    }
}

//! SHA-1, SHA-2, HMAC, and the key schedule over it.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::algorithm::Hash;
use crate::key_schedule;
use crate::libraries::ring_like::{first, put};
use crate::material::Material;
use crate::routine::{Failed, Routine};

pub(super) fn hash(hash: Hash) -> Routine {
    match hash {
        Hash::Sha1 => digest::<Sha1>(),
        Hash::Sha256 => digest::<Sha256>(),
        Hash::Sha512 => digest::<Sha512>(),
    }
}

fn digest<D: Digest>() -> Routine {
    Routine::Apart(Box::new(|message, output| put(&D::digest(message), output)))
}

/// HMAC with a key that stays.
pub(super) fn hmac(hash: Hash, material: &Material) -> Routine {
    let key = &material.mac_key;
    match hash {
        Hash::Sha1 => mac(Hmac::<Sha1>::new_from_slice(key).ok()),
        Hash::Sha256 => mac(Hmac::<Sha256>::new_from_slice(key).ok()),
        Hash::Sha512 => mac(Hmac::<Sha512>::new_from_slice(key).ok()),
    }
}

fn mac<M: Mac + Clone + 'static>(mac: Option<M>) -> Routine {
    Routine::Apart(Box::new(move |message, output| {
        let mut mac = mac.clone().ok_or_else(|| Failed::of("Hmac::new_from_slice"))?;
        mac.update(message);
        put(&mac.finalize().into_bytes(), output)
    }))
}

pub(super) fn key_schedule(material: &Material) -> Routine {
    key_schedule::routine(material.transcript_hashes(), |key, parts| {
        let mac = Hmac::<Sha256>::new_from_slice(key);
        let mut mac = mac.map_err(|_| Failed::of("Hmac::new_from_slice"))?;
        parts.iter().for_each(|part| mac.update(part));
        Ok(first(&mac.finalize().into_bytes()))
    })
}

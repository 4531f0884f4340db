//! ML-KEM-768, and the hybrid of it with X25519.

use ml_kem::kem::{Decapsulate, Encapsulate, Generate, KeyExport};
use ml_kem::ml_kem_768::{DecapsulationKey, EncapsulationKey};

use super::public_key::x25519_derive;
use super::{own, refused};
use crate::algorithm::{Kem, Side};
use crate::libraries::ring_like::{first, put};
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};

/// Bytes of a ciphertext and of an encapsulation key (FIPS 203, table 3).
const CIPHERTEXT: usize = 1088;
const ENCAPSULATION_KEY: usize = 1184;

fn key(material: &Material) -> Result<DecapsulationKey, Unavailable> {
    let keys = material.kem.as_ref().ok_or_else(|| refused("no key"))?;
    if let Some(seed) = keys.seed {
        return Ok(DecapsulationKey::from_seed(seed.into()));
    }
    let expanded = keys.decapsulation.as_slice().try_into().map_err(|_| refused("the key"))?;
    #[expect(deprecated, reason = "other libraries generate the expanded form only")]
    DecapsulationKey::from_expanded(expanded).map_err(|_| refused("the key"))
}

/// A fresh key: its seed, and the encapsulation key.
fn generate(output: &mut [u8]) -> Result<usize, Failed> {
    let key = DecapsulationKey::generate();
    let seed = key.to_seed().ok_or_else(|| Failed::of("DecapsulationKey::to_seed"))?;
    let at = put(&seed, output)?;
    Ok(at + put(&key.encapsulation_key().to_bytes(), &mut output[at..])?)
}

/// To an encapsulation key, which is read each time, as by a server.
fn encapsulate(to: &[u8], output: &mut [u8]) -> Result<usize, Failed> {
    let failed = || Failed::of("EncapsulationKey::new");
    let key = EncapsulationKey::new(to.try_into().map_err(|_| failed())?).map_err(|_| failed())?;
    let (ciphertext, secret) = key.encapsulate();
    let at = put(&ciphertext, output)?;
    Ok(at + put(&secret, &mut output[at..])?)
}

fn decapsulate(
    key: &DecapsulationKey,
    ciphertext: &[u8],
    output: &mut [u8],
) -> Result<usize, Failed> {
    let secret = key.decapsulate_slice(ciphertext).map_err(|_| Failed::of("decapsulate"))?;
    put(&secret, output)
}

/// One part of ML-KEM-768.
pub(super) fn ml_kem(part: Kem, material: &Material) -> Result<Routine, Unavailable> {
    let key = key(material)?;
    Ok(Routine::Apart(Box::new(move |input, output| match part {
        Kem::Generate => generate(output),
        Kem::Encapsulate => encapsulate(input, output),
        Kem::Decapsulate => decapsulate(&key, input, output),
    })))
}

/// One side's part of X25519MLKEM768.
pub(super) fn hybrid(side: Side, material: &Material) -> Result<Routine, Unavailable> {
    let key = key(material)?;
    let own = x25519_dalek::StaticSecret::from(first::<32>(&own(material)?.secret));
    Ok(Routine::Apart(Box::new(move |share, output| match side {
        Side::Server => {
            let (kem_share, peer) = share.split_at(ENCAPSULATION_KEY.min(share.len()));
            let mut kem = [0; CIPHERTEXT + 32];
            encapsulate(kem_share, &mut kem)?;
            let fresh = x25519_dalek::StaticSecret::random();
            let mut at = put(&kem[..CIPHERTEXT], output)?;
            at += put(x25519_dalek::PublicKey::from(&fresh).as_bytes(), &mut output[at..])?;
            at += put(&kem[CIPHERTEXT..], &mut output[at..])?;
            Ok(at + x25519_derive(&fresh, peer, &mut output[at..])?)
        }
        Side::Client => {
            let (ciphertext, peer) = share.split_at(CIPHERTEXT.min(share.len()));
            let at = decapsulate(&key, ciphertext, output)?;
            Ok(at + x25519_derive(&own, peer, &mut output[at..])?)
        }
    })))
}

//! ML-KEM-768.

use ml_kem::kem::{Decapsulate, Encapsulate, Generate, KeyExport};
use ml_kem::ml_kem_768::{DecapsulationKey, EncapsulationKey};

use super::refused::refused;
use crate::libraries::agreeing;
use crate::libraries::ring_like::put;
use crate::material::Material;
use crate::routine::{Failed, Unavailable};

pub(super) struct MlKem(DecapsulationKey);

impl MlKem {
    pub(super) fn new(material: &Material) -> Result<Self, Unavailable> {
        let keys = material.kem()?;
        if let Some(seed) = keys.seed {
            return Ok(Self(DecapsulationKey::from_seed(seed.into())));
        }
        let expanded = keys.decapsulation.as_slice().try_into().map_err(|_| refused("the key"))?;
        #[expect(deprecated, reason = "other libraries generate the expanded form only")]
        let key = DecapsulationKey::from_expanded(expanded);
        key.map(Self).map_err(|_| refused("the key"))
    }
}

impl agreeing::MlKem for MlKem {
    /// The key's seed.
    fn generate(&self, output: &mut [u8]) -> Result<usize, Failed> {
        let key = DecapsulationKey::generate();
        let seed = key.to_seed().ok_or_else(|| Failed::of("DecapsulationKey::to_seed"))?;
        let at = put(&seed, output)?;
        Ok(at + put(&key.encapsulation_key().to_bytes(), &mut output[at..])?)
    }

    fn encapsulate(&self, to: &[u8], output: &mut [u8]) -> Result<usize, Failed> {
        let failed = || Failed::of("EncapsulationKey::new");
        let key = to.try_into().map_err(|_| failed())?;
        let key = EncapsulationKey::new(key).map_err(|_| failed())?;
        let (ciphertext, secret) = key.encapsulate();
        let at = put(&ciphertext, output)?;
        Ok(at + put(&secret, &mut output[at..])?)
    }

    fn decapsulate(&self, ciphertext: &[u8], output: &mut [u8]) -> Result<usize, Failed> {
        let secret = self.0.decapsulate_slice(ciphertext).map_err(|_| Failed::of("decapsulate"))?;
        put(&secret, output)
    }
}

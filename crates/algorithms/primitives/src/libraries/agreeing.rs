//! Key agreement with a library's own functions: what is timed is the same of each library.

use crate::algorithm::{Agreement, KEM_CIPHERTEXT, KEM_KEY, Kem, Side};
use crate::routine::{Failed, Routine};

/// Key agreement on a curve, with an own key.
pub(super) trait Exchange {
    type Key;

    /// A fresh key.
    fn generate(&self) -> Result<Self::Key, Failed>;

    /// Writes a key's public share.
    fn public(&self, key: &Self::Key, output: &mut [u8]) -> Result<usize, Failed>;

    /// The shared secret of a key, or the own one, and the peer's share, which is read each time, as in
    /// a handshake.
    fn derive(
        &self,
        key: Option<&Self::Key>,
        peer: &[u8],
        output: &mut [u8],
    ) -> Result<usize, Failed>;
}

/// ML-KEM-768, with an own key.
pub(super) trait MlKem {
    /// A fresh key, and the encapsulation key.
    fn generate(&self, output: &mut [u8]) -> Result<usize, Failed>;

    /// To an encapsulation key, which is read each time, as by a server: the ciphertext and the secret.
    fn encapsulate(&self, to: &[u8], output: &mut [u8]) -> Result<usize, Failed>;

    fn decapsulate(&self, ciphertext: &[u8], output: &mut [u8]) -> Result<usize, Failed>;
}

/// X25519 or ECDH.
pub(super) fn agreement(agreement: Agreement, exchange: impl Exchange + 'static) -> Routine {
    Routine::Apart(Box::new(move |peer, output| match agreement {
        Agreement::Derive => exchange.derive(None, peer, output),
        Agreement::Exchange => {
            let key = exchange.generate()?;
            let share = exchange.public(&key, output)?;
            Ok(share + exchange.derive(Some(&key), peer, &mut output[share..])?)
        }
    }))
}

/// One part of ML-KEM-768.
pub(super) fn ml_kem(part: Kem, kem: impl MlKem + 'static) -> Routine {
    Routine::Apart(Box::new(move |input, output| match part {
        Kem::Generate => kem.generate(output),
        Kem::Encapsulate => kem.encapsulate(input, output),
        Kem::Decapsulate => kem.decapsulate(input, output),
    }))
}

/// One side's part of X25519MLKEM768.
pub(super) fn hybrid(
    side: Side,
    kem: impl MlKem + 'static,
    x25519: impl Exchange + 'static,
) -> Routine {
    Routine::Apart(Box::new(move |share, output| match side {
        Side::Server => {
            let (kem_share, peer) = share.split_at(KEM_KEY.min(share.len()));
            let at = kem.encapsulate(kem_share, output)?;
            // The share goes between the ciphertext and the secret.
            output.copy_within(KEM_CIPHERTEXT..at, KEM_CIPHERTEXT + 32);
            let key = x25519.generate()?;
            x25519.public(&key, &mut output[KEM_CIPHERTEXT..][..32])?;
            Ok(at + 32 + x25519.derive(Some(&key), peer, &mut output[at + 32..])?)
        }
        Side::Client => {
            let (ciphertext, peer) = share.split_at(KEM_CIPHERTEXT.min(share.len()));
            let at = kem.decapsulate(ciphertext, output)?;
            Ok(at + x25519.derive(None, peer, &mut output[at..])?)
        }
    }))
}

//! RSA with private keys, by the Chinese remainder theorem (RFC 8017, section 5.1.2), without padding.

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::lanes::{Fault, LANES, Statuses, lanes};
use crate::library::CryptoMb;

/// The public exponent that results are checked with: the library knows no other.
const EXPONENT: [u8; 3] = [1, 0, 1];

thread_local! {
    /// Where the library computes: it is cleared when the thread ends, for the key is in memory as long.
    static SCRATCH: RefCell<Zeroizing<Vec<u8>>> = RefCell::default();
}

/// A key that the library cannot use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "crypto_mb does RSA with 2, 3 or 4 Kibit, two primes of half the size, and the exponent 65537"
)]
pub struct UnfitKey;

/// A private key as the library reads it.
pub struct RsaKey {
    bits: u32,
    modulus: Box<[u64]>,
    /// p, q, d mod (p - 1), d mod (q - 1), and the inverse of q mod p.
    secrets: [Zeroizing<Box<[u64]>>; 5],
}

impl RsaKey {
    /// From the numbers of RFC 8017, section 3.2, the highest byte first: `secrets` are p, q, dP, dQ, qInv.
    ///
    /// # Errors
    /// The library has no code for such a key.
    pub fn new(modulus: &[u8], exponent: &[u8], secrets: [&[u8]; 5]) -> Result<Self, UnfitKey> {
        let bits = u32::try_from(modulus.len() * 8).map_err(|_| UnfitKey)?;
        let half = modulus.len() / 2;
        let is_known = matches!(bits, 2048 | 3072 | 4096) && modulus[0] >= 0x80;
        let [p, q, ..] = secrets;
        if !is_known || exponent != EXPONENT || p.len() != half || q.len() != half {
            return Err(UnfitKey);
        }
        let secrets = secrets.map(|number| Zeroizing::new(words(number, half)));
        Ok(Self { bits, modulus: words(modulus, modulus.len()), secrets })
    }

    /// The size of its modulus.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Bytes of its modulus.
    pub fn bytes(&self) -> usize {
        self.bits as usize / 8
    }
}

/// An operation, and its result once it is done.
pub struct RsaOperation {
    key: Arc<RsaKey>,
    input: Vec<u8>,
    /// As many bytes as the input.
    pub output: Zeroizing<Vec<u8>>,
}

impl RsaOperation {
    /// Of a number below the modulus, in as many bytes as that; `None` where it is no such number.
    pub fn new(key: Arc<RsaKey>, input: Vec<u8>) -> Option<Self> {
        let bytes = key.bytes();
        let is_below =
            input.len() == bytes && words(&input, bytes).iter().rev().lt(key.modulus.iter().rev());
        is_below.then(|| Self { output: Zeroizing::new(vec![0; bytes]), key, input })
    }

    /// The size of its key.
    pub fn bits(&self) -> u32 {
        self.key.bits
    }
}

impl CryptoMb {
    /// Does up to eight operations with keys of one size, and checks each result with its public key; one
    /// that is wrong is overwritten with zeros.
    ///
    /// # Panics
    /// There are none or more than eight, or their keys differ in size.
    pub fn rsa_private(&self, operations: &mut [RsaOperation]) -> [Result<(), Fault>; LANES] {
        let bits = operations[0].key.bits;
        let is_one_size = operations.iter().all(|one| one.key.bits == bits);
        assert!(operations.len() <= LANES && is_one_size, "up to eight keys of one size");
        let size = bits as c_int;
        let inputs = lanes(&*operations, |one| one.input.as_ptr());
        let mut outputs = [std::ptr::null_mut(); LANES];
        for (place, one) in outputs.iter_mut().zip(&mut *operations) {
            *place = one.output.as_mut_ptr();
        }
        let secret = |which: usize| lanes(&*operations, |one| one.key.secrets[which].as_ptr());
        let secrets: [_; 5] = std::array::from_fn(secret);
        let moduli = lanes(&*operations, |one| one.key.modulus.as_ptr());
        let mut checked: [_; LANES] = std::array::from_fn(|lane| {
            vec![0; operations.get(lane).map_or(0, |one| one.input.len())]
        });
        let [p, q, dp, dq, inverse] = &secrets;
        let functions = &self.functions;
        let results = outputs.map(<*mut u8>::cast_const);
        let mut back = [std::ptr::null_mut(); LANES];
        for (place, room) in back.iter_mut().zip(&mut checked[..operations.len()]) {
            *place = room.as_mut_ptr();
        }
        // SAFETY: each lane has no buffers, or all of them, of the sizes that follow from `bits`: RsaKey and
        // RsaOperation see to that. The scratch is as large as either method wants.
        let (done, verified) = SCRATCH.with_borrow_mut(|scratch| unsafe {
            let private = (functions.mbx_RSA_private_crt_Method)(size);
            let public = (functions.mbx_RSA_pub65537_Method)(size);
            let wanted = [private, public].map(|method| (functions.mbx_RSA_Method_BufSize)(method));
            let wanted = wanted.into_iter().max().and_then(|bytes| usize::try_from(bytes).ok());
            let wanted = wanted.unwrap_or_default();
            if scratch.len() < wanted {
                *scratch = Zeroizing::new(vec![0; wanted]);
            }
            let scratch = scratch.as_mut_ptr();
            let done = (functions.mbx_rsa_private_crt_mb8)(
                &inputs, &outputs, p, q, dp, dq, inverse, size, private, scratch,
            );
            let verified =
                (functions.mbx_rsa_public_mb8)(&results, &back, &moduli, size, public, scratch);
            (Statuses(done), Statuses(verified))
        });
        std::array::from_fn(|lane| {
            let Some(one) = operations.get_mut(lane) else { return Ok(()) };
            let outcome = done.of_lane(lane).and_then(|()| verified.of_lane(lane));
            let is_right = checked[lane] == one.input;
            let outcome = outcome.and(if is_right { Ok(()) } else { Err(Fault::Wrong) });
            if outcome.is_err() {
                one.output.fill(0);
            }
            outcome
        })
    }
}

/// A number of up to `bytes` bytes, the highest byte first, in words, the lowest first.
pub(crate) fn words(number: &[u8], bytes: usize) -> Box<[u64]> {
    let mut words = vec![0; bytes.div_ceil(8)];
    for (word, bytes) in words.iter_mut().zip(number.rchunks(8)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words.into()
}

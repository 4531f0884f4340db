//! ML-KEM, which OpenSSL has since 3.5, and the hybrid of it with X25519.

use std::ptr;
use std::sync::Arc;

use super::api::{Api, Ptr};
use super::object::{Object, keys, ok};
use super::public_key::{Exchange, Group};
use crate::algorithm::{Kem, Side};
use crate::material::{KemKeys, Material};
use crate::routine::{Failed, Routine, Unavailable};

const NAME: &std::ffi::CStr = c"ML-KEM-768";
/// Bytes of a ciphertext and of an encapsulation key (FIPS 203, table 3).
const CIPHERTEXT: usize = 1088;
const ENCAPSULATION_KEY: usize = 1184;
const SECRET: usize = 32;

/// One part of ML-KEM-768.
pub(super) fn ml_kem(
    api: &Arc<Api>,
    title: &str,
    part: Kem,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let ml_kem = MlKem::new(api, title, kem_keys(material)?)?;
    Ok(Routine::Apart(Box::new(move |input, output| match part {
        Kem::Generate => ml_kem.generate(output),
        Kem::Encapsulate => ml_kem.encapsulate(input, output),
        Kem::Decapsulate => ml_kem.decapsulate(input, output),
    })))
}

/// One side's part of X25519MLKEM768.
pub(super) fn hybrid(
    api: &Arc<Api>,
    title: &str,
    side: Side,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let ml_kem = MlKem::new(api, title, kem_keys(material)?)?;
    let mut x25519 = Exchange::new(api, Group::X25519, keys(material.own.as_ref())?)?;
    Ok(Routine::Apart(Box::new(move |share, output| match side {
        Side::Server => {
            let (kem_share, x25519_share) = share.split_at(ENCAPSULATION_KEY.min(share.len()));
            let mut kem = [0; CIPHERTEXT + SECRET];
            ml_kem.encapsulate(kem_share, &mut kem)?;
            let key = x25519.generate()?;
            output[..CIPHERTEXT].copy_from_slice(&kem[..CIPHERTEXT]);
            let rest = &mut output[CIPHERTEXT..];
            x25519.public(&key, &mut rest[..32])?;
            rest[32..64].copy_from_slice(&kem[CIPHERTEXT..]);
            x25519.derive(Some(&key), x25519_share, &mut rest[64..])?;
            Ok(CIPHERTEXT + 3 * 32)
        }
        Side::Client => {
            let (ciphertext, x25519_share) = share.split_at(CIPHERTEXT.min(share.len()));
            ml_kem.decapsulate(ciphertext, &mut output[..SECRET])?;
            x25519.derive(None, x25519_share, &mut output[SECRET..])?;
            Ok(2 * 32)
        }
    })))
}

fn kem_keys(material: &Material) -> Result<&KemKeys, Unavailable> {
    material.kem.as_ref().ok_or_else(|| Unavailable::because("there is no key for it"))
}

struct MlKem {
    api: Arc<Api>,
    /// Where it decapsulates; the key is set up, as at a client.
    decapsulator: Object,
    _key: Object,
}

impl MlKem {
    fn new(api: &Arc<Api>, title: &str, keys: &KemKeys) -> Result<Self, Unavailable> {
        let lacking = || Unavailable::because(format_args!("{title} has no ML-KEM (3.5 has)"));
        let new = api.EVP_PKEY_new_raw_private_key_ex().map_err(|_| lacking())?;
        let secret = &keys.decapsulation;
        // SAFETY: the key is readable for its length, the name ends with a zero.
        let key = unsafe {
            new(ptr::null_mut(), NAME.as_ptr(), ptr::null(), secret.as_ptr(), secret.len())
        };
        // SAFETY: it empties this thread's queue of errors.
        unsafe { api.ERR_clear_error()?() };
        let free = api.EVP_PKEY_free()?;
        let key = Object::new(api, key, free, "ML-KEM").map_err(|_| lacking())?;
        let decapsulator = context(api, key.ptr())?;
        // SAFETY: the context is of this library; no parameters are the defaults.
        let answer = unsafe { api.EVP_PKEY_decapsulate_init()?(decapsulator.ptr(), ptr::null()) };
        ok(answer, "EVP_PKEY_decapsulate_init")?;
        api.EVP_PKEY_decapsulate()?;
        api.EVP_PKEY_encapsulate()?;
        api.EVP_PKEY_encapsulate_init()?;
        Ok(Self { api: Arc::clone(api), decapsulator, _key: key })
    }

    /// A fresh key in its expanded form, and the encapsulation key.
    fn generate(&self, output: &mut [u8]) -> Result<usize, Failed> {
        let name = "EVP_PKEY_keygen";
        let api = &self.api;
        let new = api.EVP_PKEY_CTX_new_from_name()?;
        let free = api.EVP_PKEY_CTX_free()?;
        let free_key = api.EVP_PKEY_free()?;
        let init = api.EVP_PKEY_keygen_init()?;
        let generate = api.EVP_PKEY_keygen()?;
        let secret = api.EVP_PKEY_get_raw_private_key()?;
        let public = api.EVP_PKEY_get_raw_public_key()?;
        // SAFETY: the name ends with a zero; no context and no properties are the defaults.
        let context = unsafe { new(ptr::null_mut(), NAME.as_ptr(), ptr::null()) };
        let context = Object::new(api, context, free, name)?;
        let mut key = ptr::null_mut();
        // SAFETY: the context is of this library.
        let answers = unsafe { [init(context.ptr()), generate(context.ptr(), &raw mut key)] };
        let key = Object::new(api, key, free_key, name)?;
        ok(answers[0] & answers[1], name)?;
        let mut at = 0;
        for (get, name) in
            [(secret, "EVP_PKEY_get_raw_private_key"), (public, "EVP_PKEY_get_raw_public_key")]
        {
            let rest = &mut output[at..];
            let mut bytes = rest.len();
            // SAFETY: there is as much room as is said.
            ok(unsafe { get(key.ptr(), rest.as_mut_ptr(), &raw mut bytes) }, name)?;
            at += bytes;
        }
        Ok(at)
    }

    /// To an encapsulation key, which is read each time, as by a server.
    fn encapsulate(&self, to: &[u8], output: &mut [u8]) -> Result<usize, Failed> {
        let name = "EVP_PKEY_encapsulate";
        let api = &self.api;
        let new = api.EVP_PKEY_new_raw_public_key_ex()?;
        let free = api.EVP_PKEY_free()?;
        let init = api.EVP_PKEY_encapsulate_init()?;
        let encapsulate = api.EVP_PKEY_encapsulate()?;
        // SAFETY: the key is readable for its length, the name ends with a zero.
        let key =
            unsafe { new(ptr::null_mut(), NAME.as_ptr(), ptr::null(), to.as_ptr(), to.len()) };
        let key = Object::new(api, key, free, name)?;
        let context = context(api, key.ptr())?;
        // SAFETY: the context is of this library.
        ok(unsafe { init(context.ptr(), ptr::null()) }, "EVP_PKEY_encapsulate_init")?;
        let output = output.get_mut(..CIPHERTEXT + SECRET).ok_or_else(|| Failed::of(name))?;
        let (ciphertext, secret) = output.split_at_mut(CIPHERTEXT);
        let (mut ciphertext_bytes, mut secret_bytes) = (CIPHERTEXT, SECRET);
        // SAFETY: both are as long as is said.
        let answer = unsafe {
            let (to, shared) = (ciphertext.as_mut_ptr(), secret.as_mut_ptr());
            encapsulate(context.ptr(), to, &raw mut ciphertext_bytes, shared, &raw mut secret_bytes)
        };
        ok(answer, name)?;
        Ok(ciphertext_bytes + secret_bytes)
    }

    fn decapsulate(&self, ciphertext: &[u8], output: &mut [u8]) -> Result<usize, Failed> {
        let decapsulate = (self.api.EVP_PKEY_decapsulate()?, "EVP_PKEY_decapsulate");
        self.decapsulator.transform(decapsulate, ciphertext, output)
    }
}

fn context(api: &Arc<Api>, key: Ptr) -> Result<Object, Failed> {
    let name = "EVP_PKEY_CTX_new_from_pkey";
    let new = api.EVP_PKEY_CTX_new_from_pkey()?;
    let free = api.EVP_PKEY_CTX_free()?;
    // SAFETY: the key is of this library; the context takes a reference to it.
    let context = unsafe { new(ptr::null_mut(), key, ptr::null()) };
    Object::new(api, context, free, name)
}

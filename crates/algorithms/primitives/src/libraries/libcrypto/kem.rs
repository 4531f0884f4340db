//! ML-KEM, which OpenSSL has since 3.5.

use std::ptr;
use std::sync::Arc;

use super::api::{Api, Ptr};
use super::object::{Object, ok};
use crate::algorithm::KEM_CIPHERTEXT;
use crate::libraries::agreeing;
use crate::material::Material;
use crate::routine::{Failed, Unavailable};

const NAME: &std::ffi::CStr = c"ML-KEM-768";
const SECRET: usize = 32;

pub(super) struct MlKem {
    api: Arc<Api>,
    /// Where it decapsulates; the key is set up, as at a client.
    decapsulator: Object,
    _key: Object,
}

impl MlKem {
    pub(super) fn new(
        api: &Arc<Api>,
        title: &str,
        material: &Material,
    ) -> Result<Self, Unavailable> {
        let keys = material.kem()?;
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
}

impl agreeing::MlKem for MlKem {
    /// The key in its expanded form.
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
        let output = output.get_mut(..KEM_CIPHERTEXT + SECRET).ok_or_else(|| Failed::of(name))?;
        let (ciphertext, secret) = output.split_at_mut(KEM_CIPHERTEXT);
        let (mut ciphertext_bytes, mut secret_bytes) = (KEM_CIPHERTEXT, SECRET);
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

//! Objects of the library that are freed when they are dropped.

use std::any::Any;
use std::ptr;
use std::sync::Arc;

use super::api::{Api, Bytes, Out, Ptr};
use crate::material::KeyPair;
use crate::routine::Failed;

/// What a function of the library answers: 1 for success.
pub(super) fn ok(answer: i32, function: &str) -> Result<(), Failed> {
    if answer == 1 { Ok(()) } else { Err(Failed::of(function)) }
}

/// A function of a context that makes bytes of bytes: `EVP_PKEY_sign`, `EVP_PKEY_decrypt` and others.
pub(super) type Transform = unsafe extern "C" fn(Ptr, Out, *mut usize, Bytes, usize) -> i32;

/// A function of a context that verifies a signature of a message.
pub(super) type Verify = unsafe extern "C" fn(Ptr, Bytes, usize, Bytes, usize) -> i32;

/// An object, with the function that frees it. It keeps the library loaded.
pub(super) struct Object {
    ptr: Ptr,
    free: unsafe extern "C" fn(Ptr),
    _library: Arc<dyn Any + Send + Sync>,
}

impl Object {
    /// Takes what a function named `made_by` returned.
    pub(super) fn new<L: Any + Send + Sync>(
        library: &Arc<L>,
        ptr: Ptr,
        free: unsafe extern "C" fn(Ptr),
        made_by: &str,
    ) -> Result<Self, Failed> {
        if ptr.is_null() {
            return Err(Failed::of(made_by));
        }
        let library = Arc::clone(library);
        Ok(Self { ptr, free, _library: library })
    }

    /// What the library's functions take, for as long as this lives. A method, because a closure that
    /// named the field would take the pointer alone, and leave the object to be freed.
    pub(super) fn ptr(&self) -> Ptr {
        self.ptr
    }

    /// Calls a function of this library with this context, made ready for it, and says how many bytes
    /// came out.
    pub(super) fn transform(
        &self,
        (function, name): (Transform, &str),
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, Failed> {
        let (mut bytes, to) = (output.len(), output.as_mut_ptr());
        // SAFETY: input and output are as long as is said.
        let answer = unsafe { function(self.ptr, to, &raw mut bytes, input.as_ptr(), input.len()) };
        ok(answer, name).map(|()| bytes)
    }

    /// Verifies a signature with a function of this library and this context, made ready for it.
    pub(super) fn verify(
        &self,
        api: &Api,
        (function, name): (Verify, &str),
        signature: &[u8],
        message: &[u8],
    ) -> Result<usize, Failed> {
        let (from, of) = (signature.as_ptr(), message.as_ptr());
        // SAFETY: signature and message are as long as is said.
        let answer = unsafe { function(self.ptr, from, signature.len(), of, message.len()) };
        if answer != 1 {
            // SAFETY: it empties this thread's queue of errors.
            unsafe { api.ERR_clear_error()?() };
        }
        ok(answer, name).map(|()| 0)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the object was made by the library whose function this is, and is freed once.
        unsafe { (self.free)(self.ptr) }
    }
}

macro_rules! maker {
    ($(#[$doc:meta])* $name:ident: $new:ident, $free:ident) => {
        $(#[$doc])*
        pub(super) fn $name(api: &Arc<Api>) -> Result<Object, Failed> {
            let (new, free) = (api.$new()?, api.$free()?);
            // SAFETY: the function takes nothing.
            Object::new(api, unsafe { new() }, free, stringify!($new))
        }
    };
}

maker!(
    /// A context of ciphers.
    cipher_context: EVP_CIPHER_CTX_new, EVP_CIPHER_CTX_free
);
maker!(
    /// A context of digests.
    digest_context: EVP_MD_CTX_new, EVP_MD_CTX_free
);
maker!(
    hmac_context: HMAC_CTX_new, HMAC_CTX_free
);

/// A private key from PKCS #8.
pub(super) fn private_key(api: &Arc<Api>, keys: &KeyPair) -> Result<Object, Failed> {
    let (read, free) = (api.d2i_AutoPrivateKey()?, api.EVP_PKEY_free()?);
    let mut der = keys.pkcs8.as_ptr();
    // SAFETY: `der` is readable for the length that is given.
    let key = unsafe { read(ptr::null_mut(), &raw mut der, keys.pkcs8.len() as _) };
    Object::new(api, key, free, "d2i_AutoPrivateKey")
}

/// A public key from a SubjectPublicKeyInfo.
pub(super) fn public_key(api: &Arc<Api>, keys: &KeyPair) -> Result<Object, Failed> {
    let (read, free) = (api.d2i_PUBKEY()?, api.EVP_PKEY_free()?);
    let mut der = keys.spki.as_ptr();
    // SAFETY: `der` is readable for the length that is given.
    let key = unsafe { read(ptr::null_mut(), &raw mut der, keys.spki.len() as _) };
    Object::new(api, key, free, "d2i_PUBKEY")
}

/// A context of operations with that key.
pub(super) fn key_context(api: &Arc<Api>, key: &Object) -> Result<Object, Failed> {
    let (new, free) = (api.EVP_PKEY_CTX_new()?, api.EVP_PKEY_CTX_free()?);
    // SAFETY: the key is one; the context takes a reference to it.
    Object::new(api, unsafe { new(key.ptr(), ptr::null_mut()) }, free, "EVP_PKEY_CTX_new")
}

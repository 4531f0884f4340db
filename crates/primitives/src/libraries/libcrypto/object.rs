//! Objects of the library that are freed when they are dropped.

use std::any::Any;
use std::ptr;
use std::sync::Arc;

use super::api::{Api, Ptr, need};
use crate::material::KeyPair;
use crate::routine::{Failed, Unavailable};

/// What a function of the library answers: 1 for success.
pub(super) fn ok(answer: i32, function: &str) -> Result<(), Failed> {
    if answer == 1 { Ok(()) } else { Err(Failed::of(function)) }
}

/// As [`ok`], where an algorithm is set up.
pub(super) fn available(answer: i32, function: &str) -> Result<(), Unavailable> {
    ok(answer, function).map_err(Unavailable::because)
}

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
    ) -> Result<Self, Unavailable> {
        if ptr.is_null() {
            return Err(Unavailable::because(Failed::of(made_by)));
        }
        let library = Arc::clone(library);
        Ok(Self { ptr, free, _library: library })
    }

    /// What the library's functions take, for as long as this lives. A method, because a closure that
    /// named the field would take the pointer alone, and leave the object to be freed.
    pub(super) fn ptr(&self) -> Ptr {
        self.ptr
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
        pub(super) fn $name(api: &Arc<Api>) -> Result<Object, Unavailable> {
            let (new, free) = (need!(api, $new)?, need!(api, $free)?);
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
    /// A context of HMAC.
    hmac_context: HMAC_CTX_new, HMAC_CTX_free
);

/// A private key from PKCS #8.
pub(super) fn private_key(api: &Arc<Api>, keys: &KeyPair) -> Result<Object, Unavailable> {
    let (read, free) = (need!(api, d2i_AutoPrivateKey)?, need!(api, EVP_PKEY_free)?);
    let mut der = keys.pkcs8.as_ptr();
    // SAFETY: `der` is readable for the length that is given.
    let key = unsafe { read(ptr::null_mut(), &raw mut der, keys.pkcs8.len() as _) };
    Object::new(api, key, free, "d2i_AutoPrivateKey")
}

/// A public key from a SubjectPublicKeyInfo.
pub(super) fn public_key(api: &Arc<Api>, keys: &KeyPair) -> Result<Object, Unavailable> {
    let (read, free) = (need!(api, d2i_PUBKEY)?, need!(api, EVP_PKEY_free)?);
    let mut der = keys.spki.as_ptr();
    // SAFETY: `der` is readable for the length that is given.
    let key = unsafe { read(ptr::null_mut(), &raw mut der, keys.spki.len() as _) };
    Object::new(api, key, free, "d2i_PUBKEY")
}

/// A context of operations with that key.
pub(super) fn key_context(api: &Arc<Api>, key: &Object) -> Result<Object, Unavailable> {
    let (new, free) = (need!(api, EVP_PKEY_CTX_new)?, need!(api, EVP_PKEY_CTX_free)?);
    // SAFETY: the key is one; the context takes a reference to it.
    Object::new(api, unsafe { new(key.ptr(), ptr::null_mut()) }, free, "EVP_PKEY_CTX_new")
}

/// The key pair that an algorithm needs.
pub(super) fn keys(keys: Option<&KeyPair>) -> Result<&KeyPair, Unavailable> {
    keys.ok_or_else(|| Unavailable::because("there is no key for it"))
}

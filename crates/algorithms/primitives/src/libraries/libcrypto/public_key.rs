//! Signatures and key agreement.

use std::ptr;
use std::sync::Arc;

use super::api::{Api, Ptr};
use super::digests::{Digest, Hasher, LARGEST};
use super::object::{Object, key_context, ok, private_key, public_key};
use crate::algorithm::{Algorithm, Curve, Signing};
use crate::libraries::agreeing;
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};

/// `EVP_PKEY_CTRL_MD`, which older versions have instead of a function.
const CTRL_MD: i32 = 1;
/// `EVP_PKEY_X25519`
pub(super) const X25519: i32 = 1034;

/// RSA and ECDSA: a digest that is made each time, and a context of the key that stays.
pub(super) fn signature(
    api: &Arc<Api>,
    algorithm: Algorithm,
    signing: Signing,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let digest = match algorithm {
        Algorithm::Ecdsa(Curve::P384, _) => "SHA384",
        _ => "SHA256",
    };
    let mut hasher = Hasher::new(api, digest)?;
    let key = match signing {
        Signing::Sign => private_key(api, material.own()?)?,
        Signing::Verify => public_key(api, material.own()?)?,
    };
    let context = key_context(api, &key)?;
    let init = match signing {
        Signing::Sign => api.EVP_PKEY_sign_init()?,
        Signing::Verify => api.EVP_PKEY_verify_init()?,
    };
    // SAFETY: the context is of this library.
    ok(unsafe { init(context.ptr()) }, "EVP_PKEY_sign_init")?;
    let method = Digest::of(api, digest)?;
    // SAFETY: context and method are of this library.
    let answer = unsafe {
        match api.EVP_PKEY_CTX_set_signature_md() {
            Ok(set) => set(context.ptr(), method.method),
            Err(_) => api.EVP_PKEY_CTX_ctrl()?(context.ptr(), -1, -1, CTRL_MD, 0, method.method),
        }
    };
    ok(answer, "EVP_PKEY_CTX_set_signature_md")?;
    let sign = (api.EVP_PKEY_sign()?, "EVP_PKEY_sign");
    let verify = (api.EVP_PKEY_verify()?, "EVP_PKEY_verify");
    let (api, signed) = (Arc::clone(api), material.signed);
    Ok(Routine::Apart(Box::new(move |input, output| {
        // The digest belongs to the context, which lives as long.
        let _method = &method;
        let mut digest = [0; LARGEST];
        match signing {
            Signing::Sign => {
                let bytes = hasher.hash(input, &mut digest)?;
                context.transform(sign, &digest[..bytes], output)
            }
            Signing::Verify => {
                let bytes = hasher.hash(signed, &mut digest)?;
                context.verify(&api, verify, input, &digest[..bytes])
            }
        }
    })))
}

/// RSA decryption with the padding that is the usual one: PKCS #1 version 1.5.
pub(super) fn rsa_decryption(api: &Arc<Api>, material: &Material) -> Result<Routine, Unavailable> {
    let context = key_context(api, &private_key(api, material.own()?)?)?;
    let init = api.EVP_PKEY_decrypt_init()?;
    // SAFETY: the context is of this library.
    ok(unsafe { init(context.ptr()) }, "EVP_PKEY_decrypt_init")?;
    let decrypt = (api.EVP_PKEY_decrypt()?, "EVP_PKEY_decrypt");
    Ok(Routine::Apart(Box::new(move |input, output| context.transform(decrypt, input, output))))
}

/// Ed25519, which signs messages instead of digests.
pub(super) fn ed25519(
    api: &Arc<Api>,
    signing: Signing,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let context = super::object::digest_context(api)?;
    let pair = material.own()?;
    let (key, init) = match signing {
        Signing::Sign => (private_key(api, pair)?, api.EVP_DigestSignInit()?),
        Signing::Verify => (public_key(api, pair)?, api.EVP_DigestVerifyInit()?),
    };
    let sign = (api.EVP_DigestSign()?, "EVP_DigestSign");
    let verify = (api.EVP_DigestVerify()?, "EVP_DigestVerify");
    let (api, signed) = (Arc::clone(api), material.signed);
    Ok(Routine::Apart(Box::new(move |input, output| {
        let none = ptr::null_mut();
        // SAFETY: context and key are of this library; Ed25519 has no digest of its own.
        let answer = unsafe { init(context.ptr(), ptr::null_mut(), ptr::null(), none, key.ptr()) };
        ok(answer, "EVP_DigestSignInit")?;
        match signing {
            Signing::Sign => context.transform(sign, input, output),
            Signing::Verify => context.verify(&api, verify, input, signed),
        }
    })))
}

/// How shares are read and written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    X25519,
    Nist,
}

/// Key agreement with an own key; fresh keys are of its group.
pub(super) struct Exchange {
    api: Arc<Api>,
    group: Group,
    own: Object,
    /// Makes keys of the same group.
    generator: Object,
}

impl Exchange {
    pub(super) fn new(
        api: &Arc<Api>,
        group: Group,
        material: &Material,
    ) -> Result<Self, Unavailable> {
        let own = private_key(api, material.own()?)?;
        let generator = key_context(api, &own)?;
        // SAFETY: the context is of this library.
        let answer = unsafe { api.EVP_PKEY_keygen_init()?(generator.ptr()) };
        ok(answer, "EVP_PKEY_keygen_init")?;
        Ok(Self { api: Arc::clone(api), group, own, generator })
    }

    fn key(&self, ptr: Ptr, made_by: &str) -> Result<Object, Failed> {
        Object::new(&self.api, ptr, self.api.EVP_PKEY_free()?, made_by)
    }

    fn peer(&self, share: &[u8]) -> Result<Object, Failed> {
        match self.group {
            Group::X25519 => {
                let name = "EVP_PKEY_new_raw_public_key";
                let new = self.api.EVP_PKEY_new_raw_public_key()?;
                // SAFETY: the share is readable for its length.
                let key = unsafe { new(X25519, ptr::null_mut(), share.as_ptr(), share.len()) };
                self.key(key, name)
            }
            Group::Nist => {
                let name = "EVP_PKEY_set1_encoded_public_key";
                let new = self.api.EVP_PKEY_new()?;
                let copy = self.api.EVP_PKEY_copy_parameters()?;
                let set = self.api.EVP_PKEY_set1_encoded_public_key()?;
                // SAFETY: it takes nothing.
                let key = self.key(unsafe { new() }, "EVP_PKEY_new")?;
                // SAFETY: both keys are of this library.
                ok(unsafe { copy(key.ptr(), self.own.ptr()) }, "EVP_PKEY_copy_parameters")?;
                // SAFETY: the share is readable for its length.
                ok(unsafe { set(key.ptr(), share.as_ptr(), share.len()) }, name)?;
                Ok(key)
            }
        }
    }
}

impl agreeing::Exchange for Exchange {
    type Key = Object;

    fn generate(&self) -> Result<Object, Failed> {
        let function = self.api.EVP_PKEY_keygen()?;
        let mut key = ptr::null_mut();
        // SAFETY: the context was made ready for it; the key is the caller's.
        ok(unsafe { function(self.generator.ptr(), &raw mut key) }, "EVP_PKEY_keygen")?;
        self.key(key, "EVP_PKEY_keygen")
    }

    fn public(&self, key: &Object, output: &mut [u8]) -> Result<usize, Failed> {
        match self.group {
            Group::X25519 => {
                let name = "EVP_PKEY_get_raw_public_key";
                let get = self.api.EVP_PKEY_get_raw_public_key()?;
                let mut bytes = output.len();
                // SAFETY: the output is as long as is said.
                ok(unsafe { get(key.ptr(), output.as_mut_ptr(), &raw mut bytes) }, name)?;
                Ok(bytes)
            }
            Group::Nist => {
                let name = "EVP_PKEY_get1_encoded_public_key";
                let get = self.api.EVP_PKEY_get1_encoded_public_key()?;
                let free = self.api.CRYPTO_free()?;
                let mut point = ptr::null_mut();
                // SAFETY: the point is the caller's, as long as the function says.
                let bytes = unsafe { get(key.ptr(), &raw mut point) };
                if point.is_null() || bytes > output.len() {
                    return Err(Failed::of(name));
                }
                // SAFETY: the point has `bytes` bytes, the output has room for them, and it is freed once.
                unsafe {
                    ptr::copy_nonoverlapping(point, output.as_mut_ptr(), bytes);
                    free(point.cast(), c"toll".as_ptr(), 0);
                }
                Ok(bytes)
            }
        }
    }

    fn derive(
        &self,
        key: Option<&Object>,
        share: &[u8],
        output: &mut [u8],
    ) -> Result<usize, Failed> {
        let api = &self.api;
        let init = api.EVP_PKEY_derive_init()?;
        let set = api.EVP_PKEY_derive_set_peer()?;
        let derive = api.EVP_PKEY_derive()?;
        let peer = self.peer(share)?;
        let context = key_context(api, key.unwrap_or(&self.own))?;
        // SAFETY: the context is of this library.
        ok(unsafe { init(context.ptr()) }, "EVP_PKEY_derive_init")?;
        // SAFETY: context and key are of this library.
        ok(unsafe { set(context.ptr(), peer.ptr()) }, "EVP_PKEY_derive_set_peer")?;
        let mut bytes = output.len();
        // SAFETY: the output is as long as is said.
        let answer = unsafe { derive(context.ptr(), output.as_mut_ptr(), &raw mut bytes) };
        ok(answer, "EVP_PKEY_derive").map(|()| bytes)
    }
}

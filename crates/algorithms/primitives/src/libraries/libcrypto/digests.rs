//! Hashes and HMAC: a context is made once and begun anew for each message.

use std::ptr;
use std::sync::Arc;

use super::api::{Api, Ptr};
use super::object::{Object, digest_context, hmac_context, ok};
use crate::algorithm::Hash;
use crate::key_schedule;
use crate::libraries::ring_like::{first, put};
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};

/// A hash function of the library: fetched once where the library fetches (OpenSSL 3).
pub(super) struct Digest {
    pub(super) method: *const libc::c_void,
    _fetched: Option<Object>,
}

impl Digest {
    pub(super) fn of(api: &Arc<Api>, name: &str) -> Result<Self, Unavailable> {
        if let (Ok(fetch), Ok(free)) = (api.EVP_MD_fetch(), api.EVP_MD_free()) {
            let name_0 = format!("{name}\0");
            // SAFETY: the name ends with a zero; no context and no properties are the defaults.
            let method = unsafe { fetch(ptr::null_mut(), name_0.as_ptr().cast(), ptr::null()) };
            let fetched = Object::new(api, method, free, "EVP_MD_fetch")?;
            return Ok(Self { method: fetched.ptr(), _fetched: Some(fetched) });
        }
        let method = api.method(&format!("EVP_{}", name.to_lowercase()))?;
        Ok(Self { method: method.0, _fetched: None })
    }
}

/// A context that hashes message after message.
pub(super) struct Hasher {
    context: Object,
    digest: Digest,
    init: unsafe extern "C" fn(Ptr, *const libc::c_void, Ptr) -> i32,
    update: unsafe extern "C" fn(Ptr, *const libc::c_void, usize) -> i32,
    finish: unsafe extern "C" fn(Ptr, *mut u8, *mut u32) -> i32,
}

/// The largest digest.
pub(super) const LARGEST: usize = 64;

impl Hasher {
    pub(super) fn new(api: &Arc<Api>, name: &str) -> Result<Self, Unavailable> {
        Ok(Self {
            context: digest_context(api)?,
            digest: Digest::of(api, name)?,
            init: api.EVP_DigestInit_ex()?,
            update: api.EVP_DigestUpdate()?,
            finish: api.EVP_DigestFinal_ex()?,
        })
    }

    pub(super) fn hash(
        &mut self,
        message: &[u8],
        digest: &mut [u8; LARGEST],
    ) -> Result<usize, Failed> {
        let context = self.context.ptr();
        // SAFETY: context and method are of this library.
        let answer = unsafe { (self.init)(context, self.digest.method, ptr::null_mut()) };
        ok(answer, "EVP_DigestInit_ex")?;
        // SAFETY: the message is readable for its length.
        let answer = unsafe { (self.update)(context, message.as_ptr().cast(), message.len()) };
        ok(answer, "EVP_DigestUpdate")?;
        let mut bytes = 0;
        // SAFETY: there is room for the largest digest.
        let answer = unsafe { (self.finish)(context, digest.as_mut_ptr(), &raw mut bytes) };
        ok(answer, "EVP_DigestFinal_ex")?;
        Ok(bytes as usize)
    }
}

fn name(hash: Hash) -> &'static str {
    match hash {
        Hash::Sha1 => "SHA1",
        Hash::Sha256 => "SHA256",
        Hash::Sha512 => "SHA512",
    }
}

pub(super) fn hash(api: &Arc<Api>, hash: Hash) -> Result<Routine, Unavailable> {
    let mut hasher = Hasher::new(api, name(hash))?;
    Ok(Routine::Apart(Box::new(move |message, output| {
        let mut digest = [0; LARGEST];
        let bytes = hasher.hash(message, &mut digest)?;
        put(&digest[..bytes], output)
    })))
}

struct Mac {
    context: Object,
    digest: Digest,
    init: unsafe extern "C" fn(Ptr, *const libc::c_void, i32, *const libc::c_void, Ptr) -> i32,
    update: unsafe extern "C" fn(Ptr, *const u8, usize) -> i32,
    finish: unsafe extern "C" fn(Ptr, *mut u8, *mut u32) -> i32,
}

impl Mac {
    fn new(api: &Arc<Api>, hash: Hash) -> Result<Self, Unavailable> {
        Ok(Self {
            context: hmac_context(api)?,
            digest: Digest::of(api, name(hash))?,
            init: api.HMAC_Init_ex()?,
            update: api.HMAC_Update()?,
            finish: api.HMAC_Final()?,
        })
    }

    /// Begins with a key, or with the last one again.
    fn begin(&mut self, key: Option<&[u8]>) -> Result<(), Failed> {
        let (key, length, method) = match key {
            Some(key) => (key.as_ptr(), key.len() as i32, self.digest.method),
            None => (ptr::null(), 0, ptr::null()),
        };
        // SAFETY: the key is readable for its length; no key and no method keep those of before.
        let answer =
            unsafe { (self.init)(self.context.ptr(), key.cast(), length, method, ptr::null_mut()) };
        ok(answer, "HMAC_Init_ex")
    }

    fn update(&mut self, part: &[u8]) -> Result<(), Failed> {
        // SAFETY: the part is readable for its length.
        ok(unsafe { (self.update)(self.context.ptr(), part.as_ptr(), part.len()) }, "HMAC_Update")
    }

    fn finish(&mut self, mac: &mut [u8; LARGEST]) -> Result<usize, Failed> {
        let mut bytes = 0;
        // SAFETY: there is room for the largest digest.
        let answer = unsafe { (self.finish)(self.context.ptr(), mac.as_mut_ptr(), &raw mut bytes) };
        ok(answer, "HMAC_Final")?;
        Ok(bytes as usize)
    }
}

/// HMAC with a key that stays.
pub(super) fn hmac(
    api: &Arc<Api>,
    hash: Hash,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let mut mac = Mac::new(api, hash)?;
    mac.begin(Some(&material.mac_key))?;
    Ok(Routine::Apart(Box::new(move |message, output| {
        mac.begin(None)?;
        mac.update(message)?;
        let mut result = [0; LARGEST];
        let bytes = mac.finish(&mut result)?;
        put(&result[..bytes], output)
    })))
}

/// The key schedule of TLS 1.3 over HMAC with keys that change.
pub(super) fn key_schedule(api: &Arc<Api>, material: &Material) -> Result<Routine, Unavailable> {
    let mut mac = Mac::new(api, Hash::Sha256)?;
    Ok(key_schedule::routine(material.transcript_hashes(), move |key, parts| {
        mac.begin(Some(key))?;
        parts.iter().try_for_each(|part| mac.update(part))?;
        let mut result = [0; LARGEST];
        mac.finish(&mut result)?;
        Ok(first(&result))
    }))
}

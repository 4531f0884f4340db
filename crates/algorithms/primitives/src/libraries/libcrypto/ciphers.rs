//! Ciphers: a context with its key is made once, and gets a new IV for each message.

use std::ptr;
use std::sync::Arc;

use super::api::{Api, Method, Ptr};
use super::object::{Object, cipher_context, ok};
use crate::algorithm::{Aes, Algorithm, Direction, Hash};
use crate::cbc_hmac;
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};

/// `EVP_CTRL_AEAD_GET_TAG`
const GET_TAG: i32 = 0x10;
/// `EVP_CTRL_AEAD_TLS1_AAD`
const TLS1_AAD: i32 = 0x16;
/// `EVP_CTRL_AEAD_SET_MAC_KEY`
const SET_MAC_KEY: i32 = 0x17;
/// Of the tags of GCM and Poly1305.
const TAG: usize = 16;

/// A context with a key in it, and the functions that work on it.
struct Cipher {
    context: Object,
    init: unsafe extern "C" fn(Ptr, *const libc::c_void, Ptr, *const u8, *const u8, i32) -> i32,
    update: unsafe extern "C" fn(Ptr, *mut u8, *mut i32, *const u8, i32) -> i32,
    finish: unsafe extern "C" fn(Ptr, *mut u8, *mut i32) -> i32,
    control: unsafe extern "C" fn(Ptr, i32, i32, Ptr) -> i32,
    encrypts: i32,
}

impl Cipher {
    fn new(
        api: &Arc<Api>,
        method: Method,
        key: &[u8],
        direction: Direction,
    ) -> Result<Self, Unavailable> {
        let this = Self {
            context: cipher_context(api)?,
            init: api.EVP_CipherInit_ex()?,
            update: api.EVP_CipherUpdate()?,
            finish: api.EVP_CipherFinal_ex()?,
            control: api.EVP_CIPHER_CTX_ctrl()?,
            encrypts: i32::from(direction == Direction::Encrypt),
        };
        let (context, init) = (this.context.ptr(), this.init);
        // SAFETY: the method and the context are of this library, the key is as long as the method
        // wants it.
        let answer = unsafe {
            init(context, method.0, ptr::null_mut(), key.as_ptr(), ptr::null(), this.encrypts)
        };
        ok(answer, "EVP_CipherInit_ex")?;
        // SAFETY: the context is a cipher's.
        let answer = unsafe { api.EVP_CIPHER_CTX_set_padding()?(context, 0) };
        ok(answer, "EVP_CIPHER_CTX_set_padding")?;
        Ok(this)
    }

    /// Begins a message.
    fn begin(&mut self, iv: &[u8; 16]) -> Result<(), Failed> {
        let (none, same_key) = (ptr::null_mut(), ptr::null());
        // SAFETY: no method and no key keep those of the context; no IV is longer than 16 bytes.
        let answer = unsafe {
            (self.init)(self.context.ptr(), ptr::null(), none, same_key, iv.as_ptr(), self.encrypts)
        };
        ok(answer, "EVP_CipherInit_ex")
    }

    /// Goes through associated data.
    fn associate(&mut self, data: &[u8]) -> Result<(), Failed> {
        let mut bytes = 0;
        // SAFETY: without an output, the input is associated data of the given length.
        let answer = unsafe {
            let (context, none) = (self.context.ptr(), ptr::null_mut());
            (self.update)(context, none, &raw mut bytes, data.as_ptr(), data.len() as i32)
        };
        ok(answer, "EVP_CipherUpdate")
    }

    /// Goes through a message.
    fn update(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Failed> {
        let output = output.get_mut(..input.len()).ok_or_else(|| Failed::of("EVP_CipherUpdate"))?;
        // SAFETY: there is room for as much as is read.
        unsafe { self.update_raw(input.as_ptr(), output.as_mut_ptr(), input.len()) }
    }

    /// Goes through a message and overwrites it.
    fn update_in_place(&mut self, message: &mut [u8]) -> Result<(), Failed> {
        let output = message.as_mut_ptr();
        // SAFETY: ciphers take the same buffer for both.
        unsafe { self.update_raw(output, output, message.len()) }
    }

    /// # Safety
    /// `bytes` can be read at `input` and written at `output`, which are the same or apart.
    unsafe fn update_raw(
        &mut self,
        input: *const u8,
        output: *mut u8,
        bytes: usize,
    ) -> Result<(), Failed> {
        let mut written = 0;
        // SAFETY: without padding, as much is written as is read.
        let answer = unsafe {
            (self.update)(self.context.ptr(), output, &raw mut written, input, bytes as i32)
        };
        ok(answer, "EVP_CipherUpdate")?;
        if written as usize == bytes { Ok(()) } else { Err(Failed::of("EVP_CipherUpdate")) }
    }

    /// Ends a message.
    fn finish(&mut self) -> Result<(), Failed> {
        let (mut room, mut bytes) = ([0; 32], 0);
        // SAFETY: no cipher writes more than a block of 16 bytes.
        let answer =
            unsafe { (self.finish)(self.context.ptr(), room.as_mut_ptr(), &raw mut bytes) };
        ok(answer, "EVP_CipherFinal_ex")
    }

    /// Gives a command with its data, and returns the answer.
    fn control(&mut self, command: i32, data: &mut [u8]) -> i32 {
        // SAFETY: each command that is used here reads or writes at most the length that is given.
        unsafe {
            let length = data.len() as i32;
            (self.control)(self.context.ptr(), command, length, data.as_mut_ptr().cast())
        }
    }
}

fn aes(aes: Aes) -> u32 {
    aes.key_bytes() as u32 * 8
}

pub(super) fn plain(
    api: &Arc<Api>,
    algorithm: Algorithm,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let (name, size, direction) = match algorithm {
        Algorithm::Cbc(size, direction) => ("cbc", size, direction),
        Algorithm::Ctr(size) => ("ctr", size, Direction::Encrypt),
        _ => return Err(Unavailable::because("it is no plain cipher")),
    };
    let method = api.method(&format!("EVP_aes_{}_{name}", aes(size)))?;
    let mut cipher = Cipher::new(api, method, &material.key[..size.key_bytes()], direction)?;
    let iv = material.iv;
    Ok(Routine::Apart(Box::new(move |input, output| {
        cipher.begin(&iv)?;
        cipher.update(input, output)?;
        cipher.finish()?;
        Ok(input.len())
    })))
}

pub(super) fn sealing(
    api: &Arc<Api>,
    algorithm: Algorithm,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let (method, key) = match algorithm {
        Algorithm::Gcm(size) => (format!("EVP_aes_{}_gcm", aes(size)), size.key_bytes()),
        _ => ("EVP_chacha20_poly1305".to_owned(), 32),
    };
    let method = api.method(&method)?;
    let mut cipher = Cipher::new(api, method, &material.key[..key], Direction::Encrypt)?;
    let (iv, associated) = (material.iv, material.associated.clone());
    Ok(Routine::Apart(Box::new(move |input, output| {
        cipher.begin(&iv)?;
        cipher.associate(&associated)?;
        cipher.update(input, output)?;
        cipher.finish()?;
        let tag = output.get_mut(input.len()..input.len() + TAG);
        let tag = tag.ok_or_else(|| Failed::of("EVP_CIPHER_CTX_ctrl"))?;
        ok(cipher.control(GET_TAG, tag), "EVP_CTRL_AEAD_GET_TAG")?;
        Ok(input.len() + TAG)
    })))
}

/// AES-128-CBC and HMAC in one pass, as OpenSSL's own TLS uses it.
pub(super) fn stitched(
    api: &Arc<Api>,
    hash: Hash,
    material: &Material,
) -> Result<Routine, Unavailable> {
    let (method, mac_bytes) = match hash {
        Hash::Sha1 => ("EVP_aes_128_cbc_hmac_sha1", 20),
        Hash::Sha256 => ("EVP_aes_128_cbc_hmac_sha256", 32),
        Hash::Sha512 => return Err(Unavailable::because("TLS has no such suite")),
    };
    let method = api.method(method).map_err(|_| {
        Unavailable::because("this libcrypto has no stitched cipher for this processor")
    })?;
    let mut cipher = Cipher::new(api, method, &material.key[..16], Direction::Encrypt)?;
    let mut mac_key = material.mac_key;
    ok(
        i32::from(cipher.control(SET_MAC_KEY, &mut mac_key[..mac_bytes]) > 0),
        "EVP_CTRL_AEAD_SET_MAC_KEY",
    )?;
    let (iv, message_bytes) = (material.iv, material.input.len());
    Ok(Routine::InPlace {
        front: cbc_hmac::EXPLICIT_IV,
        seal: Box::new(move |record| {
            record[..cbc_hmac::EXPLICIT_IV].copy_from_slice(&iv);
            cipher.begin(&iv)?;
            let mut data = cbc_hmac::associated_data(message_bytes + cbc_hmac::EXPLICIT_IV);
            if cipher.control(TLS1_AAD, &mut data) <= 0 {
                return Err(Failed::of("EVP_CTRL_AEAD_TLS1_AAD"));
            }
            cipher.update_in_place(record)
        }),
    })
}

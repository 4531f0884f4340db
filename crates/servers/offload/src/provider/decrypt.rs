//! Encryption and decryption with RSA (provider-asym_cipher(7)). Decryption with the padding of TLS asks
//! the accelerator; the rest is OpenSSL's own.
//!
//! With that padding, a ciphertext that is wrong in any way decrypts to 48 random bytes, so that a client
//! does not learn what is wrong with it (RFC 5246, section 7.4.7.1). Where a model has the key, OpenSSL's own
//! provider does that, since it is the one that decrypts; for the multi-buffer library `padding` does.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};
use std::thread;

use counters::KeyUse;
use crypto_mb::RsaOperation;
use ffi::OSSL_PARAM;
use openssl_sys as ffi;

use super::alarm::Alarm;
use super::batch::in_batch;
use super::guard::{self, guarded};
use super::key::{self, CiphertextQuery, Key};
use super::software::{self, Direction};
use super::sys::{self, Dispatch};
use super::{job, padding};
use crate::device::Premaster;
use crate::multi_buffer::Work;
use crate::{Accelerator, CompletedBy, counts};

pub(super) const FUNCTIONS: &[Dispatch] = &[
    Dispatch::new(sys::ASYM_CIPHER_NEWCTX, guard::new::<Operation> as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_FREECTX, guard::free::<Operation> as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_ENCRYPT_INIT, encrypt_init as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_ENCRYPT, encrypt as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_DECRYPT_INIT, decrypt_init as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_DECRYPT, decrypt as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_GET_CTX_PARAMS, get_params as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_GETTABLE_CTX_PARAMS, gettable as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_SET_CTX_PARAMS, set_params as *const ()),
    Dispatch::new(sys::ASYM_CIPHER_SETTABLE_CTX_PARAMS, settable as *const ()),
    Dispatch::END,
];

/// An operation, or several with the same key and settings.
#[derive(Default)]
struct Operation {
    started: Option<Started>,
    /// Whether the padding is that of TLS.
    is_tls: bool,
    client_version: u32,
    negotiated_version: u32,
}

struct Started {
    key: Arc<Key>,
    software: software::Context,
}

impl Operation {
    /// # Safety
    /// `params` ends as OpenSSL has it.
    unsafe fn set(&mut self, params: *const OSSL_PARAM) -> Option<()> {
        if params.is_null() {
            return Some(());
        }
        // SAFETY: the names end with zero, and so do the parameters by their own rule. A number is asked
        // of a parameter that is there; where it is text, as other paddings may be, there is none.
        unsafe {
            let padding = ffi::OSSL_PARAM_locate_const(params, sys::PARAM_PAD_MODE.as_ptr());
            if !padding.is_null() {
                let mut mode = 0;
                self.is_tls =
                    sys::OSSL_PARAM_get_int(padding, &mut mode) == 1 && mode == sys::TLS_PADDING;
            }
            for (name, version) in [
                (sys::PARAM_TLS_CLIENT_VERSION, &mut self.client_version),
                (sys::PARAM_TLS_NEGOTIATED_VERSION, &mut self.negotiated_version),
            ] {
                let param = ffi::OSSL_PARAM_locate_const(params, name.as_ptr());
                if !param.is_null() && sys::OSSL_PARAM_get_uint(param, version) != 1 {
                    return None;
                }
            }
            self.started.as_mut()?.software.set_params(params)
        }
    }

    /// Decrypts a premaster secret: by the multi-buffer library, or on a model where it was decrypted before.
    fn decrypt_premaster(&mut self, ciphertext: &[u8]) -> Option<Premaster> {
        if let Some(premaster) = self.decrypt_in_batch(ciphertext) {
            return Some(premaster);
        }
        let Started { key, software } = self.started.as_mut()?;
        let question = CiphertextQuery {
            client_version: self.client_version,
            negotiated_version: self.negotiated_version,
            ciphertext: ciphertext.into(),
        };
        let remembered = key.remembered(&question);
        let answer = remembered.and_then(|premaster| ask_model(key.bits, premaster));
        if answer.is_some() {
            return answer;
        }
        // OpenSSL wants room for the padding too.
        let mut room = vec![0; ciphertext.len()];
        let mut length = room.len();
        // SAFETY: the room is as long as it is said to be.
        unsafe {
            software.run(Direction::Decrypt, room.as_mut_ptr(), &mut length, ciphertext)?;
        }
        let premaster = Premaster::try_from(room.get(..length)?).ok()?;
        if remembered.is_none() && Accelerator::get()?.multi_buffer().is_none() {
            counts::add(|counts| counts.computed += 1);
            key.remember(question, premaster);
        }
        Some(premaster)
    }

    /// Decrypts a premaster secret by the multi-buffer library; `None` where OpenSSL is to do it.
    fn decrypt_in_batch(&self, ciphertext: &[u8]) -> Option<Premaster> {
        let key = self.started.as_ref()?.key.in_batches()?;
        let operation = RsaOperation::new(Arc::clone(key), ciphertext.to_vec())?;
        let decrypted = in_batch(Work::Rsa { of: KeyUse::RsaDecrypt, operation })?;
        // Without a negotiated version, the client's alone is right.
        let version = |number: u32| u16::try_from(number).unwrap_or_default();
        let client = version(self.client_version);
        let other = version(self.negotiated_version);
        padding::premaster(&decrypted, [client, if other == 0 { client } else { other }]).ok()
    }
}

/// Has a model answer; `None` where it does not.
fn ask_model(key_bits: u32, premaster: Premaster) -> Option<Premaster> {
    let accelerator = Accelerator::get()?;
    match accelerator.pauses().filter(|_| job::is_running()) {
        None => accelerator.ask(key_bits, premaster, false, |_, left| thread::sleep(left)),
        Some(CompletedBy::Poll) => {
            accelerator.ask(key_bits, premaster, true, |ticket, _| job::pause(ticket))
        }
        Some(CompletedBy::Event) => {
            let answer = accelerator.ask(key_bits, premaster, false, |ticket, left| {
                if Alarm::pause(ticket, left).is_none() {
                    // The process has all the descriptors that it may have.
                    thread::sleep(left);
                }
            });
            Alarm::end_of_operation();
            answer
        }
    }
}

/// The operation, for as long as the caller has its pointer.
///
/// # Safety
/// `operation` is null, or comes from [`guard::new`], is not freed yet, and is nobody else's meanwhile.
unsafe fn at(operation: &mut *mut c_void) -> Option<&mut Operation> {
    // SAFETY: the caller's.
    unsafe { operation.cast::<Operation>().as_mut() }
}

unsafe extern "C" fn encrypt_init(
    operation: *mut c_void,
    key: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, here and for keys, and parameters with an end.
    guarded(|| unsafe { begin(operation, key, params, Direction::Encrypt) })
}

unsafe extern "C" fn decrypt_init(
    operation: *mut c_void,
    key: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, here and for keys, and parameters with an end.
    guarded(|| unsafe { begin(operation, key, params, Direction::Decrypt) })
}

/// # Safety
/// `operation` and `key` come from the functions `new`, and `params` ends as OpenSSL has it.
unsafe fn begin(
    mut operation: *mut c_void,
    key: *mut c_void,
    params: *const OSSL_PARAM,
    direction: Direction,
) -> Option<()> {
    // SAFETY: the caller's.
    unsafe {
        let key = key::at(key)?;
        let software = software::Context::new(&key.software, direction)?;
        let operation = at(&mut operation)?;
        *operation = Operation { started: Some(Started { key, software }), ..Operation::default() };
        operation.set(params)
    }
}

unsafe extern "C" fn encrypt(
    mut operation: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
    out_size: usize,
    input: *const u8,
    input_length: usize,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and memory of the lengths that it says.
    guarded(|| unsafe {
        let input = guard::input(&input, input_length)?;
        let software = &mut at(&mut operation)?.started.as_mut()?.software;
        *out_length = out_size;
        software.run(Direction::Encrypt, out, &mut *out_length, input)
    })
}

unsafe extern "C" fn decrypt(
    mut operation: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
    out_size: usize,
    input: *const u8,
    input_length: usize,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and memory of the lengths that it says.
    guarded(|| unsafe {
        let input = guard::input(&input, input_length)?;
        let operation = at(&mut operation)?;
        if !operation.is_tls || out.is_null() {
            *out_length = out_size;
            let software = &mut operation.started.as_mut()?.software;
            return software.run(Direction::Decrypt, out, &mut *out_length, input);
        }
        let premaster = operation.decrypt_premaster(input)?;
        guard::give(&premaster, out, out_length, out_size)
    })
}

unsafe extern "C" fn get_params(mut operation: *mut c_void, params: *mut OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and parameters with room and an end.
    guarded(|| unsafe { at(&mut operation)?.started.as_ref()?.software.get_params(params) })
}

unsafe extern "C" fn set_params(mut operation: *mut c_void, params: *const OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and parameters with an end.
    guarded(|| unsafe { at(&mut operation)?.set(params) })
}

unsafe extern "C" fn gettable(_operation: *mut c_void, _context: *mut c_void) -> *const OSSL_PARAM {
    table()[0].0
}

unsafe extern "C" fn settable(_operation: *mut c_void, _context: *mut c_void) -> *const OSSL_PARAM {
    table()[1].0
}

/// The tables of parameters, which are asked for in each operation.
fn table() -> &'static [software::Table; 2] {
    static TABLES: OnceLock<[software::Table; 2]> = OnceLock::new();
    TABLES.get_or_init(software::cipher_params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_without_a_place_is_refused_or_empty() {
        let (none, some) = (std::ptr::null(), [1, 2, 3]);
        // SAFETY: what is not null has three bytes; the operation is what `new` made, and freed once.
        unsafe {
            assert_eq!(guard::input(&none, 0), Some(&[][..]));
            assert_eq!(guard::input(&none, 3), None);
            assert_eq!(guard::input(&some.as_ptr(), 3), Some(&some[..]));
            let operation = guard::new::<Operation>(std::ptr::null_mut());
            let mut length = 0;
            for run in [encrypt, decrypt] {
                let done = run(operation, std::ptr::null_mut(), &mut length, 0, none, 3);
                assert_eq!(done, 0);
            }
            guard::free::<Operation>(operation);
        }
    }
}

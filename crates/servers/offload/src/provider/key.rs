//! RSA keys of this provider (provider-keymgmt(7)): a key of OpenSSL's own, and what was decrypted with it.

use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crypto_mb::RsaKey;
use ffi::OSSL_PARAM;
use openssl::bn::BigNumRef;
use openssl::pkey::Private;
use openssl::rsa::Rsa;
use openssl_sys as ffi;
use zeroize::Zeroizing;

use super::break_even;
use super::guard::{self, guarded, made};
use super::software::{self, Table};
use super::sys::{self, Dispatch};
use crate::Accelerator;
use crate::device::Premaster;

pub(super) const FUNCTIONS: &[Dispatch] = &[
    Dispatch::new(sys::KEYMGMT_NEW, guard::new::<KeySlot> as *const ()),
    Dispatch::new(sys::KEYMGMT_GEN_INIT, generation as *const ()),
    Dispatch::new(sys::KEYMGMT_GEN_SET_PARAMS, set_generation as *const ()),
    Dispatch::new(sys::KEYMGMT_GEN_SETTABLE_PARAMS, generation_settable as *const ()),
    Dispatch::new(sys::KEYMGMT_GEN, generate as *const ()),
    Dispatch::new(sys::KEYMGMT_GEN_CLEANUP, guard::free::<software::Context> as *const ()),
    Dispatch::new(sys::KEYMGMT_FREE, guard::free::<KeySlot> as *const ()),
    Dispatch::new(sys::KEYMGMT_HAS, has as *const ()),
    Dispatch::new(sys::KEYMGMT_MATCH, matches as *const ()),
    Dispatch::new(sys::KEYMGMT_IMPORT, import as *const ()),
    Dispatch::new(sys::KEYMGMT_IMPORT_TYPES, types as *const ()),
    Dispatch::new(sys::KEYMGMT_EXPORT, export as *const ()),
    Dispatch::new(sys::KEYMGMT_EXPORT_TYPES, types as *const ()),
    Dispatch::new(sys::KEYMGMT_GET_PARAMS, get_params as *const ()),
    Dispatch::new(sys::KEYMGMT_GETTABLE_PARAMS, gettable as *const ()),
    Dispatch::END,
];

const RSA: &CStr = c"RSA";

/// How many ciphertexts are remembered before all are forgotten: a load has one for each of its threads,
/// and memory is bounded where a client sends another one each time.
const MEMORY: usize = 4096;

pub(super) struct Key {
    pub(super) software: software::Key,
    pub(super) bits: u32,
    is_private: bool,
    memory: RwLock<HashMap<CiphertextQuery, Premaster>>,
    /// The same for the multi-buffer library, where that is the accelerator and has code for it.
    in_batches: Option<Arc<RsaKey>>,
}

/// What the answer to a client depends on, beside the key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CiphertextQuery {
    pub(super) client_version: u32,
    pub(super) negotiated_version: u32,
    pub(super) ciphertext: Box<[u8]>,
}

impl Key {
    fn new(software: software::Key, is_private: bool) -> Self {
        let device = Accelerator::get().and_then(Accelerator::multi_buffer);
        let in_batches = device.filter(|_| is_private).and_then(|device| {
            let openssl = software.rsa()?;
            let key = Arc::new(for_batches(&openssl)?);
            break_even::of_rsa(device, &openssl, &key);
            break_even::of_curves(device);
            Some(key)
        });
        let (bits, memory) = (software.bits(), RwLock::default());
        Self { bits, software, is_private, memory, in_batches }
    }

    /// The key for the multi-buffer library; `None` where that has no code for it.
    pub(super) fn in_batches(&self) -> Option<&Arc<RsaKey>> {
        self.in_batches.as_ref()
    }

    pub(super) fn remembered(&self, question: &CiphertextQuery) -> Option<Premaster> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner).get(question).copied()
    }

    pub(super) fn remember(&self, question: CiphertextQuery, answer: Premaster) {
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        if memory.len() == MEMORY {
            memory.clear();
        }
        memory.insert(question, answer);
    }
}

/// `None` where the multi-buffer library has no code for the key.
pub(super) fn for_batches(openssl: &Rsa<Private>) -> Option<RsaKey> {
    let bytes = |number: &BigNumRef| number.to_vec();
    let secrets = [openssl.p()?, openssl.q()?, openssl.dmp1()?, openssl.dmq1()?, openssl.iqmp()?];
    let secrets = secrets.map(|number| Zeroizing::new(bytes(number)));
    let secrets = secrets.each_ref().map(|number| number.as_slice());
    RsaKey::new(&bytes(openssl.n()), &bytes(openssl.e()), secrets).ok()
}

/// A key as OpenSSL holds it: empty until it is imported.
type KeySlot = OnceLock<Arc<Key>>;

/// # Safety
/// `place` is null, or comes from [`guard::new`] and is not freed yet.
pub(super) unsafe fn at(place: *const c_void) -> Option<Arc<Key>> {
    // SAFETY: the caller's.
    unsafe { place.cast::<KeySlot>().as_ref() }?.get().cloned()
}

/// Keys are made by OpenSSL's own provider.
unsafe extern "C" fn generation(
    _context: *mut c_void,
    _selection: c_int,
    params: *const OSSL_PARAM,
) -> *mut c_void {
    made(|| {
        let mut generation = software::Context::generation(RSA, None)?;
        if !params.is_null() {
            // SAFETY: OpenSSL gives parameters with an end.
            unsafe { generation.set_params(params) }?;
        }
        Some(generation)
    })
}

unsafe extern "C" fn set_generation(generation: *mut c_void, params: *const OSSL_PARAM) -> c_int {
    guarded(|| {
        // SAFETY: OpenSSL gives what `generation` made, and parameters with an end.
        unsafe { generation.cast::<software::Context>().as_mut()?.set_params(params) }
    })
}

unsafe extern "C" fn generation_settable(
    _generation: *mut c_void,
    _context: *mut c_void,
) -> *const OSSL_PARAM {
    params()[1].0
}

unsafe extern "C" fn generate(
    generation: *mut c_void,
    _progress: *const c_void,
    _argument: *mut c_void,
) -> *mut c_void {
    made(|| {
        // SAFETY: OpenSSL gives what `generation` made.
        let software = unsafe { generation.cast::<software::Context>().as_mut() }?.generate()?;
        Some(KeySlot::from(Arc::new(Key::new(software, true))))
    })
}

unsafe extern "C" fn has(place: *const c_void, selection: c_int) -> c_int {
    guarded(|| {
        // SAFETY: OpenSSL gives what `new` made.
        let key = unsafe { at(place) }?;
        (key.is_private || selection & sys::SELECT_PRIVATE_KEY == 0).then_some(())
    })
}

unsafe extern "C" fn matches(one: *const c_void, other: *const c_void, _selection: c_int) -> c_int {
    guarded(|| {
        // SAFETY: OpenSSL gives what `new` made.
        let (one, other) = unsafe { (at(one)?, at(other)?) };
        (one.software == other.software).then_some(())
    })
}

unsafe extern "C" fn import(
    place: *mut c_void,
    selection: c_int,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and parameters with an end.
    guarded(|| unsafe {
        let place = place.cast::<KeySlot>().as_ref()?;
        let software = software::Key::import(RSA, selection, params)?;
        let is_private = !ffi::OSSL_PARAM_locate_const(params, c"d".as_ptr()).is_null();
        place.set(Arc::new(Key::new(software, is_private))).ok()
    })
}

unsafe extern "C" fn export(
    place: *mut c_void,
    selection: c_int,
    callback: sys::Callback,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and a function with its argument.
    guarded(|| unsafe { at(place)?.software.export(selection, callback, argument) })
}

unsafe extern "C" fn types(selection: c_int) -> *const OSSL_PARAM {
    software::key_types(RSA, selection).0
}

unsafe extern "C" fn get_params(place: *mut c_void, params: *mut OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and parameters with room and an end.
    guarded(|| unsafe { at(place)?.software.get_params(params) })
}

unsafe extern "C" fn gettable(_context: *mut c_void) -> *const OSSL_PARAM {
    params()[0].0
}

/// The tables of parameters.
fn params() -> &'static [Table; 3] {
    static TABLES: OnceLock<[Table; 3]> = OnceLock::new();
    TABLES.get_or_init(|| software::key_params(RSA))
}

//! The functions by which OpenSSL makes, reads and asks for keys on curves (provider-keymgmt(7)).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use ffi::OSSL_PARAM;
use openssl_sys as ffi;

use super::break_even;
use super::curve_key::{CurveKey, EC, Which, X25519};
use super::guard::{self, guarded, input, made};
use super::software::{self, Table};
use super::sys::{self, Dispatch};
use crate::Accelerator;

/// An algorithm by its name at OpenSSL.
pub(super) trait Algorithm: 'static {
    const NAME: &CStr;
    /// The curve, where there is but one.
    const ONLY: Option<Which>;
    /// The names of the algorithms that use its keys.
    const SIGNATURE: &CStr;
    const EXCHANGE: &CStr;
}

pub(super) struct OfNist;
pub(super) struct OfX25519;

impl Algorithm for OfNist {
    const NAME: &CStr = EC;
    const ONLY: Option<Which> = None;
    const SIGNATURE: &CStr = c"ECDSA";
    const EXCHANGE: &CStr = c"ECDH";
}

impl Algorithm for OfX25519 {
    const NAME: &CStr = X25519;
    const ONLY: Option<Which> = Some(Which::X25519);
    const SIGNATURE: &CStr = X25519;
    const EXCHANGE: &CStr = X25519;
}

pub(super) struct Functions<A>(PhantomData<A>);

impl<A: Algorithm> Functions<A> {
    pub(super) const TABLE: &'static [Dispatch] = &[
        Dispatch::new(sys::KEYMGMT_NEW, guard::new::<KeySlot> as *const ()),
        Dispatch::new(sys::KEYMGMT_GEN_INIT, generation::<A> as *const ()),
        Dispatch::new(sys::KEYMGMT_GEN_SET_TEMPLATE, set_template as *const ()),
        Dispatch::new(sys::KEYMGMT_GEN_SET_PARAMS, set_generation as *const ()),
        Dispatch::new(sys::KEYMGMT_GEN_SETTABLE_PARAMS, generation_settable::<A> as *const ()),
        Dispatch::new(sys::KEYMGMT_GEN, generate::<A> as *const ()),
        Dispatch::new(sys::KEYMGMT_GEN_CLEANUP, guard::free::<Generation> as *const ()),
        Dispatch::new(sys::KEYMGMT_FREE, guard::free::<KeySlot> as *const ()),
        Dispatch::new(sys::KEYMGMT_GET_PARAMS, get_params as *const ()),
        Dispatch::new(sys::KEYMGMT_GETTABLE_PARAMS, gettable::<A> as *const ()),
        Dispatch::new(sys::KEYMGMT_SET_PARAMS, set_params as *const ()),
        Dispatch::new(sys::KEYMGMT_SETTABLE_PARAMS, settable::<A> as *const ()),
        Dispatch::new(sys::KEYMGMT_QUERY_OPERATION_NAME, operation_name::<A> as *const ()),
        Dispatch::new(sys::KEYMGMT_HAS, has as *const ()),
        Dispatch::new(sys::KEYMGMT_VALIDATE, validate as *const ()),
        Dispatch::new(sys::KEYMGMT_MATCH, matches as *const ()),
        Dispatch::new(sys::KEYMGMT_DUP, copy as *const ()),
        Dispatch::new(sys::KEYMGMT_IMPORT, import::<A> as *const ()),
        Dispatch::new(sys::KEYMGMT_IMPORT_TYPES, types::<A> as *const ()),
        Dispatch::new(sys::KEYMGMT_EXPORT, export as *const ()),
        Dispatch::new(sys::KEYMGMT_EXPORT_TYPES, types::<A> as *const ()),
        Dispatch::END,
    ];
}

/// A key as OpenSSL holds it: empty until it is imported or made.
#[derive(Default)]
struct KeySlot(RwLock<Option<Arc<CurveKey>>>);

impl KeySlot {
    fn of(key: CurveKey) -> Self {
        Self(RwLock::new(Some(Arc::new(key))))
    }

    fn key(&self) -> Option<Arc<CurveKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the public key of one that has parameters.
    ///
    /// # Safety
    /// `params` ends as OpenSSL has it, and has these bytes.
    unsafe fn set_public(&self, params: *const OSSL_PARAM, bytes: &[u8]) -> Option<()> {
        let mut place = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let key = place.as_mut()?;
        match key.which {
            // SAFETY: the caller's.
            Which::Other => unsafe { Arc::get_mut(key)?.set_by_openssl(params) },
            _ => {
                *key = Arc::new(key.with_public(bytes)?);
                Some(())
            }
        }
    }
}

/// # Safety
/// `place` is null, or comes from [`guard::new`] or [`generate`] and is not freed yet.
pub(super) unsafe fn at(place: *const c_void) -> Option<Arc<CurveKey>> {
    // SAFETY: the caller's.
    unsafe { place.cast::<KeySlot>().as_ref() }?.key()
}

/// A key that is to be made.
struct Generation {
    selection: c_int,
    which: Option<Which>,
    /// A key whose curve it is to have.
    template: Option<Arc<CurveKey>>,
    /// For OpenSSL, where the curve is not one of the library's, or more is set than the curve.
    params: software::Params,
    is_plain: bool,
}

impl Generation {
    /// # Safety
    /// `params` is null, or ends as OpenSSL has it.
    unsafe fn set(&mut self, params: *const OSSL_PARAM) -> Option<()> {
        // SAFETY: the caller's; names and texts of parameters end with zero.
        unsafe {
            self.params.keep(params)?;
            let mut param = params;
            while !param.is_null() && !(*param).key.is_null() {
                let mut text = std::ptr::null();
                if CStr::from_ptr((*param).key) != sys::PARAM_GROUP {
                    self.is_plain = false;
                } else if self.which != Some(Which::X25519)
                    && ffi::OSSL_PARAM_get_utf8_string_ptr(param, &mut text) == 1
                {
                    self.which = Some(Which::named(CStr::from_ptr(text)));
                }
                param = param.add(1);
            }
        }
        Some(())
    }

    fn generate<A: Algorithm>(&self) -> Option<CurveKey> {
        let is_pair = self.selection & sys::SELECT_KEY_PAIR != 0;
        match self.template.as_ref().map(|key| key.which).or(self.which) {
            Some(which) if which != Which::Other && self.is_plain => match is_pair {
                true => CurveKey::generate(A::NAME, which),
                false => Some(CurveKey::empty(A::NAME, which)),
            },
            _ => {
                let template = self.template.as_ref().map(|key| key.software());
                let mut context = match template {
                    Some(template) => software::Context::generation(A::NAME, Some(template?))?,
                    None if is_pair => software::Context::generation(A::NAME, None)?,
                    None => software::Context::parameters(A::NAME)?,
                };
                // SAFETY: parameters that were kept have an end.
                self.params.all().try_for_each(|params| unsafe { context.set_params(params) })?;
                let parts = if is_pair { sys::SELECT_KEY_PAIR } else { 0 };
                Some(CurveKey::of_openssl(A::NAME, context.generate()?, parts))
            }
        }
    }
}

unsafe extern "C" fn generation<A: Algorithm>(
    _context: *mut c_void,
    selection: c_int,
    params: *const OSSL_PARAM,
) -> *mut c_void {
    made(|| {
        let mut generation = Generation {
            selection,
            which: A::ONLY,
            template: None,
            params: software::Params::default(),
            is_plain: true,
        };
        // SAFETY: OpenSSL gives parameters with an end, or none.
        unsafe { generation.set(params) }?;
        Some(generation)
    })
}

unsafe extern "C" fn set_template(generation: *mut c_void, template: *mut c_void) -> c_int {
    // SAFETY: OpenSSL gives what `generation` and `new` made.
    guarded(|| unsafe {
        generation.cast::<Generation>().as_mut()?.template = at(template);
        Some(())
    })
}

unsafe extern "C" fn set_generation(generation: *mut c_void, params: *const OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives what `generation` made, and parameters with an end.
    guarded(|| unsafe { generation.cast::<Generation>().as_mut()?.set(params) })
}

unsafe extern "C" fn generation_settable<A: Algorithm>(
    _generation: *mut c_void,
    _context: *mut c_void,
) -> *const OSSL_PARAM {
    params::<A>()[1].0
}

unsafe extern "C" fn generate<A: Algorithm>(
    generation: *mut c_void,
    _progress: *const c_void,
    _argument: *mut c_void,
) -> *mut c_void {
    // SAFETY: OpenSSL gives what `generation` made.
    let generation = || unsafe { generation.cast::<Generation>().as_ref() };
    made(|| generation()?.generate::<A>().map(KeySlot::of))
}

/// A server of TLS 1.2 copies the parameters of its own key for the client's.
unsafe extern "C" fn copy(place: *const c_void, selection: c_int) -> *mut c_void {
    // SAFETY: OpenSSL gives what was made here.
    made(|| unsafe { at(place) }?.part(selection).map(KeySlot::of))
}

unsafe extern "C" fn has(place: *const c_void, selection: c_int) -> c_int {
    // SAFETY: OpenSSL gives what was made here.
    guarded(|| unsafe { at(place) }?.has(selection).then_some(()))
}

/// Public keys are checked when they come: one that is here is one of its curve.
unsafe extern "C" fn validate(place: *const c_void, selection: c_int, _type: c_int) -> c_int {
    guarded(|| {
        // SAFETY: OpenSSL gives what was made here.
        let key = unsafe { at(place) }?;
        match key.which {
            Which::Other if selection & sys::SELECT_PUBLIC_KEY != 0 => key.software()?.check(),
            _ => key.has(selection & sys::SELECT_KEY_PAIR).then_some(()),
        }
    })
}

unsafe extern "C" fn matches(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    // SAFETY: OpenSSL gives what was made here.
    guarded(|| unsafe { at(one)?.matches(&*at(other)?, selection).then_some(()) })
}

unsafe extern "C" fn import<A: Algorithm>(
    place: *mut c_void,
    selection: c_int,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and parameters with an end.
    guarded(|| unsafe {
        let place = place.cast::<KeySlot>().as_ref()?;
        let key = CurveKey::import(A::NAME, selection, params)?;
        if key.has(sys::SELECT_PRIVATE_KEY) {
            Accelerator::get().and_then(Accelerator::multi_buffer).map(break_even::of_curves);
        }
        *place.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(key));
        Some(())
    })
}

unsafe extern "C" fn export(
    place: *mut c_void,
    selection: c_int,
    callback: sys::Callback,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: OpenSSL gives what was made here, and a function with its argument.
    guarded(|| unsafe { at(place)?.software()?.export(selection, callback, argument) })
}

/// What is asked of keys for handshakes is answered here; the rest is OpenSSL's.
unsafe extern "C" fn get_params(place: *mut c_void, params: *mut OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives what was made here, and parameters with room and an end.
    guarded(|| unsafe {
        let key = at(place)?;
        let Some([bits, size, security]) = key.sizes() else {
            return key.software()?.get_params(params);
        };
        let mut param = params;
        while !(*param).key.is_null() {
            let name = CStr::from_ptr((*param).key);
            let number = [
                (sys::PARAM_BITS, bits),
                (sys::PARAM_MAX_SIZE, size),
                (sys::PARAM_SECURITY_BITS, security),
            ];
            let number = number.into_iter().find(|(of, _)| *of == name);
            let done = match (number, &key.public) {
                (Some((_, number)), _) => sys::OSSL_PARAM_set_int(param, number),
                (None, Some(public)) if name == sys::PARAM_ENCODED_PUBLIC => {
                    sys::OSSL_PARAM_set_octet_string(param, public.as_ptr().cast(), public.len())
                }
                // Without a public key OpenSSL has no such key.
                (None, None) if key.which == Which::X25519 => 1,
                (None, _) => return key.software()?.get_params(params),
            };
            (done == 1).then_some(())?;
            param = param.add(1);
        }
        Some(())
    })
}

unsafe extern "C" fn set_params(place: *mut c_void, params: *const OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives what was made here, and parameters with an end.
    guarded(|| unsafe {
        let place = place.cast::<KeySlot>().as_ref()?;
        let param = ffi::OSSL_PARAM_locate_const(params, sys::PARAM_ENCODED_PUBLIC.as_ptr());
        let (mut bytes, mut length) = (std::ptr::null(), 0);
        if param.is_null() {
            return Some(());
        }
        (ffi::OSSL_PARAM_get_octet_string_ptr(param, &mut bytes, &mut length) == 1).then_some(())?;
        let (bytes, length) = (bytes.cast::<u8>(), length);
        let bytes = input(&bytes, length)?;
        place.set_public(params, bytes)
    })
}

unsafe extern "C" fn types<A: Algorithm>(selection: c_int) -> *const OSSL_PARAM {
    software::key_types(A::NAME, selection).0
}

unsafe extern "C" fn gettable<A: Algorithm>(_context: *mut c_void) -> *const OSSL_PARAM {
    params::<A>()[0].0
}

unsafe extern "C" fn settable<A: Algorithm>(_context: *mut c_void) -> *const OSSL_PARAM {
    params::<A>()[2].0
}

/// The tables of parameters, which are asked for with each key.
fn params<A: Algorithm>() -> &'static [Table; 3] {
    static OF_NIST: OnceLock<[Table; 3]> = OnceLock::new();
    static OF_X25519: OnceLock<[Table; 3]> = OnceLock::new();
    let tables = if A::ONLY.is_some() { &OF_X25519 } else { &OF_NIST };
    tables.get_or_init(|| software::key_params(A::NAME))
}

unsafe extern "C" fn operation_name<A: Algorithm>(operation: c_int) -> *const c_char {
    match operation {
        sys::OP_SIGNATURE => A::SIGNATURE.as_ptr(),
        sys::OP_KEYEXCH => A::EXCHANGE.as_ptr(),
        _ => A::NAME.as_ptr(),
    }
}

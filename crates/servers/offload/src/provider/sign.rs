//! Signatures of messages (provider-signature(7)) whose private key is used by the multi-buffer library, as a
//! server of TLS makes them (RFC 8446, section 4.4.3; RFC 5246, section 7.4.3). Others are OpenSSL's own, and so
//! is every verification.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use ffi::OSSL_PARAM;
use openssl::hash::MessageDigest;
use openssl_sys as ffi;

use super::guard::{self, guarded, input, made};
use super::software::{self, Table};
use super::sys::{self, Dispatch};

/// A key that signs.
pub(super) trait SigningKey: Sized + 'static {
    /// The algorithm's name at OpenSSL.
    const ALGORITHM: &CStr;
    /// What the settings of a signature come to.
    type Settings: Default;

    /// # Safety
    /// `place` is one of OpenSSL's for keys of this type, or null.
    unsafe fn at(place: *const c_void) -> Option<Arc<Self>>;

    fn software(&self) -> Option<&software::Key>;

    /// # Safety
    /// `params` is null, or ends as OpenSSL has it.
    unsafe fn set(settings: &mut Self::Settings, params: *const OSSL_PARAM);

    /// Bytes of the longest signature; `None` where OpenSSL is to make it.
    fn size(&self) -> Option<usize>;

    /// The signature by the multi-buffer library; `None` where OpenSSL is to make it.
    fn sign_in_batch(
        &self,
        function: MessageDigest,
        settings: &Self::Settings,
        message: &[u8],
    ) -> Option<Vec<u8>>;

    /// The table of settings, which is asked for with each signature.
    fn settable() -> &'static OnceLock<[Table; 1]>;
}

pub(super) struct Functions<K>(PhantomData<K>);

impl<K: SigningKey> Functions<K> {
    pub(super) const TABLE: &'static [Dispatch] = &[
        Dispatch::new(sys::SIGNATURE_NEWCTX, new::<K> as *const ()),
        Dispatch::new(sys::SIGNATURE_FREECTX, guard::free::<Signing<K>> as *const ()),
        Dispatch::new(sys::SIGNATURE_DIGEST_SIGN_INIT, begin::<K> as *const ()),
        Dispatch::new(sys::SIGNATURE_DIGEST_SIGN, sign::<K> as *const ()),
        Dispatch::new(sys::SIGNATURE_DIGEST_VERIFY_INIT, begin_verifying::<K> as *const ()),
        Dispatch::new(sys::SIGNATURE_DIGEST_VERIFY, verify::<K> as *const ()),
        Dispatch::new(sys::SIGNATURE_SET_CTX_PARAMS, set_params::<K> as *const ()),
        Dispatch::new(sys::SIGNATURE_SETTABLE_CTX_PARAMS, settable::<K> as *const ()),
        Dispatch::END,
    ];
}

/// A signature that is to be made or verified.
struct Signing<K: SigningKey>(Option<Started<K>>);

struct Started<K: SigningKey> {
    key: Arc<K>,
    /// The name of the hash function, where there is one.
    function: Option<CString>,
    settings: K::Settings,
    /// The same settings for OpenSSL.
    params: software::Params,
    verifies: bool,
    software: Option<software::Signing>,
}

impl<K: SigningKey> Started<K> {
    /// # Safety
    /// `params` is null, or ends as OpenSSL has it.
    unsafe fn set(&mut self, params: *const OSSL_PARAM) -> Option<()> {
        // SAFETY: the caller's.
        unsafe {
            K::set(&mut self.settings, params);
            self.params.keep(params)?;
            match &mut self.software {
                Some(software) if !params.is_null() => software.set_params(params),
                _ => Some(()),
            }
        }
    }

    /// OpenSSL's own, with the same settings.
    fn software(&mut self) -> Option<&mut software::Signing> {
        if self.software.is_none() {
            let (key, function) = (self.key.software()?, self.function.as_deref());
            let mut software = software::Signing::new(key, function, self.verifies)?;
            // SAFETY: parameters that were kept have an end.
            self.params.all().try_for_each(|params| unsafe { software.set_params(params) })?;
            self.software = Some(software);
        }
        self.software.as_mut()
    }

    fn in_batch(&self, message: &[u8]) -> Option<Vec<u8>> {
        let function = MessageDigest::from_name(self.function.as_ref()?.to_str().ok()?)?;
        self.key.sign_in_batch(function, &self.settings, message)
    }
}

unsafe extern "C" fn new<K: SigningKey>(
    _context: *mut c_void,
    _properties: *const c_char,
) -> *mut c_void {
    made(|| Some(Signing::<K>(None)))
}

unsafe extern "C" fn begin<K: SigningKey>(
    signing: *mut c_void,
    function: *const c_char,
    key: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, here and for keys, and a name and parameters with an end.
    guarded(|| unsafe { begun::<K>(signing, function, key, params, false) })
}

unsafe extern "C" fn begin_verifying<K: SigningKey>(
    signing: *mut c_void,
    function: *const c_char,
    key: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // What OpenSSL refuses is to be refused at once.
    // SAFETY: OpenSSL gives what `new` made, here and for keys, and a name and parameters with an end.
    guarded(|| unsafe { begun::<K>(signing, function, key, params, true) })
}

/// # Safety
/// OpenSSL gives what `new` made, here and for keys, and a name and parameters with an end, or none.
unsafe fn begun<K: SigningKey>(
    signing: *mut c_void,
    function: *const c_char,
    key: *mut c_void,
    params: *const OSSL_PARAM,
    verifies: bool,
) -> Option<()> {
    // SAFETY: the caller's.
    unsafe {
        let signing = signing.cast::<Signing<K>>().as_mut()?;
        let function = (!function.is_null()).then(|| CStr::from_ptr(function).to_owned());
        let mut begun = Started {
            key: K::at(key)?,
            function,
            settings: K::Settings::default(),
            params: software::Params::default(),
            verifies,
            software: None,
        };
        begun.set(params)?;
        if begun.key.size().is_none() || verifies {
            begun.software()?;
        }
        signing.0 = Some(begun);
        Some(())
    }
}

/// Without a place for the signature it says how much room that needs.
unsafe extern "C" fn sign<K: SigningKey>(
    signing: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
    out_size: usize,
    message: *const u8,
    message_length: usize,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and memory of the lengths that it says.
    guarded(|| unsafe {
        let begun = signing.cast::<Signing<K>>().as_mut()?.0.as_mut()?;
        if let Some(size) = begun.key.size().filter(|_| out.is_null()) {
            *out_length = size;
            return Some(());
        }
        let message = input(&message, message_length)?;
        let signature = if out.is_null() { None } else { begun.in_batch(message) };
        let Some(signature) = signature else {
            *out_length = out_size;
            return begun.software()?.sign(out, &mut *out_length, message);
        };
        guard::give(&signature, out, out_length, out_size)
    })
}

unsafe extern "C" fn verify<K: SigningKey>(
    signing: *mut c_void,
    signature: *const u8,
    signature_length: usize,
    message: *const u8,
    message_length: usize,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and memory of the lengths that it says.
    guarded(|| unsafe {
        let begun = signing.cast::<Signing<K>>().as_mut()?.0.as_mut()?;
        let signature = input(&signature, signature_length)?;
        let message = input(&message, message_length)?;
        begun.software()?.verify(signature, message).then_some(())
    })
}

unsafe extern "C" fn set_params<K: SigningKey>(
    signing: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and parameters with an end.
    guarded(|| unsafe { signing.cast::<Signing<K>>().as_mut()?.0.as_mut()?.set(params) })
}

unsafe extern "C" fn settable<K: SigningKey>(
    _signing: *mut c_void,
    _context: *mut c_void,
) -> *const OSSL_PARAM {
    K::settable().get_or_init(|| software::signature_params(K::ALGORITHM))[0].0
}

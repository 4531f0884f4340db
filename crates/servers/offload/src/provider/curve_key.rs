//! Keys on curves: X25519, and those of NIST by the name of EC (provider-keymgmt(7)).
//!
//! On X25519, P-256 and P-384 a key is its numbers, as the multi-buffer library has them: a server makes one for
//! each handshake. What that library does not know is OpenSSL's own key, which the others become when something
//! else is asked of them.

use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use crypto_mb::{Curve, Scalar};
use ffi::OSSL_PARAM;
use openssl::bn::BigNumContext;
use openssl::ec::{EcGroup, EcGroupRef, EcKey, EcPoint, PointConversionForm};
use openssl::nid::Nid;
use openssl_sys as ffi;
use zeroize::Zeroizing;

use super::software;
use super::sys;
use crate::Accelerator;
use crate::multi_buffer::{Class, KeyPair, X25519Secret};

/// `EVP_PKEY_KEY_PARAMETERS`.
const PARAMETERS: i32 = 0x84;
/// The first byte of an uncompressed point (SEC 1, section 2.3.3).
const UNCOMPRESSED: u8 = 4;

/// The names of algorithms at OpenSSL.
pub(super) const EC: &CStr = c"EC";
pub(super) const X25519: &CStr = c"X25519";

/// On which curve a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    X25519,
    Nist(Curve),
    /// One that is OpenSSL's own.
    Other,
}

#[derive(Clone)]
pub(super) enum Secret {
    X25519(Arc<X25519Secret>),
    Nist(Arc<Scalar>),
}

pub(super) struct CurveKey {
    pub(super) which: Which,
    pub(super) secret: Option<Secret>,
    /// As on the wire, where it is known: 32 bytes, or an uncompressed point.
    pub(super) public: Option<Vec<u8>>,
    /// What it has, by OpenSSL's selection, where it is OpenSSL's own.
    parts: i32,
    name: &'static CStr,
    software: OnceLock<Option<software::Key>>,
}

impl Which {
    /// By the name of a group of EC.
    pub(super) fn named(group: &CStr) -> Self {
        match group.to_bytes() {
            b"prime256v1" | b"P-256" | b"secp256r1" => Self::Nist(Curve::P256),
            b"secp384r1" | b"P-384" => Self::Nist(Curve::P384),
            _ => Self::Other,
        }
    }

    /// The batches in which keys are made.
    fn class(self) -> Option<Class> {
        match self {
            Self::X25519 => Some(Class::X25519Key),
            Self::Nist(curve) => Some(Class::EcdhKey(curve)),
            Self::Other => None,
        }
    }
}

impl CurveKey {
    /// A key without numbers.
    pub(super) fn empty(name: &'static CStr, which: Which) -> Self {
        let software = OnceLock::new();
        Self { which, secret: None, public: None, parts: 0, name, software }
    }

    /// OpenSSL's own, with what of OpenSSL's selection it has.
    pub(super) fn of_openssl(name: &'static CStr, key: software::Key, parts: i32) -> Self {
        let software = OnceLock::from(Some(key));
        Self { parts, software, ..Self::empty(name, Which::Other) }
    }

    /// A key for one handshake.
    pub(super) fn generate(name: &'static CStr, which: Which) -> Option<Self> {
        let device = Accelerator::get().and_then(Accelerator::multi_buffer);
        match device.zip(which.class()).and_then(|(device, class)| device.key(class)) {
            Some(pair) => Some(Self::of_pair(name, pair)),
            None => Self::generate_by_openssl(name, which),
        }
    }

    fn of_pair(name: &'static CStr, pair: KeyPair) -> Self {
        let (which, secret, public) = match pair {
            KeyPair::X25519(secret, public) => {
                (Which::X25519, Secret::X25519(Arc::new(secret)), public.to_vec())
            }
            KeyPair::Nist(secret, point) => {
                let which = Which::Nist(secret.curve());
                (which, Secret::Nist(Arc::new(secret)), [&[UNCOMPRESSED][..], &point].concat())
            }
        };
        Self { secret: Some(secret), public: Some(public), ..Self::empty(name, which) }
    }

    pub(super) fn generate_by_openssl(name: &'static CStr, which: Which) -> Option<Self> {
        match which {
            Which::X25519 => {
                let key = software::Context::generation(name, None)?.generate()?;
                let (mut secret, mut public) = (Zeroizing::new([0; 32]), vec![0; 32]);
                key.octets(sys::PARAM_PRIVATE, &mut *secret)?;
                key.octets(sys::PARAM_PUBLIC, &mut public)?;
                let secret = Some(Secret::X25519(Arc::new(secret)));
                let software = OnceLock::from(Some(key));
                Some(Self { secret, public: Some(public), software, ..Self::empty(name, which) })
            }
            Which::Nist(curve) => {
                let group = group(curve)?;
                let key = EcKey::generate(group).ok()?;
                let length = i32::try_from(curve.bytes()).ok()?;
                let secret = Zeroizing::new(key.private_key().to_vec_padded(length).ok()?);
                let secret = Secret::Nist(Arc::new(Scalar::new(curve, &secret)?));
                let (form, mut context) =
                    (PointConversionForm::UNCOMPRESSED, BigNumContext::new().ok()?);
                let public = key.public_key().to_bytes(group, form, &mut context).ok()?;
                let (secret, public) = (Some(secret), Some(public));
                Some(Self { secret, public, ..Self::empty(name, which) })
            }
            Which::Other => None,
        }
    }

    /// From OpenSSL's parameters.
    ///
    /// # Safety
    /// `params` ends as OpenSSL has it.
    pub(super) unsafe fn import(
        name: &'static CStr,
        selection: i32,
        params: *const OSSL_PARAM,
    ) -> Option<Self> {
        // SAFETY: the caller's; names end with zero, and so does a text that a parameter has.
        unsafe {
            let key = software::Key::import(name, selection, params)?;
            let param = |name: &CStr| ffi::OSSL_PARAM_locate_const(params, name.as_ptr()).as_ref();
            let mut group = std::ptr::null();
            let which = match param(sys::PARAM_GROUP) {
                _ if name == X25519 => Which::X25519,
                Some(param) if ffi::OSSL_PARAM_get_utf8_string_ptr(param, &mut group) == 1 => {
                    Which::named(CStr::from_ptr(group))
                }
                _ => Which::Other,
            };
            let public = param(sys::PARAM_PUBLIC).map(|param| bytes_of(param));
            let secret = param(sys::PARAM_PRIVATE).map(|param| bytes_of(param));
            let parts = i32::from(secret.is_some()) * sys::SELECT_PRIVATE_KEY
                + i32::from(public.is_some()) * sys::SELECT_PUBLIC_KEY;
            let public = public.and_then(|bytes| encoded(which, bytes));
            let secret = secret.map(|bytes| secret_of(which, bytes));
            let mut own = Self::of_openssl(name, key, parts);
            // A private key without its public one, or with numbers that are none, is left to OpenSSL.
            if public.is_some() && secret.as_ref().is_none_or(Option::is_some) {
                (own.which, own.public, own.secret) = (which, public, secret.flatten());
            }
            Some(own)
        }
    }

    /// The same with a public key as it is on the wire; `None` where that is no key of the curve.
    pub(super) fn with_public(&self, bytes: &[u8]) -> Option<Self> {
        let public = Some(encoded(self.which, bytes)?);
        Some(Self { public, ..Self::empty(self.name, self.which) })
    }

    /// OpenSSL's own key with a public key as it is on the wire.
    ///
    /// # Safety
    /// `params` ends as OpenSSL has it.
    pub(super) unsafe fn set_by_openssl(&mut self, params: *const OSSL_PARAM) -> Option<()> {
        // SAFETY: the caller's; the key is this one's alone.
        unsafe { self.software()?.set_params(params) }?;
        self.parts |= sys::SELECT_PUBLIC_KEY;
        Some(())
    }

    /// A copy of what OpenSSL selects.
    pub(super) fn part(&self, selection: i32) -> Option<Self> {
        if self.which == Which::Other {
            let is_whole = selection & sys::SELECT_KEY_PAIR != 0;
            let parts = if is_whole { self.parts } else { 0 };
            return Some(Self::of_openssl(self.name, self.software()?.copy(is_whole)?, parts));
        }
        let has = |part| selection & part != 0;
        let secret = self.secret.clone().filter(|_| has(sys::SELECT_PRIVATE_KEY));
        let public = self.public.clone().filter(|_| has(sys::SELECT_PUBLIC_KEY));
        Some(Self { secret, public, ..Self::empty(self.name, self.which) })
    }

    pub(super) fn has(&self, selection: i32) -> bool {
        let secret = self.secret.is_some() || self.parts & sys::SELECT_PRIVATE_KEY != 0;
        let public = self.public.is_some() || self.parts & sys::SELECT_PUBLIC_KEY != 0;
        (secret || selection & sys::SELECT_PRIVATE_KEY == 0)
            && (public || selection & sys::SELECT_PUBLIC_KEY == 0)
    }

    pub(super) fn matches(&self, other: &Self, selection: i32) -> bool {
        match (self.which, other.which) {
            (Which::Other, _) | (_, Which::Other) => {
                self.software().is_some_and(|own| other.software().is_some_and(|it| own == it))
            }
            (own, theirs) => {
                let is_same_key = self.public.is_some() && self.public == other.public;
                own == theirs && (is_same_key || selection & sys::SELECT_KEY_PAIR == 0)
            }
        }
    }

    /// Bits, bytes of the longest result, and bits of security, where the key is not OpenSSL's own.
    pub(super) fn sizes(&self) -> Option<[i32; 3]> {
        match self.which {
            Which::X25519 => Some([253, 32, 128]),
            Which::Nist(Curve::P256) => Some([256, 72, 128]),
            Which::Nist(Curve::P384) => Some([384, 104, 192]),
            Which::Other => None,
        }
    }

    /// OpenSSL's own key of the same numbers.
    pub(super) fn software(&self) -> Option<&software::Key> {
        self.software.get_or_init(|| self.make_software()).as_ref()
    }

    fn make_software(&self) -> Option<software::Key> {
        let param = |key: &CStr, data_type, data: &[u8]| OSSL_PARAM {
            key: key.as_ptr(),
            data_type,
            data: data.as_ptr().cast_mut().cast(),
            data_size: data.len(),
            return_size: 0,
        };
        let group = match self.which {
            Which::Nist(Curve::P256) => Some(c"prime256v1"),
            Which::Nist(Curve::P384) => Some(c"secp384r1"),
            Which::X25519 | Which::Other => None,
        };
        let (secret, kind) = match &self.secret {
            Some(Secret::X25519(secret)) => {
                (Some(Zeroizing::new(secret.to_vec())), sys::PARAM_OCTETS)
            }
            Some(Secret::Nist(scalar)) => {
                let mut number = scalar.bytes();
                if cfg!(target_endian = "little") {
                    number.reverse();
                }
                (Some(number), sys::PARAM_UNSIGNED)
            }
            None => (None, sys::PARAM_OCTETS),
        };
        let (public, secret) = (self.public.as_ref(), secret.as_ref());
        let group = group.map(|name| param(sys::PARAM_GROUP, sys::PARAM_UTF8, name.to_bytes()));
        let mut params: Vec<_> = group.into_iter().collect();
        params.extend(public.map(|bytes| param(sys::PARAM_PUBLIC, sys::PARAM_OCTETS, bytes)));
        params.extend(secret.map(|bytes| param(sys::PARAM_PRIVATE, kind, bytes)));
        // SAFETY: it takes nothing.
        params.push(unsafe { ffi::OSSL_PARAM_construct_end() });
        let selection = PARAMETERS
            + i32::from(public.is_some()) * sys::SELECT_PUBLIC_KEY
            + i32::from(secret.is_some()) * sys::SELECT_PRIVATE_KEY;
        // SAFETY: the parameters have an end, and their data are there.
        unsafe { software::Key::import(self.name, selection, params.as_ptr()) }
    }
}

/// The data of a parameter.
///
/// # Safety
/// It is one of OpenSSL's.
unsafe fn bytes_of(param: &OSSL_PARAM) -> &[u8] {
    if param.data.is_null() {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(param.data.cast(), param.data_size) }
}

/// A public key in the form that is kept; `None` where it is none of the curve. Points of these curves are all
/// of the right order but infinity, so that this is the full check (SP 800-56A, section 5.6.2.3.3).
fn encoded(which: Which, bytes: &[u8]) -> Option<Vec<u8>> {
    match which {
        Which::X25519 => (bytes.len() == 32).then(|| bytes.to_vec()),
        Which::Nist(curve) => {
            let group = group(curve)?;
            let mut context = BigNumContext::new().ok()?;
            let point = EcPoint::from_bytes(group, bytes, &mut context).ok()?;
            if point.is_infinity(group) {
                return None;
            }
            if bytes[0] == UNCOMPRESSED {
                return Some(bytes.to_vec());
            }
            point.to_bytes(group, PointConversionForm::UNCOMPRESSED, &mut context).ok()
        }
        Which::Other => None,
    }
}

/// A private key; its number is in this machine's order.
fn secret_of(which: Which, bytes: &[u8]) -> Option<Secret> {
    match which {
        Which::X25519 => {
            let secret: [u8; 32] = bytes.try_into().ok()?;
            Some(Secret::X25519(Arc::new(Zeroizing::new(secret))))
        }
        Which::Nist(curve) => {
            let mut number = Zeroizing::new(bytes.to_vec());
            if cfg!(target_endian = "little") {
                number.reverse();
            }
            let (zeros, number) = number.split_at(number.len().saturating_sub(curve.bytes()));
            let fits = zeros.iter().all(|byte| *byte == 0);
            let scalar = Scalar::new(curve, number).filter(|_| fits)?;
            Some(Secret::Nist(Arc::new(scalar)))
        }
        Which::Other => None,
    }
}

/// OpenSSL's own group.
pub(super) fn group(curve: Curve) -> Option<&'static EcGroupRef> {
    static GROUPS: [OnceLock<Option<EcGroup>>; 2] = [const { OnceLock::new() }; 2];
    let (place, nid) = match curve {
        Curve::P256 => (0, Nid::X9_62_PRIME256V1),
        Curve::P384 => (1, Nid::SECP384R1),
    };
    GROUPS[place].get_or_init(|| EcGroup::from_curve_name(nid).ok()).as_deref()
}

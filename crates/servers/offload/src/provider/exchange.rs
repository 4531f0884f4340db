//! Key exchange on curves (provider-keyexch(7)): X25519, and ECDH with P-256 and P-384, by the multi-buffer
//! library. Other curves, and results that go through a key derivation function, are OpenSSL's own.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use ffi::OSSL_PARAM;
use openssl_sys as ffi;
use zeroize::Zeroizing;

use super::batch::in_batch;
use super::curve_key::{CurveKey, Secret};
use super::curve_keymgmt::{self, Algorithm};
use super::guard::{self, guarded};
use super::software::{self, Table};
use super::sys::{self, Dispatch};
use crate::multi_buffer::Work;

pub(super) struct Functions<A>(PhantomData<A>);

impl<A: Algorithm> Functions<A> {
    pub(super) const TABLE: &'static [Dispatch] = &[
        Dispatch::new(sys::KEYEXCH_NEWCTX, guard::new::<Exchange> as *const ()),
        Dispatch::new(sys::KEYEXCH_FREECTX, guard::free::<Exchange> as *const ()),
        Dispatch::new(sys::KEYEXCH_INIT, begin as *const ()),
        Dispatch::new(sys::KEYEXCH_SET_PEER, set_peer as *const ()),
        Dispatch::new(sys::KEYEXCH_DERIVE, derive as *const ()),
        Dispatch::new(sys::KEYEXCH_SET_CTX_PARAMS, set_params as *const ()),
        Dispatch::new(sys::KEYEXCH_SETTABLE_CTX_PARAMS, settable::<A> as *const ()),
        Dispatch::END,
    ];
}

#[derive(Default)]
struct Exchange {
    own: Option<Arc<CurveKey>>,
    peer: Option<Arc<CurveKey>>,
    /// For OpenSSL; nothing but the two keys is needed where there are none.
    params: software::Params,
}

impl Exchange {
    /// How long the secret is, where the library has code for both keys.
    fn size(&self) -> Option<usize> {
        let (own, peer) = (self.own.as_ref()?, self.peer.as_ref()?);
        let is_known = own.which == peer.which && peer.public.is_some();
        let is_plain = self.params.all().next().is_none();
        match own.secret.as_ref().filter(|_| is_known && is_plain)? {
            Secret::X25519(_) => Some(32),
            Secret::Nist(scalar) => Some(scalar.curve().bytes()),
        }
    }

    /// The secret by the multi-buffer library; `None` where OpenSSL is to derive it.
    fn derive_in_batch(&self) -> Option<Zeroizing<Vec<u8>>> {
        self.size()?;
        let peer = self.peer.as_ref()?.public.as_ref()?;
        in_batch(match self.own.as_ref()?.secret.as_ref()? {
            Secret::X25519(secret) => {
                Work::X25519 { secret: Arc::clone(secret), peer: peer.as_slice().try_into().ok()? }
            }
            // The first byte says that the point is uncompressed.
            Secret::Nist(secret) => {
                Work::Ecdh { secret: Arc::clone(secret), peer: peer.get(1..)?.to_vec() }
            }
        })
    }
}

unsafe extern "C" fn begin(
    exchange: *mut c_void,
    key: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, here and for keys, and parameters with an end, or none.
    guarded(|| unsafe {
        let exchange = exchange.cast::<Exchange>().as_mut()?;
        *exchange = Exchange { own: Some(curve_keymgmt::at(key)?), ..Exchange::default() };
        exchange.params.keep(params)
    })
}

unsafe extern "C" fn set_peer(exchange: *mut c_void, key: *mut c_void) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, here and for keys.
    guarded(|| unsafe {
        exchange.cast::<Exchange>().as_mut()?.peer = Some(curve_keymgmt::at(key)?);
        Some(())
    })
}

/// Without a place for the secret it says how much room that needs.
unsafe extern "C" fn derive(
    exchange: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
    out_size: usize,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and memory of the lengths that it says.
    guarded(|| unsafe {
        // Its context may be freed by none but the caller, who waits.
        let exchange = exchange.cast::<Exchange>().as_ref()?;
        if let Some(size) = exchange.size().filter(|_| out.is_null()) {
            *out_length = size;
            return Some(());
        }
        let derived = if out.is_null() { None } else { exchange.derive_in_batch() };
        if let Some(secret) = derived {
            return guard::give(&secret, out, out_length, out_size);
        }
        let (own, peer) = (exchange.own.as_ref()?, exchange.peer.as_ref()?);
        let (own, peer) = (own.software()?, peer.software()?);
        let mut software = software::Context::exchange(own, peer, &exchange.params)?;
        *out_length = out_size;
        software.derive(out, &mut *out_length)
    })
}

unsafe extern "C" fn set_params(exchange: *mut c_void, params: *const OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and parameters with an end.
    guarded(|| unsafe { exchange.cast::<Exchange>().as_mut()?.params.keep(params) })
}

unsafe extern "C" fn settable<A: Algorithm>(
    _exchange: *mut c_void,
    _context: *mut c_void,
) -> *const OSSL_PARAM {
    static OF_NIST: OnceLock<[Table; 1]> = OnceLock::new();
    static OF_X25519: OnceLock<[Table; 1]> = OnceLock::new();
    let table = if A::ONLY.is_some() { &OF_X25519 } else { &OF_NIST };
    table.get_or_init(|| software::exchange_params(A::EXCHANGE))[0].0
}

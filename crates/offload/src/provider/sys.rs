//! What the bindings lack of OpenSSL's provider API (core_dispatch.h, core.h, async.h).

use std::ffi::{CStr, c_char, c_int, c_void};

use ffi::{EVP_PKEY, EVP_PKEY_CTX, OSSL_LIB_CTX, OSSL_PARAM};
use openssl_sys as ffi;

pub(super) const PROVIDER_QUERY_OPERATION: c_int = 1027;

pub(super) const OP_KEYMGMT: c_int = 10;
pub(super) const OP_ASYM_CIPHER: c_int = 13;

pub(super) const KEYMGMT_NEW: c_int = 1;
pub(super) const KEYMGMT_FREE: c_int = 10;
pub(super) const KEYMGMT_GET_PARAMS: c_int = 11;
pub(super) const KEYMGMT_GETTABLE_PARAMS: c_int = 12;
pub(super) const KEYMGMT_HAS: c_int = 21;
pub(super) const KEYMGMT_MATCH: c_int = 23;
pub(super) const KEYMGMT_IMPORT: c_int = 40;
pub(super) const KEYMGMT_IMPORT_TYPES: c_int = 41;
pub(super) const KEYMGMT_EXPORT: c_int = 42;
pub(super) const KEYMGMT_EXPORT_TYPES: c_int = 43;

pub(super) const SELECT_PRIVATE_KEY: c_int = 1;

pub(super) const ASYM_CIPHER_NEWCTX: c_int = 1;
pub(super) const ASYM_CIPHER_ENCRYPT_INIT: c_int = 2;
pub(super) const ASYM_CIPHER_ENCRYPT: c_int = 3;
pub(super) const ASYM_CIPHER_DECRYPT_INIT: c_int = 4;
pub(super) const ASYM_CIPHER_DECRYPT: c_int = 5;
pub(super) const ASYM_CIPHER_FREECTX: c_int = 6;
pub(super) const ASYM_CIPHER_GET_CTX_PARAMS: c_int = 8;
pub(super) const ASYM_CIPHER_GETTABLE_CTX_PARAMS: c_int = 9;
pub(super) const ASYM_CIPHER_SET_CTX_PARAMS: c_int = 10;
pub(super) const ASYM_CIPHER_SETTABLE_CTX_PARAMS: c_int = 11;

pub(super) const PARAM_PAD_MODE: &CStr = c"pad-mode";
pub(super) const PARAM_TLS_CLIENT_VERSION: &CStr = c"tls-client-version";
pub(super) const PARAM_TLS_NEGOTIATED_VERSION: &CStr = c"tls-negotiated-version";

/// `RSA_PKCS1_WITH_TLS_PADDING`.
pub(super) const TLS_PADDING: c_int = 7;

/// `OSSL_DISPATCH`: a function of a provider. What it takes and returns follows from its number.
#[repr(C)]
pub(super) struct Dispatch {
    id: c_int,
    function: *const (),
}

// SAFETY: a function may be called on any thread.
unsafe impl Sync for Dispatch {}

impl Dispatch {
    pub(super) const END: Self = Self { id: 0, function: std::ptr::null() };

    pub(super) const fn new(id: c_int, function: *const ()) -> Self {
        Self { id, function }
    }
}

/// `OSSL_ALGORITHM`.
#[repr(C)]
pub(super) struct Algorithm {
    names: *const c_char,
    properties: *const c_char,
    functions: *const Dispatch,
    description: *const c_char,
}

// SAFETY: it is never changed.
unsafe impl Sync for Algorithm {}

impl Algorithm {
    pub(super) const END: Self = Self {
        names: std::ptr::null(),
        properties: std::ptr::null(),
        functions: std::ptr::null(),
        description: std::ptr::null(),
    };

    /// One of RSA, by the names that OpenSSL's own has.
    pub(super) const fn new(functions: &'static [Dispatch]) -> Self {
        Self {
            names: c"RSA:rsaEncryption:1.2.840.113549.1.1.1".as_ptr(),
            properties: c"provider=toll".as_ptr(),
            functions: functions.as_ptr(),
            description: c"RSA on a modelled accelerator".as_ptr(),
        }
    }
}

pub(super) type Initialize = unsafe extern "C" fn(
    *const c_void,
    *const Dispatch,
    *mut *const Dispatch,
    *mut *mut c_void,
) -> c_int;

/// `OSSL_CALLBACK`.
pub(super) type Callback = unsafe extern "C" fn(*const OSSL_PARAM, *mut c_void) -> c_int;

pub(super) enum AsymCipher {}
pub(super) enum KeyManagement {}
pub(super) enum AsyncJob {}

unsafe extern "C" {
    pub(super) fn OSSL_PROVIDER_add_builtin(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
        initialize: Initialize,
    ) -> c_int;
    pub(super) fn OSSL_LIB_CTX_new() -> *mut OSSL_LIB_CTX;
    pub(super) fn OSSL_PARAM_get_int(param: *const OSSL_PARAM, value: *mut c_int) -> c_int;
    pub(super) fn OSSL_PARAM_get_uint(param: *const OSSL_PARAM, value: *mut u32) -> c_int;

    pub(super) fn EVP_PKEY_CTX_new_from_pkey(
        context: *mut OSSL_LIB_CTX,
        key: *mut EVP_PKEY,
        properties: *const c_char,
    ) -> *mut EVP_PKEY_CTX;
    pub(super) fn EVP_PKEY_export(
        key: *const EVP_PKEY,
        selection: c_int,
        callback: Callback,
        argument: *mut c_void,
    ) -> c_int;
    pub(super) fn EVP_PKEY_fromdata_settable(
        context: *mut EVP_PKEY_CTX,
        selection: c_int,
    ) -> *const OSSL_PARAM;
    pub(super) fn EVP_KEYMGMT_fetch(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
        properties: *const c_char,
    ) -> *mut KeyManagement;
    pub(super) fn EVP_KEYMGMT_gettable_params(keys: *const KeyManagement) -> *const OSSL_PARAM;
    pub(super) fn EVP_ASYM_CIPHER_fetch(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
        properties: *const c_char,
    ) -> *mut AsymCipher;
    pub(super) fn EVP_ASYM_CIPHER_gettable_ctx_params(
        cipher: *const AsymCipher,
    ) -> *const OSSL_PARAM;
    pub(super) fn EVP_ASYM_CIPHER_settable_ctx_params(
        cipher: *const AsymCipher,
    ) -> *const OSSL_PARAM;

    pub(super) fn SSL_CTX_new_ex(
        context: *mut OSSL_LIB_CTX,
        properties: *const c_char,
        method: *const ffi::SSL_METHOD,
    ) -> *mut ffi::SSL_CTX;

    pub(super) fn ASYNC_get_current_job() -> *mut AsyncJob;
    pub(super) fn ASYNC_pause_job() -> c_int;
}

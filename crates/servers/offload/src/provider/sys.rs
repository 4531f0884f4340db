//! What the bindings lack of OpenSSL's provider API (core_dispatch.h, core.h, async.h).

use std::ffi::{CStr, c_char, c_int, c_void};

use ffi::{EVP_PKEY, EVP_PKEY_CTX, OSSL_LIB_CTX, OSSL_PARAM};
use openssl_sys as ffi;

pub(super) const CORE_GET_PARAMS: c_int = 2;
pub(super) const PROVIDER_TEARDOWN: c_int = 1024;
pub(super) const PROVIDER_GETTABLE_PARAMS: c_int = 1025;
pub(super) const PROVIDER_GET_PARAMS: c_int = 1026;
pub(super) const PROVIDER_QUERY_OPERATION: c_int = 1027;
pub(super) const PROVIDER_GET_CAPABILITIES: c_int = 1030;

pub(super) const OP_KEYMGMT: c_int = 10;
pub(super) const OP_KEYEXCH: c_int = 11;
pub(super) const OP_SIGNATURE: c_int = 12;
pub(super) const OP_ASYM_CIPHER: c_int = 13;

pub(super) const KEYMGMT_NEW: c_int = 1;
pub(super) const KEYMGMT_GEN_INIT: c_int = 2;
pub(super) const KEYMGMT_GEN_SET_TEMPLATE: c_int = 3;
pub(super) const KEYMGMT_GEN_SET_PARAMS: c_int = 4;
pub(super) const KEYMGMT_GEN_SETTABLE_PARAMS: c_int = 5;
pub(super) const KEYMGMT_GEN: c_int = 6;
pub(super) const KEYMGMT_GEN_CLEANUP: c_int = 7;
pub(super) const KEYMGMT_FREE: c_int = 10;
pub(super) const KEYMGMT_GET_PARAMS: c_int = 11;
pub(super) const KEYMGMT_GETTABLE_PARAMS: c_int = 12;
pub(super) const KEYMGMT_SET_PARAMS: c_int = 13;
pub(super) const KEYMGMT_SETTABLE_PARAMS: c_int = 14;
pub(super) const KEYMGMT_QUERY_OPERATION_NAME: c_int = 20;
pub(super) const KEYMGMT_HAS: c_int = 21;
pub(super) const KEYMGMT_VALIDATE: c_int = 22;
pub(super) const KEYMGMT_MATCH: c_int = 23;
pub(super) const KEYMGMT_IMPORT: c_int = 40;
pub(super) const KEYMGMT_IMPORT_TYPES: c_int = 41;
pub(super) const KEYMGMT_EXPORT: c_int = 42;
pub(super) const KEYMGMT_EXPORT_TYPES: c_int = 43;
pub(super) const KEYMGMT_DUP: c_int = 44;

pub(super) const SELECT_PRIVATE_KEY: c_int = 1;
pub(super) const SELECT_PUBLIC_KEY: c_int = 2;
pub(super) const SELECT_KEY_PAIR: c_int = 3;

pub(super) const KEYEXCH_NEWCTX: c_int = 1;
pub(super) const KEYEXCH_INIT: c_int = 2;
pub(super) const KEYEXCH_DERIVE: c_int = 3;
pub(super) const KEYEXCH_SET_PEER: c_int = 4;
pub(super) const KEYEXCH_FREECTX: c_int = 5;
pub(super) const KEYEXCH_SET_CTX_PARAMS: c_int = 7;
pub(super) const KEYEXCH_SETTABLE_CTX_PARAMS: c_int = 8;

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

pub(super) const SIGNATURE_NEWCTX: c_int = 1;
pub(super) const SIGNATURE_DIGEST_SIGN_INIT: c_int = 8;
pub(super) const SIGNATURE_DIGEST_SIGN: c_int = 11;
pub(super) const SIGNATURE_DIGEST_VERIFY_INIT: c_int = 12;
pub(super) const SIGNATURE_DIGEST_VERIFY: c_int = 15;
pub(super) const SIGNATURE_FREECTX: c_int = 16;
pub(super) const SIGNATURE_SET_CTX_PARAMS: c_int = 20;
pub(super) const SIGNATURE_SETTABLE_CTX_PARAMS: c_int = 21;

pub(super) const PARAM_NAME: &CStr = c"name";
pub(super) const PARAM_STATUS: &CStr = c"status";
pub(super) const PARAM_GROUP: &CStr = c"group";
pub(super) const PARAM_PUBLIC: &CStr = c"pub";
pub(super) const PARAM_PRIVATE: &CStr = c"priv";
pub(super) const PARAM_ENCODED_PUBLIC: &CStr = c"encoded-pub-key";
pub(super) const PARAM_BITS: &CStr = c"bits";
pub(super) const PARAM_MAX_SIZE: &CStr = c"max-size";
pub(super) const PARAM_SECURITY_BITS: &CStr = c"security-bits";
pub(super) const PARAM_GROUP_ALGORITHM: &CStr = c"tls-group-alg";
pub(super) const CAPABILITY_GROUPS: &CStr = c"TLS-GROUP";
pub(super) const PARAM_PAD_MODE: &CStr = c"pad-mode";
pub(super) const PARAM_PSS_SALT_LENGTH: &CStr = c"saltlen";
pub(super) const PARAM_MGF1_DIGEST: &CStr = c"mgf1-digest";
pub(super) const PARAM_DIGEST: &CStr = c"digest";
pub(super) const PARAM_TLS_CLIENT_VERSION: &CStr = c"tls-client-version";
pub(super) const PARAM_TLS_NEGOTIATED_VERSION: &CStr = c"tls-negotiated-version";

/// `OSSL_PARAM_INTEGER` and its like (OSSL_PARAM(3)).
pub(super) const PARAM_INTEGER: u32 = 1;
pub(super) const PARAM_UNSIGNED: u32 = 2;
pub(super) const PARAM_UTF8: u32 = 4;
pub(super) const PARAM_OCTETS: u32 = 5;
pub(super) const PARAM_UTF8_PTR: u32 = 6;

/// `RSA_PKCS1_PADDING` and `RSA_PKCS1_PSS_PADDING`.
pub(super) const PKCS1_PADDING: c_int = 1;
pub(super) const PSS_PADDING: c_int = 6;
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

    /// The function of this number, where it is among these.
    ///
    /// # Safety
    /// `functions` ends as OpenSSL has it.
    pub(super) unsafe fn find(mut functions: *const Self, id: c_int) -> Option<*const ()> {
        // SAFETY: the caller's.
        unsafe {
            while (*functions).id != 0 {
                if (*functions).id == id {
                    return Some((*functions).function);
                }
                functions = functions.add(1);
            }
        }
        None
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

    /// One by the names that OpenSSL's own has.
    pub(super) const fn new(names: &'static CStr, functions: &'static [Dispatch]) -> Self {
        Self {
            names: names.as_ptr(),
            properties: c"provider=toll".as_ptr(),
            functions: functions.as_ptr(),
            description: c"on an accelerator".as_ptr(),
        }
    }
}

pub(super) type Initialize = unsafe extern "C" fn(
    *const c_void,
    *const Dispatch,
    *mut *const Dispatch,
    *mut *mut c_void,
) -> c_int;

/// `OSSL_FUNC_core_get_params_fn`.
pub(super) type CoreGetParams = unsafe extern "C" fn(*const c_void, *mut OSSL_PARAM) -> c_int;

/// What is called when a descriptor of a job's connection is no longer waited for.
pub(super) type Cleanup = unsafe extern "C" fn(*mut WaitContext, *const c_void, c_int, *mut c_void);

/// `OSSL_CALLBACK`.
pub(super) type Callback = unsafe extern "C" fn(*const OSSL_PARAM, *mut c_void) -> c_int;

pub(super) enum AsymCipher {}
pub(super) enum Signature {}
pub(super) enum KeyExchange {}
pub(super) enum KeyManagement {}
pub(super) enum AsyncJob {}
pub(super) enum WaitContext {}

unsafe extern "C" {
    pub(super) fn OSSL_PROVIDER_add_builtin(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
        initialize: Initialize,
    ) -> c_int;
    pub(super) fn OSSL_LIB_CTX_new() -> *mut OSSL_LIB_CTX;
    pub(super) fn OSSL_PARAM_construct_utf8_ptr(
        name: *const c_char,
        text: *mut *mut c_char,
        size: usize,
    ) -> OSSL_PARAM;
    pub(super) fn OSSL_PARAM_locate(
        params: *mut OSSL_PARAM,
        name: *const c_char,
    ) -> *mut OSSL_PARAM;
    pub(super) fn OSSL_PARAM_set_int(param: *mut OSSL_PARAM, value: c_int) -> c_int;
    pub(super) fn OSSL_PARAM_set_utf8_ptr(param: *mut OSSL_PARAM, text: *const c_char) -> c_int;
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
    pub(super) fn EVP_KEYMGMT_gen_settable_params(keys: *const KeyManagement) -> *const OSSL_PARAM;
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

    pub(super) fn EVP_SIGNATURE_fetch(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
        properties: *const c_char,
    ) -> *mut Signature;
    pub(super) fn EVP_KEYEXCH_fetch(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
        properties: *const c_char,
    ) -> *mut KeyExchange;
    pub(super) fn EVP_KEYEXCH_settable_ctx_params(
        exchange: *const KeyExchange,
    ) -> *const OSSL_PARAM;
    pub(super) fn EVP_KEYMGMT_settable_params(keys: *const KeyManagement) -> *const OSSL_PARAM;
    pub(super) fn EVP_PKEY_dup(key: *mut EVP_PKEY) -> *mut EVP_PKEY;
    pub(super) fn EVP_PKEY_copy_parameters(to: *mut EVP_PKEY, from: *const EVP_PKEY) -> c_int;
    pub(super) fn EVP_PKEY_generate(context: *mut EVP_PKEY_CTX, key: *mut *mut EVP_PKEY) -> c_int;
    pub(super) fn OSSL_PROVIDER_get_capabilities(
        provider: *mut ffi::OSSL_PROVIDER,
        capability: *const c_char,
        callback: Callback,
        argument: *mut c_void,
    ) -> c_int;
    pub(super) fn OSSL_PARAM_set_octet_string(
        param: *mut OSSL_PARAM,
        value: *const c_void,
        length: usize,
    ) -> c_int;
    pub(super) fn EVP_DigestVerifyInit_ex(
        context: *mut ffi::EVP_MD_CTX,
        key_context: *mut *mut EVP_PKEY_CTX,
        function: *const c_char,
        library: *mut OSSL_LIB_CTX,
        properties: *const c_char,
        key: *mut EVP_PKEY,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(super) fn EVP_SIGNATURE_settable_ctx_params(
        signature: *const Signature,
    ) -> *const OSSL_PARAM;
    pub(super) fn EVP_DigestSignInit_ex(
        context: *mut ffi::EVP_MD_CTX,
        key_context: *mut *mut EVP_PKEY_CTX,
        function: *const c_char,
        library: *mut OSSL_LIB_CTX,
        properties: *const c_char,
        key: *mut EVP_PKEY,
        params: *const OSSL_PARAM,
    ) -> c_int;

    pub(super) fn SSL_CTX_new_ex(
        context: *mut OSSL_LIB_CTX,
        properties: *const c_char,
        method: *const ffi::SSL_METHOD,
    ) -> *mut ffi::SSL_CTX;

    pub(super) fn ASYNC_start_job(
        job: *mut *mut AsyncJob,
        context: *mut WaitContext,
        result: *mut c_int,
        act: unsafe extern "C" fn(*mut c_void) -> c_int,
        arguments: *mut c_void,
        size: usize,
    ) -> c_int;
    pub(super) fn ASYNC_WAIT_CTX_new() -> *mut WaitContext;
    pub(super) fn ASYNC_WAIT_CTX_free(context: *mut WaitContext);
    pub(super) fn ASYNC_WAIT_CTX_get_all_fds(
        context: *mut WaitContext,
        descriptors: *mut c_int,
        count: *mut usize,
    ) -> c_int;
    pub(super) fn ASYNC_get_current_job() -> *mut AsyncJob;
    pub(super) fn ASYNC_pause_job() -> c_int;
    pub(super) fn ASYNC_get_wait_ctx(job: *mut AsyncJob) -> *mut WaitContext;
    pub(super) fn ASYNC_WAIT_CTX_get_fd(
        context: *mut WaitContext,
        key: *const c_void,
        descriptor: *mut c_int,
        data: *mut *mut c_void,
    ) -> c_int;
    pub(super) fn ASYNC_WAIT_CTX_set_wait_fd(
        context: *mut WaitContext,
        key: *const c_void,
        descriptor: c_int,
        data: *mut c_void,
        cleanup: Cleanup,
    ) -> c_int;
}

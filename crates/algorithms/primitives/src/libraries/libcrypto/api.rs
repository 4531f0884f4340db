//! The functions of a libcrypto, found by name when it is loaded.
//!
//! Any function may be lacking: OpenSSL, its forks and its versions differ. What needs a lacking one
//! is not available, and says which.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};

use crate::routine::{Failed, Unavailable};

/// An object of the library.
pub(super) type Ptr = *mut c_void;
/// Bytes that the library reads.
pub(super) type Bytes = *const c_uchar;
/// Bytes that the library writes.
pub(super) type Out = *mut c_uchar;

/// A struct of functions of a library.
macro_rules! functions {
    (
        $(#[$doc:meta])*
        $api:ident
        $(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)+
    ) => {
        $(#[$doc])*
        #[expect(non_snake_case, reason = "the names are those of the library")]
        pub(super) struct $api {
            $($name: Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>,)+
            pub(super) library: ::shared_library::SharedLibrary,
        }

        #[expect(non_snake_case, reason = "the names are those of the library")]
        impl $api {
            $(pub(super) fn $name(
                &self,
            ) -> Result<unsafe extern "C" fn($($argument),*) $(-> $result)?, Failed> {
                self.$name.ok_or_else(|| {
                    Failed(concat!("this OpenSSL has no ", stringify!($name)).to_owned())
                })
            })+

            pub(super) fn of(library: ::shared_library::SharedLibrary) -> Self {
                Self {
                    // SAFETY: the types are those of the library's documentation, the same in all versions and
                    // forks.
                    $($name: unsafe { library.symbol(stringify!($name)) },)+
                    library,
                }
            }
        }
    };
}

pub(super) use functions;

functions! {
    /// The functions of a libcrypto that were found.
    Api

    fn OpenSSL_version(c_int) -> *const c_char;
    fn ERR_clear_error();
    fn ERR_get_error() -> c_ulong;
    fn ERR_reason_error_string(c_ulong) -> *const c_char;

    fn BIO_s_mem() -> *const c_void;
    fn BIO_new(*const c_void) -> Ptr;
    fn BIO_ctrl(Ptr, c_int, c_long, Ptr) -> c_long;
    fn BIO_read(Ptr, *mut c_void, c_int) -> c_int;
    fn BIO_write(Ptr, *const c_void, c_int) -> c_int;

    fn d2i_X509(*mut Ptr, *mut Bytes, c_long) -> Ptr;
    fn X509_free(Ptr);
    fn X509_STORE_add_cert(Ptr, Ptr) -> c_int;

    fn EVP_CIPHER_CTX_new() -> Ptr;
    fn EVP_CIPHER_CTX_free(Ptr);
    fn EVP_CIPHER_CTX_ctrl(Ptr, c_int, c_int, Ptr) -> c_int;
    fn EVP_CIPHER_CTX_set_padding(Ptr, c_int) -> c_int;
    fn EVP_CipherInit_ex(Ptr, *const c_void, Ptr, Bytes, Bytes, c_int) -> c_int;
    fn EVP_CipherUpdate(Ptr, Out, *mut c_int, Bytes, c_int) -> c_int;
    fn EVP_CipherFinal_ex(Ptr, Out, *mut c_int) -> c_int;

    fn EVP_MD_fetch(Ptr, *const c_char, *const c_char) -> Ptr;
    fn EVP_MD_free(Ptr);
    fn EVP_MD_CTX_new() -> Ptr;
    fn EVP_MD_CTX_free(Ptr);
    fn EVP_DigestInit_ex(Ptr, *const c_void, Ptr) -> c_int;
    fn EVP_DigestUpdate(Ptr, *const c_void, usize) -> c_int;
    fn EVP_DigestFinal_ex(Ptr, Out, *mut c_uint) -> c_int;

    fn HMAC_CTX_new() -> Ptr;
    fn HMAC_CTX_free(Ptr);
    fn HMAC_Init_ex(Ptr, *const c_void, c_int, *const c_void, Ptr) -> c_int;
    fn HMAC_Update(Ptr, Bytes, usize) -> c_int;
    fn HMAC_Final(Ptr, Out, *mut c_uint) -> c_int;

    fn d2i_AutoPrivateKey(*mut Ptr, *mut Bytes, c_long) -> Ptr;
    fn d2i_PUBKEY(*mut Ptr, *mut Bytes, c_long) -> Ptr;
    fn EVP_PKEY_free(Ptr);
    fn EVP_PKEY_new_raw_public_key(c_int, Ptr, Bytes, usize) -> Ptr;
    fn EVP_PKEY_get_raw_public_key(Ptr, Out, *mut usize) -> c_int;
    fn EVP_PKEY_get_raw_private_key(Ptr, Out, *mut usize) -> c_int;
    fn EVP_PKEY_new_raw_private_key_ex(Ptr, *const c_char, *const c_char, Bytes, usize) -> Ptr;
    fn EVP_PKEY_new_raw_public_key_ex(Ptr, *const c_char, *const c_char, Bytes, usize) -> Ptr;
    fn EVP_PKEY_get1_encoded_public_key(Ptr, *mut Out) -> usize;
    fn EVP_PKEY_set1_encoded_public_key(Ptr, Bytes, usize) -> c_int;
    fn EVP_PKEY_new() -> Ptr;
    fn EVP_PKEY_copy_parameters(Ptr, *const c_void) -> c_int;
    fn EVP_PKEY_CTX_new(Ptr, Ptr) -> Ptr;
    fn EVP_PKEY_CTX_new_from_pkey(Ptr, Ptr, *const c_char) -> Ptr;
    fn EVP_PKEY_CTX_new_from_name(Ptr, *const c_char, *const c_char) -> Ptr;
    fn EVP_PKEY_CTX_free(Ptr);
    fn EVP_PKEY_CTX_ctrl(Ptr, c_int, c_int, c_int, c_int, *const c_void) -> c_int;
    fn EVP_PKEY_CTX_set_signature_md(Ptr, *const c_void) -> c_int;
    fn EVP_PKEY_sign_init(Ptr) -> c_int;
    fn EVP_PKEY_sign(Ptr, Out, *mut usize, Bytes, usize) -> c_int;
    fn EVP_PKEY_verify_init(Ptr) -> c_int;
    fn EVP_PKEY_verify(Ptr, Bytes, usize, Bytes, usize) -> c_int;
    fn EVP_PKEY_decrypt_init(Ptr) -> c_int;
    fn EVP_PKEY_decrypt(Ptr, Out, *mut usize, Bytes, usize) -> c_int;
    fn EVP_DigestSignInit(Ptr, *mut Ptr, *const c_void, Ptr, Ptr) -> c_int;
    fn EVP_DigestSign(Ptr, Out, *mut usize, Bytes, usize) -> c_int;
    fn EVP_DigestVerifyInit(Ptr, *mut Ptr, *const c_void, Ptr, Ptr) -> c_int;
    fn EVP_DigestVerify(Ptr, Bytes, usize, Bytes, usize) -> c_int;
    fn EVP_PKEY_keygen_init(Ptr) -> c_int;
    fn EVP_PKEY_keygen(Ptr, *mut Ptr) -> c_int;
    fn EVP_PKEY_derive_init(Ptr) -> c_int;
    fn EVP_PKEY_derive_set_peer(Ptr, Ptr) -> c_int;
    fn EVP_PKEY_derive(Ptr, Out, *mut usize) -> c_int;
    fn EVP_PKEY_encapsulate_init(Ptr, *const c_void) -> c_int;
    fn EVP_PKEY_encapsulate(Ptr, Out, *mut usize, Out, *mut usize) -> c_int;
    fn EVP_PKEY_decapsulate_init(Ptr, *const c_void) -> c_int;
    fn EVP_PKEY_decapsulate(Ptr, Out, *mut usize, Bytes, usize) -> c_int;
    fn CRYPTO_free(Ptr, *const c_char, c_int);
}

impl Api {
    /// What a function without arguments such as `EVP_sha256` returns: a method of the library.
    pub(super) fn method(&self, name: &str) -> Result<Method, Unavailable> {
        let lacking = || Unavailable::because(format_args!("this OpenSSL has no {name}"));
        // SAFETY: functions of this kind take nothing and return a constant.
        let method = unsafe {
            let function: Option<unsafe extern "C" fn() -> *const c_void> =
                self.library.symbol(name);
            function.ok_or_else(lacking)?()
        };
        if method.is_null() { Err(lacking()) } else { Ok(Method(method)) }
    }
}

/// A constant of the library: an `EVP_CIPHER` or `EVP_MD`.
#[derive(Clone, Copy)]
pub(super) struct Method(pub(super) *const c_void);

// SAFETY: what a method points to is never written.
unsafe impl Send for Method {}
// SAFETY: what a method points to is never written.
unsafe impl Sync for Method {}

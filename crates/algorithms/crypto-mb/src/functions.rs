//! The functions of the library that are called, with the types of its headers (crypto_mb/rsa.h, x25519.h,
//! ec_nistp256.h, ec_nistp384.h, cpu_features.h, version.h). Numbers are 64-bit words, the lowest first;
//! strings of bytes are as on the wire.

use std::ffi::{c_char, c_int};

use libloading::os::unix::Library as Loaded;

use crate::LANES;

/// `const int8u* const [8]` and `const int64u* const [8]`.
pub(crate) type Bytes = *const [*const u8; LANES];
pub(crate) type Words = *const [*const u64; LANES];
/// `int8u* const [8]` and `int64u* [8]`.
pub(crate) type BytesOut = *const [*mut u8; LANES];
pub(crate) type WordsOut = *const [*mut u64; LANES];

/// `mbx_RSA_Method`.
pub(crate) enum RsaMethod {}

/// The beginning of `mbxVersion`.
#[repr(C)]
pub(crate) struct Version {
    pub(crate) major: c_int,
    pub(crate) minor: c_int,
    pub(crate) patch: c_int,
    target: [c_char; 4],
}

pub(crate) type RsaMethodOf = unsafe extern "C" fn(c_int) -> *const RsaMethod;
pub(crate) type RsaBufferSize = unsafe extern "C" fn(*const RsaMethod) -> c_int;
pub(crate) type RsaPrivate = unsafe extern "C" fn(
    Bytes,
    BytesOut,
    Words,
    Words,
    Words,
    Words,
    Words,
    c_int,
    *const RsaMethod,
    *mut u8,
) -> u32;
pub(crate) type RsaPublic =
    unsafe extern "C" fn(Bytes, BytesOut, Words, c_int, *const RsaMethod, *mut u8) -> u32;
pub(crate) type X25519Public = unsafe extern "C" fn(BytesOut, Bytes) -> u32;
pub(crate) type X25519Derive = unsafe extern "C" fn(BytesOut, Bytes, Bytes) -> u32;
pub(crate) type EcPublic =
    unsafe extern "C" fn(WordsOut, WordsOut, *const [*mut u64; LANES], Words, *mut u8) -> u32;
pub(crate) type EcDerive =
    unsafe extern "C" fn(BytesOut, Words, Words, Words, Words, *mut u8) -> u32;
pub(crate) type EcSign =
    unsafe extern "C" fn(BytesOut, BytesOut, Bytes, Words, Words, *mut u8) -> u32;

/// Those of one curve of NIST.
pub(crate) struct CurveFunctions {
    pub(crate) public: EcPublic,
    pub(crate) derive: EcDerive,
    pub(crate) sign: EcSign,
}

pub(crate) struct Functions {
    pub(crate) is_applicable: unsafe extern "C" fn(u64) -> c_int,
    pub(crate) version: unsafe extern "C" fn() -> *const Version,
    pub(crate) rsa_private_method: RsaMethodOf,
    pub(crate) rsa_public_method: RsaMethodOf,
    pub(crate) rsa_buffer_size: RsaBufferSize,
    pub(crate) rsa_private: RsaPrivate,
    pub(crate) rsa_public: RsaPublic,
    pub(crate) x25519_public: X25519Public,
    pub(crate) x25519_derive: X25519Derive,
    pub(crate) p256: CurveFunctions,
    pub(crate) p384: CurveFunctions,
}

impl Functions {
    /// # Errors
    /// The function that the library lacks.
    pub(crate) fn of(library: &Loaded) -> Result<Self, &'static str> {
        /// # Safety
        /// `F` is the type of the function of that name.
        unsafe fn find<F: Copy>(library: &Loaded, name: &'static str) -> Result<F, &'static str> {
            // SAFETY: the caller's.
            unsafe { library.get::<F>(name.as_bytes()) }.map(|found| *found).map_err(|_| name)
        }
        // SAFETY: the types are those of the headers, and are so since version 1.0 of the library.
        unsafe {
            Ok(Self {
                is_applicable: find(library, "mbx_is_crypto_mb_applicable")?,
                version: find(library, "mbx_getversion")?,
                rsa_private_method: find(library, "mbx_RSA_private_crt_Method")?,
                rsa_public_method: find(library, "mbx_RSA_pub65537_Method")?,
                rsa_buffer_size: find(library, "mbx_RSA_Method_BufSize")?,
                rsa_private: find(library, "mbx_rsa_private_crt_mb8")?,
                rsa_public: find(library, "mbx_rsa_public_mb8")?,
                x25519_public: find(library, "mbx_x25519_public_key_mb8")?,
                x25519_derive: find(library, "mbx_x25519_mb8")?,
                p256: CurveFunctions {
                    public: find(library, "mbx_nistp256_ecpublic_key_mb8")?,
                    derive: find(library, "mbx_nistp256_ecdh_mb8")?,
                    sign: find(library, "mbx_nistp256_ecdsa_sign_mb8")?,
                },
                p384: CurveFunctions {
                    public: find(library, "mbx_nistp384_ecpublic_key_mb8")?,
                    derive: find(library, "mbx_nistp384_ecdh_mb8")?,
                    sign: find(library, "mbx_nistp384_ecdsa_sign_mb8")?,
                },
            })
        }
    }
}

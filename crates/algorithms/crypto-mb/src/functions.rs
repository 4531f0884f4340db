//! The functions of the library that are called, with the types of its headers (crypto_mb/rsa.h, x25519.h,
//! ec_nistp256.h, ec_nistp384.h, cpu_features.h, version.h), which are so since version 1.0. Numbers are 64-bit words,
//! the lowest first; strings of bytes are as on the wire.

use std::ffi::{c_char, c_int};

use crate::lanes::LANES;

/// `const int8u* const [8]` and `const int64u* const [8]`.
type Bytes = *const [*const u8; LANES];
type Words = *const [*const u64; LANES];
/// `int8u* const [8]` and `int64u* [8]`.
type BytesOut = *const [*mut u8; LANES];
type WordsOut = *const [*mut u64; LANES];

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

shared_library::functions!(Functions {
    mbx_is_crypto_mb_applicable(u64) -> c_int;
    mbx_getversion() -> *const Version;
    mbx_RSA_private_crt_Method(c_int) -> *const RsaMethod;
    mbx_RSA_pub65537_Method(c_int) -> *const RsaMethod;
    mbx_RSA_Method_BufSize(*const RsaMethod) -> c_int;
    mbx_rsa_private_crt_mb8(
        Bytes, BytesOut, Words, Words, Words, Words, Words, c_int, *const RsaMethod, *mut u8
    ) -> u32;
    mbx_rsa_public_mb8(Bytes, BytesOut, Words, c_int, *const RsaMethod, *mut u8) -> u32;
    mbx_x25519_public_key_mb8(BytesOut, Bytes) -> u32;
    mbx_x25519_mb8(BytesOut, Bytes, Bytes) -> u32;
    mbx_nistp256_ecpublic_key_mb8(WordsOut, WordsOut, WordsOut, Words, *mut u8) -> u32;
    mbx_nistp256_ecdh_mb8(BytesOut, Words, Words, Words, Words, *mut u8) -> u32;
    mbx_nistp256_ecdsa_sign_mb8(BytesOut, BytesOut, Bytes, Words, Words, *mut u8) -> u32;
    mbx_nistp384_ecpublic_key_mb8(WordsOut, WordsOut, WordsOut, Words, *mut u8) -> u32;
    mbx_nistp384_ecdh_mb8(BytesOut, Words, Words, Words, Words, *mut u8) -> u32;
    mbx_nistp384_ecdsa_sign_mb8(BytesOut, BytesOut, Bytes, Words, Words, *mut u8) -> u32;
});

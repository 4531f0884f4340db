//! One module a library.

mod agreeing;
pub(crate) mod aws_lc;
pub(crate) mod crypto_mb;
pub(crate) mod isa_l;
pub(crate) mod libcrypto;
pub(crate) mod library;
pub(crate) mod multi_buffer;
pub(crate) mod ring;
mod ring_like;
pub(crate) mod rustcrypto;
pub(crate) mod rustls;

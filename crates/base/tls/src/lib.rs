//! Names and code points of TLS versions, suites, groups and signature schemes, and generation of
//! keys and certificates.
//!
//! Names are the IANA registry's. OpenSSL's aliases (`AES128-SHA`, `prime256v1`) are accepted on
//! input; toll stores and shows the IANA name.

mod ask_client;
mod authority;
mod certificate;
mod group;
mod library_context;
mod ml_dsa;
mod or_plain;
mod records;
mod scheme;
mod send_mode;
mod stack;
mod suite;
mod version;

pub use ask_client::AskClient;
pub use authority::Authority;
pub use certificate::{CertificateKey, Identity, IdentityError, certificate};
pub use group::Group;
pub use library_context::LibraryContext;
pub use ml_dsa::{MlDsa, public_key};
pub use or_plain::OrPlain;
pub use records::{RecordSize, RecordsPerWrite};
pub use scheme::scheme_name;
pub use send_mode::SendMode;
pub use stack::Stack;
pub use suite::{Cipher, KeyExchange, Mac, PrfHash, SUITES, Suite};
pub use version::Version;

/// An unknown name; the message is one line with a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

/// OpenSSL's option `SSL_OP_NO_ENCRYPT_THEN_MAC` (RFC 7366 is neither offered nor accepted), which
/// its bindings do not have.
pub const NO_ENCRYPT_THEN_MAC: openssl::ssl::SslOptions =
    openssl::ssl::SslOptions::from_bits_retain(1 << 19);

/// The version of the OpenSSL library that this process runs with, such as
/// `OpenSSL 3.0.22 25 Aug 2026`.
pub fn openssl_version() -> &'static str {
    openssl::version::version()
}

/// The known name with the smallest edit distance to `text`, if it is small.
fn did_you_mean<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_ascii_lowercase();
    known
        .map(|name| (strsim::levenshtein(&text, &name.to_ascii_lowercase()), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .map(|(_, name)| name)
}

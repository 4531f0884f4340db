//! What a library is, and why one cannot be measured.

use crate::algorithm::Algorithm;
use crate::material::Material;
use crate::routine::{Routine, Unavailable};
use crate::stack::TlsStack;

/// What a library is called.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The name that means it on the command line, as in `aws-lc`.
    pub id: &'a str,
    /// Its name and version, as in `OpenSSL 3.0.22`.
    pub title: &'a str,
    /// Whose code it is: of two libraries with equal origins neither can check the other.
    pub origin: &'a str,
}

/// A library that can be measured.
pub trait Library: Send + Sync {
    fn about(&self) -> About<'_>;

    fn id(&self) -> &str {
        self.about().id
    }

    fn title(&self) -> &str {
        self.about().title
    }

    fn origin(&self) -> &str {
        self.about().origin
    }

    /// Sets up an algorithm.
    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable>;

    /// Its TLS, where it speaks it.
    fn stack(&self) -> Result<&dyn TlsStack, Unavailable> {
        Err(Unavailable::because("it does not speak TLS"))
    }

    /// What the library itself says of the processor's features that it uses; `None` where it does
    /// not say.
    fn processor_features(&self) -> Option<String> {
        None
    }
}

/// The names that [`open`](crate::library::open) knows, in the order of tables.
pub const NAMES: [&str; 19] = [
    "openssl",
    "aws-lc",
    "ring",
    "rustcrypto",
    "rustls-ring",
    "rustls-aws-lc",
    "multibuffer",
    "multibuffer-avx512",
    "multibuffer-avx512vl",
    "multibuffer-avx2",
    "multibuffer-sha-ni",
    "multibuffer-portable",
    "isa-l",
    "isa-l-avx512",
    "isa-l-avx2",
    "crypto-mb",
    "crypto-mb-4",
    "crypto-mb-2",
    "crypto-mb-1",
];

/// Why a library cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none of that name.
    #[error(
        "`{name}` is not a library{hint}; give one of {}, or the path of a libcrypto",
        NAMES.join(", ")
    )]
    Unknown { name: String, hint: String },
    #[error("{path}: {why}; give the path of a libcrypto such as /opt/openssl/lib/libcrypto.so")]
    NotLoaded {
        /// Where it should be.
        path: String,
        /// The linker's answer.
        why: String,
    },
    /// The processor lacks the instructions.
    #[error("{0}")]
    NotHere(String),
}

impl OpenError {
    pub(crate) fn unknown(name: &str) -> Self {
        let hint = crate::did_you_mean(name, NAMES.map(str::to_owned).into_iter());
        Self::Unknown { name: name.to_owned(), hint }
    }
}

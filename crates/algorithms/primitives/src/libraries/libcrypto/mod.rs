//! OpenSSL's libcrypto: the one that toll runs with, or any other one by its path.
//!
//! Another one is loaded beside the first, with its symbols to itself (`RTLD_LOCAL`), and preferring
//! its own over equally named ones (`RTLD_DEEPBIND`), so that two versions do not mix. Both go
//! through the same code: EVP functions on contexts that are made once, as a server has them.

mod api;
mod ciphers;
mod digests;
mod kem;
mod object;
mod public_key;
mod ssl;

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use shared_library::SharedLibrary;

use crate::algorithm::Algorithm;
use crate::libraries::agreeing;
use crate::libraries::library::{About, Library, OpenError};
use crate::material::Material;
use crate::routine::{Routine, Unavailable};
use crate::stack::TlsStack;
use api::Api;
use kem::MlKem;
use public_key::{Exchange, Group};
use ssl::OpenSsl;

/// A libcrypto.
pub(crate) struct LibCrypto {
    id: String,
    title: String,
    api: Arc<Api>,
    /// Where the libssl is that belongs to it; `None` for the one that toll is linked with.
    libssl: Option<PathBuf>,
    stack: OnceLock<Result<OpenSsl, Unavailable>>,
}

/// `OPENSSL_CPU_INFO` of OpenSSL 3.0 and later.
const CPU_INFO: c_int = 9;

impl LibCrypto {
    /// The one that toll itself is linked with.
    pub(crate) fn of_the_system() -> Result<Self, OpenError> {
        // Keeps the crate, and with it both libraries, linked.
        openssl::init();
        std::hint::black_box(openssl::ssl::SslMethod::tls());
        Self::new("openssl", SharedLibrary::of_this_process(), None).ok_or_else(|| {
            OpenError::NotLoaded {
                path: "libcrypto of this process".to_owned(),
                why: "it has no OpenSSL_version".to_owned(),
            }
        })
    }

    /// The one at that path.
    pub(crate) fn at(path: &Path) -> Result<Self, OpenError> {
        let not_loaded =
            |why: String| OpenError::NotLoaded { path: path.display().to_string(), why };
        let loaded = SharedLibrary::open_apart(path).map_err(|why| not_loaded(why.to_string()))?;
        Self::new(&path.display().to_string(), loaded, Some(ssl::beside(path))).ok_or_else(|| {
            not_loaded("it is not a libcrypto: it has no OpenSSL_version".to_owned())
        })
    }

    fn new(id: &str, loaded: SharedLibrary, libssl: Option<PathBuf>) -> Option<Self> {
        let api = Arc::new(Api::of(loaded));
        let title = text(&api, 0)?;
        // `OpenSSL 3.0.22 25 Aug 2026`, without the day.
        let title: Vec<&str> = title.split(' ').take(2).collect();
        let (id, title) = (id.to_owned(), title.join(" "));
        Some(Self { id, title, api, libssl, stack: OnceLock::new() })
    }
}

/// One of the texts that `OpenSSL_version` gives.
fn text(api: &Api, which: c_int) -> Option<String> {
    // SAFETY: the function takes any number, and returns a constant text or null.
    unsafe { shared_library::text(api.OpenSSL_version().ok()?(which)) }
}

impl Library for LibCrypto {
    /// Two versions of OpenSSL share their code, and maybe their mistakes.
    fn about(&self) -> About<'_> {
        About { id: &self.id, title: &self.title, origin: "openssl" }
    }

    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
        use Algorithm as A;
        let api = &self.api;
        match algorithm {
            A::Cbc(..) | A::Ctr(_) => ciphers::plain(api, algorithm, material),
            A::Gcm(_) | A::ChaCha20Poly1305 => ciphers::sealing(api, algorithm, material),
            A::CbcHmac(hash) => ciphers::stitched(api, hash, material),
            A::Hash(hash) => digests::hash(api, hash),
            A::Hmac(hash) => digests::hmac(api, hash, material),
            A::KeySchedule => digests::key_schedule(api, material),
            A::Rsa(_, signing) | A::Ecdsa(_, signing) => {
                public_key::signature(api, algorithm, signing, material)
            }
            A::RsaDecrypt(_) => public_key::rsa_decryption(api, material),
            A::Ed25519(signing) => public_key::ed25519(api, signing, material),
            A::X25519(agreement) => {
                Ok(agreeing::agreement(agreement, Exchange::new(api, Group::X25519, material)?))
            }
            A::Ecdh(_, agreement) => {
                Ok(agreeing::agreement(agreement, Exchange::new(api, Group::Nist, material)?))
            }
            A::MlKem768(part) => {
                Ok(agreeing::ml_kem(part, MlKem::new(api, &self.title, material)?))
            }
            A::X25519MlKem768(side) => {
                let kem = MlKem::new(api, &self.title, material)?;
                Ok(agreeing::hybrid(side, kem, Exchange::new(api, Group::X25519, material)?))
            }
            A::Record(..) | A::Handshake(..) => {
                Err(Unavailable::because("its libssl does it, which is no routine"))
            }
        }
    }

    fn stack(&self) -> Result<&dyn TlsStack, Unavailable> {
        let opened = self.stack.get_or_init(|| OpenSsl::open(&self.api, self.libssl.as_deref()));
        opened.as_ref().map(|stack| stack as &dyn TlsStack).map_err(Clone::clone)
    }

    fn processor_features(&self) -> Option<String> {
        // `CPUINFO: OPENSSL_ia32cap=0x...:0x... env:...`
        let text = text(&self.api, CPU_INFO)?;
        text.strip_prefix("CPUINFO: ").map(str::to_owned)
    }
}

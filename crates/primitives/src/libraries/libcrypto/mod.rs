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

use std::ffi::CStr;
use std::path::Path;
use std::sync::Arc;

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};

use crate::algorithm::Algorithm;
use crate::library::{Library, OpenError};
use crate::material::Material;
use crate::routine::{Routine, Unavailable};
use api::Api;

/// A libcrypto.
pub(crate) struct LibCrypto {
    id: String,
    title: String,
    api: Arc<Api>,
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PREFER_OWN_SYMBOLS: libc::c_int = libc::RTLD_DEEPBIND;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
const PREFER_OWN_SYMBOLS: libc::c_int = 0;

/// `OPENSSL_CPU_INFO` of OpenSSL 3.0 and later.
const CPU_INFO: libc::c_int = 9;

impl LibCrypto {
    /// The one that toll itself is linked with.
    pub(crate) fn of_the_system() -> Result<Self, OpenError> {
        // Keeps the crate, and with it the library, linked.
        openssl::init();
        Self::new("openssl", Loaded::this()).ok_or_else(|| OpenError::NotLoaded {
            path: "libcrypto of this process".to_owned(),
            why: "it has no OpenSSL_version".to_owned(),
        })
    }

    /// The one at that path.
    pub(crate) fn at(path: &Path) -> Result<Self, OpenError> {
        let not_loaded =
            |why: String| OpenError::NotLoaded { path: path.display().to_string(), why };
        let flags = RTLD_NOW | RTLD_LOCAL | PREFER_OWN_SYMBOLS;
        // SAFETY: the user names a library; its constructors run, as the user asks.
        let loaded = unsafe { Loaded::open(Some(path), flags) };
        let loaded = loaded.map_err(|error| not_loaded(in_one_line(&error)))?;
        Self::new(&path.display().to_string(), loaded)
            .ok_or_else(|| not_loaded("it is no libcrypto: it has no OpenSSL_version".to_owned()))
    }

    fn new(id: &str, loaded: Loaded) -> Option<Self> {
        let api = Arc::new(Api::of(loaded));
        let title = text(&api, 0)?;
        // `OpenSSL 3.0.22 25 Aug 2026`, without the day.
        let title: Vec<&str> = title.split(' ').take(2).collect();
        Some(Self { id: id.to_owned(), title: title.join(" "), api })
    }
}

/// The linker's error with its cause, in one line.
fn in_one_line(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// One of the texts that `OpenSSL_version` gives.
fn text(api: &Api, which: libc::c_int) -> Option<String> {
    // SAFETY: the function takes any number, and returns a constant text or null.
    let text = unsafe { api.OpenSSL_version?(which) };
    if text.is_null() {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

impl Library for LibCrypto {
    fn id(&self) -> &str {
        &self.id
    }

    fn title(&self) -> &str {
        &self.title
    }

    /// Two versions of OpenSSL share their code, and maybe their mistakes.
    fn origin(&self) -> &str {
        "openssl"
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
            A::Ed25519(signing) => public_key::ed25519(api, signing, material),
            A::X25519(agreement) | A::EcdhP256(agreement) => {
                public_key::agreement(api, algorithm, agreement, material)
            }
            A::MlKem768(part) => kem::ml_kem(api, &self.title, part, material),
            A::X25519MlKem768(side) => kem::hybrid(api, &self.title, side, material),
        }
    }

    fn processor_features(&self) -> Option<String> {
        // `CPUINFO: OPENSSL_ia32cap=0x...:0x... env:...`
        let text = text(&self.api, CPU_INFO)?;
        text.strip_prefix("CPUINFO: ").map(str::to_owned)
    }
}

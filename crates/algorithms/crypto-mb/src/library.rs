//! The library: where it is, and whether it can be used.

use std::path::{Path, PathBuf};

use shared_library::{SharedLibrary, build_folders};

use crate::functions::Functions;

/// The environment variable with the file or folder.
pub const VARIABLE: &str = "CRYPTO_MB";
/// Its file: the interface of version 13.
const FILE: &str = "libcrypto_mb.so.13";
/// Where `make crypto-mb` puts it, in `target`.
const BUILT_FOLDER: &str = "crypto-mb/lib";
/// What it is linked with of Intel's runtime, in an order in which each finds those before it. It has no
/// path of its own to them.
const RUNTIME: [&str; 4] = ["libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so"];

/// The library, which is loaded.
pub struct CryptoMb {
    pub(crate) functions: Functions,
    title: String,
    path: PathBuf,
}

/// Why the library cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "crypto_mb is not there: no {FILE} {looked}; run make crypto-mb, or set {VARIABLE} to its folder"
    )]
    Absent { looked: String },
    #[error("{}: {why}; run make crypto-mb, which installs it with Intel's runtime", path.display())]
    NotLoaded { path: PathBuf, why: shared_library::OpenError },
    #[error("{}: it has no function {symbol}; toll knows crypto_mb 2.x, which make crypto-mb installs", path.display())]
    Symbol { path: PathBuf, symbol: &'static str },
    /// By the library's own judgement.
    #[error(
        "crypto_mb cannot be used here: this CPU has no AVX-512 IFMA (Intel has it from Ice Lake on, AMD from Zen 4 on)"
    )]
    NoIfma,
}

impl CryptoMb {
    /// Loads the library from where it is; see the crate's description.
    ///
    /// # Errors
    /// One line: it is not there, this CPU cannot use it, or it lacks a function.
    pub fn open() -> Result<Self, OpenError> {
        if let Some(place) = std::env::var_os(VARIABLE).filter(|place| !place.is_empty()) {
            return Self::open_at(Path::new(&place));
        }
        let built = build_folders().into_iter().map(|folder| folder.join(BUILT_FOLDER));
        match built.into_iter().find(|folder| folder.join(FILE).is_file()) {
            Some(folder) => Self::open_at(&folder),
            None => Self::load(Path::new(FILE)),
        }
    }

    /// Loads it from a file, or from a folder that has it.
    ///
    /// # Errors
    /// As those of [`open`](Self::open).
    pub fn open_at(place: &Path) -> Result<Self, OpenError> {
        let path = if place.is_dir() { place.join(FILE) } else { place.to_owned() };
        if !path.is_file() {
            return Err(OpenError::Absent { looked: format!("at {}", place.display()) });
        }
        // The loader finds by their names what is loaded already; a build that needs none of them has none.
        for runtime in RUNTIME.map(|name| path.with_file_name(name)) {
            if runtime.is_file() {
                let _ = SharedLibrary::open(&runtime);
            }
        }
        Self::load(&path)
    }

    fn load(path: &Path) -> Result<Self, OpenError> {
        let library = SharedLibrary::open(path).map_err(|why| match why.is_absent {
            true => OpenError::Absent {
                looked: "in target/crypto-mb/lib and in the system's folders".to_owned(),
            },
            false => OpenError::NotLoaded { path: path.to_owned(), why },
        })?;
        let lacks = |symbol| OpenError::Symbol { path: path.to_owned(), symbol };
        let functions = Functions::of(&library).map_err(lacks)?;
        // SAFETY: 0 stands for this CPU.
        if unsafe { (functions.mbx_is_crypto_mb_applicable)(0) } != 1 {
            return Err(OpenError::NoIfma);
        }
        // SAFETY: it gives the address of a constant.
        let version = unsafe { (functions.mbx_getversion)().as_ref() };
        let title = version.map_or_else(
            || "crypto_mb".to_owned(),
            |version| {
                let (major, minor, patch) = (version.major, version.minor, version.patch);
                format!("crypto_mb {major}.{minor}.{patch}")
            },
        );
        Ok(Self { functions, title, path: path.to_owned() })
    }

    /// Where it was found; a name without a folder is one that the system's loader finds.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name and version, such as `crypto_mb 2.3.0`.
    pub fn title(&self) -> &str {
        &self.title
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_absent_and_one_that_is_none_is_not() {
        let absent = CryptoMb::open_at(Path::new("/nowhere/x.so"));
        assert!(matches!(absent, Err(OpenError::Absent { .. })));
        let absent = CryptoMb::load(Path::new("libcrypto_mb_of_nobody.so"));
        assert!(matches!(absent, Err(OpenError::Absent { .. })));
        let no_library = tempfile::NamedTempFile::new().unwrap();
        let found = CryptoMb::open_at(no_library.path());
        assert!(matches!(found, Err(OpenError::NotLoaded { .. })));
    }
}

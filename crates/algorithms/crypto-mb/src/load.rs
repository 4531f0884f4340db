//! Where the library is, and whether it can be used.

use std::error::Error as _;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};

use crate::CryptoMb;
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

/// Why the library cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "crypto_mb is not there: no {FILE} {looked}; run make crypto-mb, or set {VARIABLE} to its folder"
    )]
    Absent { looked: String },
    #[error("{}: {why}; run make crypto-mb, which installs it with Intel's runtime", path.display())]
    NotLoaded { path: PathBuf, why: String },
    #[error("{}: it has no function {symbol}; toll knows crypto_mb 2.x, which make crypto-mb installs", path.display())]
    Symbol { path: PathBuf, symbol: &'static str },
    /// By the library's own judgement.
    #[error(
        "crypto_mb cannot be used here: this CPU has no AVX-512 IFMA (Intel has it from Ice Lake on, AMD from Zen 4 on)"
    )]
    NoIfma,
}

pub(crate) fn open() -> Result<CryptoMb, OpenError> {
    if let Some(place) = std::env::var_os(VARIABLE).filter(|place| !place.is_empty()) {
        return open_at(Path::new(&place));
    }
    let built = build_folders().map(|folder| folder.join(BUILT_FOLDER));
    if let Some(folder) = built.into_iter().find(|folder| folder.join(FILE).is_file()) {
        return open_at(&folder);
    }
    let path = Path::new(FILE);
    match load(path) {
        Ok(library) => make(library, path),
        // The loader names the file that it does not find, which may be one that the library needs.
        Err(why) if why.starts_with(FILE) && why.contains("No such file") => {
            let looked = "in target/crypto-mb/lib and in the system's folders".to_owned();
            Err(OpenError::Absent { looked })
        }
        Err(why) => Err(OpenError::NotLoaded { path: path.to_owned(), why }),
    }
}

pub(crate) fn open_at(place: &Path) -> Result<CryptoMb, OpenError> {
    let path = if place.is_dir() { place.join(FILE) } else { place.to_owned() };
    if !path.is_file() {
        return Err(OpenError::Absent { looked: format!("at {}", place.display()) });
    }
    // The loader finds by their names what is loaded already; a build that needs none of them has none.
    let runtime = RUNTIME.map(|name| path.with_file_name(name));
    let runtime: Vec<_> =
        runtime.iter().filter(|path| path.is_file()).map(|path| load(path)).collect();
    let library = load(&path);
    drop(runtime);
    let library = library.map_err(|why| OpenError::NotLoaded { path: path.clone(), why })?;
    make(library, &path)
}

fn load(path: &Path) -> Result<Loaded, String> {
    // SAFETY: the user names the file, or has installed it; its constructors run, as the user asks.
    let loaded = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    // What the loader says is the source of what `libloading` says.
    loaded.map_err(|error| error.source().map_or_else(|| error.to_string(), ToString::to_string))
}

/// The folders `target` of the program and of the current folder.
fn build_folders() -> [PathBuf; 2] {
    let program = std::env::current_exe().unwrap_or_default();
    let of_program = program.ancestors().find(|folder| folder.ends_with("target"));
    let here = std::env::current_dir().unwrap_or_default().join("target");
    [of_program.map_or_else(|| here.clone(), Path::to_owned), here]
}

fn make(library: Loaded, path: &Path) -> Result<CryptoMb, OpenError> {
    let lacks = |symbol| OpenError::Symbol { path: path.to_owned(), symbol };
    let functions = Functions::of(&library).map_err(lacks)?;
    // SAFETY: the functions are the library's, which is loaded; 0 stands for this CPU.
    let (is_applicable, version) =
        unsafe { ((functions.is_applicable)(0), (functions.version)().as_ref()) };
    if is_applicable != 1 {
        return Err(OpenError::NoIfma);
    }
    let title = version.map_or_else(
        || "crypto_mb".to_owned(),
        |version| {
            let (major, minor, patch) = (version.major, version.minor, version.patch);
            format!("crypto_mb {major}.{minor}.{patch}")
        },
    );
    Ok(CryptoMb { functions, title, path: path.to_owned(), _library: library })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_absent_and_one_that_is_none_is_not() {
        let why = load(Path::new("libcrypto_mb_of_nobody.so")).err().unwrap();
        assert!(
            why.starts_with("libcrypto_mb_of_nobody.so") && why.contains("No such file"),
            "{why}"
        );
        assert!(matches!(open_at(Path::new("/nowhere/x.so")), Err(OpenError::Absent { .. })));
        let no_library = tempfile::NamedTempFile::new().unwrap();
        let found = open_at(no_library.path());
        assert!(matches!(found, Err(OpenError::NotLoaded { .. })));
    }
}

//! Where a library is, and what is in it.

use std::env;
use std::error::Error as _;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use tls::Stack;

use crate::ServerError;

/// Where `make stacks` puts what it builds, in `target`.
const BUILT_FOLDER: &str = "stacks/lib";
/// The last parts of the names of files: the interfaces that toll knows.
const GNUTLS: [&str; 1] = [".30"];
const WOLFSSL: [&str; 11] =
    ["", ".45", ".44", ".43", ".42", ".41", ".40", ".39", ".37", ".36", ".35"];
const OTHERS: [&str; 2] = ["", ".1"];

/// A library that is open.
pub(super) struct SharedObject {
    pub(super) stack: Stack,
    library: Library,
}

impl SharedObject {
    /// Opens it from the folders of `LD_LIBRARY_PATH`, from where `make stacks` puts it where that is not set, or
    /// from the system's folders.
    ///
    /// # Errors
    /// It is not there, or the loader refuses it.
    pub(super) fn open(stack: Stack) -> Result<Self, ServerError> {
        let file = stack.file().unwrap_or_default();
        let ends: &[&str] = match stack {
            Stack::GnuTls => &GNUTLS,
            Stack::WolfSsl => &WOLFSSL,
            _ => &OTHERS,
        };
        let built = || build_folders().map(|folder| folder.join(BUILT_FOLDER).join(file));
        let built = env::var_os("LD_LIBRARY_PATH").is_none().then(built).into_iter().flatten();
        let named = ends.iter().map(|end| PathBuf::from(format!("{file}{end}")));
        for path in built.filter(|path| path.is_file()).chain(named) {
            match open(&path) {
                Ok(library) => return Ok(Self { stack, library }),
                // The loader names the file that it does not find, which may be one that the library needs.
                Err(why)
                    if why.starts_with(&*path.to_string_lossy())
                        && why.contains("No such file") => {}
                Err(why) => return Err(ServerError::NotOpened { library: stack, why }),
            }
        }
        Err(ServerError::NoLibrary { library: stack })
    }

    /// One of its functions.
    ///
    /// # Errors
    /// It has none of this name.
    ///
    /// # Safety
    /// `T` is the type of a pointer to that function.
    pub(super) unsafe fn function<T: Copy>(&self, name: &'static str) -> Result<T, ServerError> {
        // SAFETY: as the caller says.
        unsafe { self.optional(name) }
            .ok_or(ServerError::Function { library: self.stack, function: name })
    }

    /// What it may have or not.
    ///
    /// # Safety
    /// `T` is the type of a pointer to it.
    pub(super) unsafe fn optional<T: Copy>(&self, name: &str) -> Option<T> {
        // SAFETY: as the caller says.
        unsafe { self.library.get::<T>(name.as_bytes()).ok().map(|symbol| *symbol) }
    }

    /// What `make stacks` says that it has built.
    pub(super) fn built_as(&self) -> Option<String> {
        // SAFETY: it is a text that ends with a zero.
        let text = unsafe { CStr::from_ptr(self.optional::<*const c_char>("toll_version")?) };
        Some(text.to_string_lossy().into_owned())
    }

    /// Keeps it open as long as the process lives: a server is one.
    pub(super) fn keep(self) {
        std::mem::forget(self.library);
    }
}

fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: the user asks for the library and has installed it; its constructors run, as in any program.
    let opened = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    // What the loader says is the source of what `libloading` says.
    opened.map_err(|error| {
        error.source().map_or_else(|| error.to_string(), |source| source.to_string())
    })
}

/// The folders `target` of the program and of the current folder.
fn build_folders() -> [PathBuf; 2] {
    let program = env::current_exe().unwrap_or_default();
    let of_program = program.ancestors().find(|folder| folder.ends_with("target"));
    let here = env::current_dir().unwrap_or_default().join("target");
    [of_program.map_or_else(|| here.clone(), Path::to_owned), here]
}

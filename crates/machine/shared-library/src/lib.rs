//! Shared libraries that are opened when they are asked for, and never linked: where they are, and their functions.
//!
//! One that is open stays so as long as the process lives. Its functions may be called from anywhere then, and what it
//! has left for the end of a thread or of the process finds its code.

use std::error::Error as _;
use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PREFER_OWN_SYMBOLS: c_int = libc::RTLD_DEEPBIND;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
const PREFER_OWN_SYMBOLS: c_int = 0;

/// A library that is open.
pub struct SharedLibrary(ManuallyDrop<Library>);

/// Why a library cannot be opened, by the loader's word.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct OpenError {
    why: String,
    /// It is not there. A library that is there and needs one that is not is another matter.
    pub is_absent: bool,
}

impl SharedLibrary {
    /// Opens the file at a path or, where that is a name alone, in the folders of the loader.
    ///
    /// # Errors
    /// It is not there, or the loader refuses it.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        open(path, 0)
    }

    /// Opens it so that it prefers its own functions to those of the same names that are in the process already: of
    /// several versions of one library.
    ///
    /// # Errors
    /// As those of [`open`](Self::open).
    pub fn open_apart(path: &Path) -> Result<Self, OpenError> {
        open(path, PREFER_OWN_SYMBOLS)
    }

    /// All that the process is linked with.
    pub fn of_this_process() -> Self {
        Self(ManuallyDrop::new(Library::this()))
    }

    /// A function of this name, or other data, where it has it.
    ///
    /// # Safety
    /// `T` is the type of a pointer to it.
    pub unsafe fn symbol<T: Copy>(&self, name: &str) -> Option<T> {
        // SAFETY: as the caller says.
        unsafe { self.0.get::<T>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    }
}

fn open(path: &Path, flags: c_int) -> Result<SharedLibrary, OpenError> {
    // SAFETY: the user asks for the library and has installed it; its constructors run, as in any program.
    let opened = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | flags) };
    opened.map(|library| SharedLibrary(ManuallyDrop::new(library))).map_err(|error| {
        // What the loader says is the source of what `libloading` says.
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        // The loader names the file that it does not find.
        let is_absent = why.starts_with(&*path.to_string_lossy()) && why.contains("No such file");
        OpenError { why, is_absent }
    })
}

/// Where `make` puts what it builds: the folder `target` that the program lies in, and that of the current folder.
pub fn build_folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap_or_default();
    let of_program = program.ancestors().find(|folder| folder.ends_with("target"));
    let here = std::env::current_dir().unwrap_or_default().join("target");
    of_program.map(Path::to_owned).into_iter().chain([here]).collect()
}

/// A text of a library; `None` where it gives none.
///
/// # Safety
/// It is null, or ends with a zero.
pub unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: as the caller says.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// A struct of functions by their names in the library, with the types of its headers.
///
/// Whoever writes it answers for these types: a call with others is undefined behaviour.
#[macro_export]
macro_rules! functions {
    ($name:ident { $($function:ident($($argument:ty),* $(,)?) $(-> $result:ty)?;)* }) => {
        #[allow(non_snake_case, reason = "these are the library's names")]
        pub(crate) struct $name {
            $(pub(crate) $function: unsafe extern "C" fn($($argument),*) $(-> $result)?),*
        }

        impl $name {
            /// # Errors
            /// The function that the library lacks: it is too old, or another library.
            pub(crate) fn of(library: &$crate::SharedLibrary) -> Result<Self, &'static str> {
                Ok(Self {
                    // SAFETY: the types are those of the library's headers.
                    $($function: unsafe { library.symbol(stringify!($function)) }
                        .ok_or(stringify!($function))?),*
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    functions!(OfLibc {
        strlen(*const c_char) -> usize;
    });
    functions!(OfNobody {
        strlen(*const c_char) -> usize;
        toll_of_nobody(c_int);
    });

    #[test]
    fn a_library_that_is_not_there_is_absent_and_one_that_is_none_is_not() {
        let why = SharedLibrary::open(Path::new("libcrypto_mb_of_nobody.so")).err().unwrap();
        assert!(why.is_absent, "{why}");
        let no_library = tempfile::NamedTempFile::new().unwrap();
        let why = SharedLibrary::open(no_library.path()).err().unwrap();
        assert!(!why.is_absent, "{why}");
        assert!(why.to_string().starts_with(&*no_library.path().to_string_lossy()), "{why}");
    }

    #[test]
    fn functions_are_found_by_their_names_and_a_lacking_one_is_named() {
        let process = SharedLibrary::of_this_process();
        let functions = OfLibc::of(&process).ok().unwrap();
        // SAFETY: it is a text that ends with a zero.
        assert_eq!(unsafe { (functions.strlen)(c"toll".as_ptr()) }, 4);
        let found = OfNobody::of(&process).map(|of| (of.strlen, of.toll_of_nobody));
        assert_eq!(found.err(), Some("toll_of_nobody"));
    }

    #[test]
    fn a_text_that_is_not_given_is_none() {
        // SAFETY: null, and a text that ends with a zero.
        let texts = unsafe { [text(std::ptr::null()), text(c"3.0".as_ptr())] };
        assert_eq!(texts, [None, Some("3.0".to_owned())]);
    }
}

//! Where a TLS library is, and what is in it.

use std::env;
use std::ffi::c_char;
use std::path::PathBuf;

use shared_library::{SharedLibrary, build_folders};
use tls::Stack;

use crate::error::ServerError;

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
    pub(super) library: SharedLibrary,
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
        let built =
            || build_folders().into_iter().map(|folder| folder.join(BUILT_FOLDER).join(file));
        let built = env::var_os("LD_LIBRARY_PATH").is_none().then(built).into_iter().flatten();
        let named = ends.iter().map(|end| PathBuf::from(format!("{file}{end}")));
        for path in built.filter(|path| path.is_file()).chain(named) {
            match SharedLibrary::open(&path) {
                Ok(library) => return Ok(Self { stack, library }),
                Err(why) if why.is_absent => {}
                Err(why) => return Err(ServerError::NotOpened { library: stack, why }),
            }
        }
        Err(ServerError::NoLibrary { library: stack })
    }

    /// A table of its functions.
    ///
    /// # Errors
    /// It lacks one: it is too old, or another library.
    pub(super) fn functions<T>(
        &self,
        of: impl FnOnce(&SharedLibrary) -> Result<T, &'static str>,
    ) -> Result<T, ServerError> {
        of(&self.library)
            .map_err(|function| ServerError::Function { library: self.stack, function })
    }

    /// What `make stacks` says that it has built.
    pub(super) fn built_as(&self) -> Option<String> {
        // SAFETY: it is a text that ends with a zero.
        unsafe { shared_library::text(self.library.symbol::<*const c_char>("toll_version")?) }
    }

    /// Why it does not take a setting.
    pub(super) fn refused(&self, what: &'static str, why: impl ToString) -> ServerError {
        ServerError::Opened { library: self.stack, what, why: why.to_string() }
    }
}

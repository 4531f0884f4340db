//! TLS libraries that are no part of toll: they are opened when they are asked for, never linked, so that toll
//! neither needs them nor is compiled with them, and two of them never meet.
//!
//! Each has a file here with the calls of its C interface. Sessions are behind one pointer, so that the server's code
//! is compiled once for all of them: a call through it takes nanoseconds, a record microseconds.

mod boringssl;
mod gnutls;
mod offered;
mod s2n;
mod session;
mod shared_object;
mod wire_cell;
mod wolfssl;

use tls::{AskClient, Identity, Stack, Version};

use crate::error::ServerError;
use crate::settings::Settings;
use offered::lacks;
pub(super) use session::OpenedLibrary;
use shared_object::SharedObject;

/// Opens the library of the settings, and gives it these.
///
/// # Errors
/// It is not there, cannot be opened, is too old, or does not have what the settings ask for.
pub(super) fn build(
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
) -> Result<OpenedLibrary, ServerError> {
    let library = settings.library;
    if settings.ask_client == AskClient::Ask {
        return Err(lacks(library, "--client-certificate ask in toll"));
    }
    if settings.names.is_some() {
        return Err(lacks(library, "--names in toll"));
    }
    let object = SharedObject::open(library)?;
    let build = match library {
        Stack::GnuTls => gnutls::build,
        Stack::WolfSsl => wolfssl::build,
        Stack::S2n => s2n::build,
        _ => boringssl::build,
    };
    build(&object, settings, versions, identity)?.check(settings)
}

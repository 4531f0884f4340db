use std::io;

use crate::error::ServerError;

/// The number of the user and of its group.
const NOBODY: u32 = 65_534;

/// Gives up root, in all threads of the process, as web servers do once they have opened what only root
/// may.
///
/// # Errors
/// It is not root.
pub fn become_nobody() -> Result<(), ServerError> {
    // SAFETY: no memory is involved: there is no group in the list, and the others are numbers. The C library
    // changes all threads.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
            && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0
    };
    done.then_some(()).ok_or_else(|| ServerError::Nobody(io::Error::last_os_error()))
}

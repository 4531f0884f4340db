//! Ctrl-C: once ends what runs and keeps what was measured, twice ends the program.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::{Exit, Failure};

/// A flag that the first SIGINT or SIGTERM sets; the second one ends the program.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: the second signal finds the flag that the first one set.
        flag::register_conditional_shutdown(
            signal,
            Exit::Interrupted.code().into(),
            Arc::clone(&interrupted),
        )
        .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
        .map_err(|error| Failure::request(format!("cannot catch signals: {error}")))?;
    }
    Ok(interrupted)
}

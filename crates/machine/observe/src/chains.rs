//! Chains of dependent additions: code whose time in core cycles is known.
//!
//! An addition of two registers takes one cycle on every core that toll runs on, and each waits
//! for the one before, so a chain of n takes n cycles, whatever else the core could do meanwhile
//! and whatever its sibling does. Registers on both sides, because some cores (Intel Golden Cove)
//! add small constants while renaming, in no cycle at all.
//!
//! Four such chains side by side need four additions per cycle, which is all that many cores have;
//! so they show whether a hyperthread sibling uses the core's adders too.

use std::time::Instant;

use crate::ObserveError;

/// Additions of one block, which is what the loops below do in one round.
pub(crate) const BLOCK: u64 = 200;

/// Whether there is code for this processor.
pub(crate) fn check_supported() -> Result<(), ObserveError> {
    match cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        true => Ok(()),
        false => Err(ObserveError::NotAvailable("toll has no addition chains for this processor")),
    }
}

/// An addition to a register, and the end of a round.
#[cfg(target_arch = "x86_64")]
macro_rules! add {
    ($register:literal) => {
        concat!("add {", $register, "}, {step}")
    };
    () => {
        "dec {blocks}\njnz 2b"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! add {
    ($register:literal) => {
        concat!("add {", $register, "}, {", $register, "}, {step}")
    };
    () => {
        "subs {blocks}, {blocks}, #1\nb.ne 2b"
    };
}

/// Additions to these registers in turn, `rounds` times for each of at least one block.
macro_rules! chains {
    ($blocks:ident, $rounds:literal, $($register:ident $name:literal),+) => {
        // Where there is no code for the processor.
        let _ = $blocks;
        // SAFETY: only the named registers and the flags change.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        unsafe {
            std::arch::asm!(
                "2:",
                concat!(".rept ", $rounds),
                $(add!($name),)+
                ".endr",
                add!(),
                blocks = inout(reg) $blocks.max(1) => _,
                $($register = inout(reg) 0u64 => _,)+
                step = in(reg) 3u64,
                options(nomem, nostack),
            );
        }
    };
}

/// `blocks` times [`BLOCK`] additions, each dependent on the one before; at least one block.
pub(crate) fn one_chain(blocks: u64) {
    chains!(blocks, 200, sum "sum");
}

/// The seconds of `blocks` blocks of one chain, and right after it of as many in each of four.
pub(crate) fn seconds(blocks: u64) -> (f64, f64) {
    let start = Instant::now();
    one_chain(blocks);
    let middle = Instant::now();
    four_chains(4 * blocks);
    ((middle - start).as_secs_f64(), middle.elapsed().as_secs_f64())
}

/// `blocks` times [`BLOCK`] additions in four independent chains; at least one block.
pub(crate) fn four_chains(blocks: u64) {
    chains!(blocks, 50, a "a", b "b", c "c", d "d");
}

//! Chains of dependent additions: code whose time in core cycles is known.
//!
//! An addition of two registers takes one cycle on every core that toll runs on, and each waits
//! for the one before, so a chain of n takes n cycles, whatever else the core could do meanwhile
//! and whatever its sibling does. Registers on both sides, because some cores (Intel Golden Cove)
//! add small constants while renaming, in no cycle at all.
//!
//! Four such chains side by side need four additions per cycle, which is all that many cores have;
//! so they show whether a hyperthread sibling uses the core's adders too.

/// Additions of one block, which is what the loops below do in one round.
pub(crate) const BLOCK: u64 = 200;

/// Whether there is code for this processor.
pub(crate) const SUPPORTED: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// `blocks` times [`BLOCK`] additions, each dependent on the one before; at least one block.
#[cfg(target_arch = "x86_64")]
pub(crate) fn one_chain(blocks: u64) {
    // SAFETY: only the named registers and the flags change.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 200",
            "add {sum}, {step}",
            ".endr",
            "dec {blocks}",
            "jnz 2b",
            blocks = inout(reg) blocks.max(1) => _,
            sum = inout(reg) 0u64 => _,
            step = in(reg) 3u64,
            options(nomem, nostack),
        );
    }
}

/// `blocks` times [`BLOCK`] additions in four independent chains; at least one block.
#[cfg(target_arch = "x86_64")]
pub(crate) fn four_chains(blocks: u64) {
    // SAFETY: only the named registers and the flags change.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 50",
            "add {a}, {step}",
            "add {b}, {step}",
            "add {c}, {step}",
            "add {d}, {step}",
            ".endr",
            "dec {blocks}",
            "jnz 2b",
            blocks = inout(reg) blocks.max(1) => _,
            a = inout(reg) 0u64 => _,
            b = inout(reg) 0u64 => _,
            c = inout(reg) 0u64 => _,
            d = inout(reg) 0u64 => _,
            step = in(reg) 3u64,
            options(nomem, nostack),
        );
    }
}

/// `blocks` times [`BLOCK`] additions, each dependent on the one before; at least one block.
#[cfg(target_arch = "aarch64")]
pub(crate) fn one_chain(blocks: u64) {
    // SAFETY: only the named registers and the flags change.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 200",
            "add {sum}, {sum}, {step}",
            ".endr",
            "subs {blocks}, {blocks}, #1",
            "b.ne 2b",
            blocks = inout(reg) blocks.max(1) => _,
            sum = inout(reg) 0u64 => _,
            step = in(reg) 3u64,
            options(nomem, nostack),
        );
    }
}

/// `blocks` times [`BLOCK`] additions in four independent chains; at least one block.
#[cfg(target_arch = "aarch64")]
pub(crate) fn four_chains(blocks: u64) {
    // SAFETY: only the named registers and the flags change.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 50",
            "add {a}, {a}, {step}",
            "add {b}, {b}, {step}",
            "add {c}, {c}, {step}",
            "add {d}, {d}, {step}",
            ".endr",
            "subs {blocks}, {blocks}, #1",
            "b.ne 2b",
            blocks = inout(reg) blocks.max(1) => _,
            a = inout(reg) 0u64 => _,
            b = inout(reg) 0u64 => _,
            c = inout(reg) 0u64 => _,
            d = inout(reg) 0u64 => _,
            step = in(reg) 3u64,
            options(nomem, nostack),
        );
    }
}

/// Nothing: callers ask [`SUPPORTED`] first.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn one_chain(_blocks: u64) {}

/// Nothing: callers ask [`SUPPORTED`] first.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn four_chains(_blocks: u64) {}

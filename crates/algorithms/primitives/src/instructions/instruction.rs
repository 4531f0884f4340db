//! An instruction, and the code that measures it.

#[derive(Debug, Clone, Copy)]
pub struct Instruction {
    /// Its name with the width of its registers, as in `VAESENC 512`.
    pub name: &'static str,
    /// What it does for cryptography.
    pub purpose: &'static str,
    /// Bytes of a register.
    pub width: u32,
    /// Whether the processor has it.
    pub(super) is_here: fn() -> bool,
    /// Runs blocks of [`BLOCK`] dependent ones.
    pub(super) chain: fn(u64),
    /// Runs blocks of [`BLOCK`] in twelve chains.
    pub(super) spread: fn(u64),
}

pub(super) const BLOCK: u64 = 120;

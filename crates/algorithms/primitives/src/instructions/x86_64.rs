//! The instructions of x86-64 that cryptography lives on, in loops.

use std::arch::is_x86_feature_detected as has;

use super::instruction::Instruction;

/// A chain and twelve chains of an instruction. `$chain` reads and writes register 0, or its two
/// instructions write what the other reads; `$spread` has `\i` where the number of its register stands.
/// Registers 13 to 15 are never written.
macro_rules! instruction {
    ($name:literal, $width:literal, $purpose:literal, $has:expr, $chain:literal, $spread:literal) => {
        instruction!($name, $width, $purpose, $has, [$chain, $chain], $spread)
    };
    ($name:literal, $width:literal, $purpose:literal, $has:expr, [$one:literal, $other:literal],
     $spread:literal) => {
        Instruction {
            name: $name,
            purpose: $purpose,
            width: $width,
            is_here: || $has,
            chain: |blocks| looped!(blocks, ".rept 60", $one, $other),
            spread: |blocks| {
                looped!(blocks, ".rept 10\n.irp i,1,2,3,4,5,6,7,8,9,10,11,12", $spread, ".endr")
            },
        }
    };
}

/// Runs a repeated instruction; callers know that the processor has it.
macro_rules! looped {
    ($blocks:ident, $repeat:literal $(, $line:literal)+) => {
        // SAFETY: `is_here` was asked before; only vector registers, the counter and the flags
        // change.
        unsafe {
            std::arch::asm!(
                "2:",
                $repeat,
                $($line,)+
                ".endr",
                "dec {blocks}",
                "jnz 2b",
                blocks = inout(reg) $blocks.max(1) => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nomem, nostack),
            );
        }
    };
}

pub(super) static INSTRUCTIONS: [Instruction; 12] = [
    instruction!(
        "AESENC 128",
        16,
        "a round of AES on a block",
        has!("aes"),
        "aesenc xmm0, xmm15",
        r"aesenc xmm\i, xmm15"
    ),
    instruction!(
        "VAESENC 256",
        32,
        "a round of AES on two blocks",
        has!("vaes") && has!("avx2"),
        "vaesenc ymm0, ymm0, ymm15",
        r"vaesenc ymm\i, ymm\i, ymm15"
    ),
    instruction!(
        "VAESENC 512",
        64,
        "a round of AES on four blocks",
        has!("vaes") && has!("avx512f"),
        "vaesenc zmm0, zmm0, zmm15",
        r"vaesenc zmm\i, zmm\i, zmm15"
    ),
    instruction!(
        "PCLMULQDQ 128",
        16,
        "a third of a product of GHASH",
        has!("pclmulqdq"),
        "pclmulqdq xmm0, xmm15, 0",
        r"pclmulqdq xmm\i, xmm15, 0"
    ),
    instruction!(
        "VPCLMULQDQ 256",
        32,
        "a third of two products of GHASH",
        has!("vpclmulqdq") && has!("avx2"),
        "vpclmulqdq ymm0, ymm0, ymm15, 0",
        r"vpclmulqdq ymm\i, ymm\i, ymm15, 0"
    ),
    instruction!(
        "VPCLMULQDQ 512",
        64,
        "a third of four products of GHASH",
        has!("vpclmulqdq") && has!("avx512f"),
        "vpclmulqdq zmm0, zmm0, zmm15, 0",
        r"vpclmulqdq zmm\i, zmm\i, zmm15, 0"
    ),
    instruction!(
        "VPTERNLOGD 512",
        64,
        "any function of three bits: Ch (0xCA) or Maj (0xE8) in one",
        has!("avx512f"),
        "vpternlogd zmm0, zmm14, zmm15, 0xca",
        r"vpternlogd zmm\i, zmm14, zmm15, 0xca"
    ),
    instruction!(
        "VPROLD 512",
        64,
        "rotations of SHA-1 and SHA-256",
        has!("avx512f"),
        "vprold zmm0, zmm0, 7",
        r"vprold zmm\i, zmm\i, 7"
    ),
    instruction!(
        "VPADDD 512",
        64,
        "additions of SHA-1 and SHA-256",
        has!("avx512f"),
        "vpaddd zmm0, zmm0, zmm15",
        r"vpaddd zmm\i, zmm\i, zmm15"
    ),
    instruction!(
        "VPADDD 256",
        32,
        "the same with AVX2",
        has!("avx2"),
        "vpaddd ymm0, ymm0, ymm15",
        r"vpaddd ymm\i, ymm\i, ymm15"
    ),
    instruction!(
        "SHA256RNDS2",
        16,
        "two rounds of SHA-256",
        has!("sha") && has!("sse4.1"),
        // As in SHA-256: each reads the result of the one before, and overwrites that of the one before
        // that. It reads xmm0 unnamed.
        ["sha256rnds2 xmm1, xmm2, xmm0", "sha256rnds2 xmm2, xmm1, xmm0"],
        r"sha256rnds2 xmm\i, xmm15, xmm0"
    ),
    instruction!(
        "VPMADD52LUQ 512",
        64,
        "multiplications of RSA on eight numbers",
        has!("avx512ifma"),
        "vpmadd52luq zmm0, zmm14, zmm15",
        r"vpmadd52luq zmm\i, zmm14, zmm15"
    ),
];

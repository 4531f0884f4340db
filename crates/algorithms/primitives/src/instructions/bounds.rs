//! What an algorithm costs at the least, by the measured costs of instructions.
//!
//! Two are bounds: chains in which each instruction waits for the one before. The rest are estimates:
//! they count the instructions of the usual way to compute the algorithm, and
//! there may be a shorter way. Where instructions of several widths do the same, the one that costs least
//! per byte counts.
//!
//! - AES-128-CBC encryption: each block waits for the one before, and takes 10 rounds one after the
//!   other: 10 x latency of AESENC / 16 bytes.
//! - AES-128-CTR: blocks are independent: 10 x throughput of AESENC / its width. A program that keeps
//!   the first round of neighbouring counters could save one of the ten.
//! - GHASH: by Karatsuba a product of 128 bits takes three carry-less multiplications: 3 x throughput
//!   of PCLMULQDQ / its width, with one reduction for many blocks.
//! - AES-128-GCM: where the two share no execution port it can come near the greater of both, else
//!   near their sum; the greater is the estimate. What GCM costs above CTR is what authentication
//!   costs.
//! - SHA-256, one message, with SHA instructions: 32 SHA256RNDS2, each waiting for the one before:
//!   32 x latency / 64 bytes.
//! - SHA-256, 16 messages, AVX-512. A round: two sums of three rotations and a ternary XOR (8), Ch
//!   and Maj (2), 7 additions. The message schedule, for 48 of 64 rounds: two sums of three rotations
//!   or shifts and a ternary XOR (8), 3 additions. So 64 x 17 + 48 x 11 = 1616 instructions for
//!   16 x 64 bytes, of which any vector port can take each: x throughput of VPADDD / 1024 bytes. With
//!   AVX2 a rotation takes three instructions, a XOR of three two, Ch three, and Maj three, because
//!   a ^ b is the b ^ c of the next round: 64 x 35 + 48 x 21 = 3248 for 8 x 64 bytes.
//! - SHA-512, many messages: the same round 80 times, the same schedule for 64 of them, in lanes of
//!   twice the width: 80 x 17 + 64 x 11 = 2064 for 8 x 128 bytes, with AVX2 80 x 35 + 64 x 21 = 4144
//!   for 4 x 128 bytes.
//! - SHA-1, many messages. A round: two rotations, one of Ch, parity or Maj, 4 additions: 7; the
//!   schedule, for 64 of 80 rounds: a XOR of four (2) and a rotation. 80 x 7 + 64 x 3 = 752 for 16 x 64
//!   bytes. With AVX2 20 rounds take 13 instructions (Ch), 40 take 12 (parity), 20 take 14 (Maj), and
//!   the schedule 6: 1020 + 64 x 6 = 1404 for 8 x 64 bytes.

use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use strum::{Display, EnumString};

use super::{Cost, Timing};
use crate::{Aes, Algorithm, Direction, Hardware, Hash, RowKey};

/// What an algorithm costs at the least, with its arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    pub of: Bounded,
    /// Core cycles per byte.
    pub cycles_per_byte: f64,
    /// How it comes about, with the measured costs.
    pub arithmetic: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Display, EnumString, SerializeDisplay, DeserializeFromStr)]
pub enum Bounded {
    #[strum(serialize = "AES-128-CBC encrypt")]
    CbcEncrypt,
    #[strum(serialize = "AES-128-CTR")]
    Ctr,
    /// Half of AES-GCM.
    #[strum(serialize = "GHASH")]
    Ghash,
    #[strum(serialize = "AES-128-GCM")]
    Gcm,
    #[strum(serialize = "SHA-256, one message, SHA instructions")]
    Sha256,
    #[strum(serialize = "SHA-1, 16 messages, AVX-512")]
    Sha1Of16,
    #[strum(serialize = "SHA-1, 8 messages, AVX2")]
    Sha1Of8,
    #[strum(serialize = "SHA-256, 16 messages, AVX-512")]
    Sha256Of16,
    #[strum(serialize = "SHA-256, 8 messages, AVX2")]
    Sha256Of8,
    #[strum(serialize = "SHA-512, 8 messages, AVX-512")]
    Sha512Of8,
    #[strum(serialize = "SHA-512, 4 messages, AVX2")]
    Sha512Of4,
}

/// What to say of a bound where one of the libraries takes less, by their titles and costs. Both are
/// measured, so a cost that is lower by less than 2% shows nothing.
pub fn beaten<'a>(
    cycles_per_byte: f64,
    libraries: impl Iterator<Item = (&'a str, f64)>,
) -> Option<String> {
    let (library, fastest) = libraries.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (fastest < 0.98 * cycles_per_byte).then(|| format!("beaten by {library}: not a bound"))
}

impl Bounded {
    /// Whether a program may find a way with fewer instructions.
    pub fn is_estimate(self) -> bool {
        !matches!(self, Self::CbcEncrypt | Self::Sha256)
    }

    /// `bound` or `estimate`.
    pub fn word(self) -> &'static str {
        if self.is_estimate() { "estimate" } else { "bound" }
    }

    /// Whether it bounds a row with this many messages in a run: that of its algorithm with the whole
    /// processor, on one CPU.
    pub fn is_of(self, row: &RowKey, messages: u64) -> bool {
        /// Kernels of half the width, whose instructions are those of AVX-512: no bound is of these.
        const HALF: &str = "multibuffer-avx512vl";
        self.algorithm() == Some((row.algorithm, messages))
            && row.hardware == Hardware::All
            && row.threads == 1
            && row.library != HALF
    }

    /// The algorithm, and the number of messages in a run; none for a part of an algorithm.
    fn algorithm(self) -> Option<(Algorithm, u64)> {
        Some(match self {
            Self::CbcEncrypt => (Algorithm::Cbc(Aes::Aes128, Direction::Encrypt), 1),
            Self::Ctr => (Algorithm::Ctr(Aes::Aes128), 1),
            Self::Ghash => return None,
            Self::Gcm => (Algorithm::Gcm(Aes::Aes128), 1),
            Self::Sha256 => (Algorithm::Hash(Hash::Sha256), 1),
            Self::Sha1Of16 => (Algorithm::Hash(Hash::Sha1), 16),
            Self::Sha1Of8 => (Algorithm::Hash(Hash::Sha1), 8),
            Self::Sha256Of16 => (Algorithm::Hash(Hash::Sha256), 16),
            Self::Sha256Of8 => (Algorithm::Hash(Hash::Sha256), 8),
            Self::Sha512Of8 => (Algorithm::Hash(Hash::Sha512), 8),
            Self::Sha512Of4 => (Algorithm::Hash(Hash::Sha512), 4),
        })
    }
}

/// The bounds that follow from what was measured.
pub fn bounds(costs: &[Cost]) -> Vec<Bound> {
    let of = |name: &str| {
        let cost = costs.iter().find(|cost| cost.instruction.name == name)?;
        let timing = cost.measured.as_ref().ok()?;
        Some((cost.instruction.name, f64::from(cost.instruction.width), *timing))
    };
    let mut bounds = Vec::new();
    let mut add = |of, cycles_per_byte, arithmetic| {
        bounds.push(Bound { of, cycles_per_byte, arithmetic });
    };
    if let Some((name, _, timing)) = of("AESENC 128") {
        let latency = latency(timing);
        add(
            Bounded::CbcEncrypt,
            10.0 * latency / 16.0,
            format!("10 x {latency:.2} (latency of {name}) / 16 bytes"),
        );
    }
    let cheapest = |times: f64, names: &[&str]| {
        let all = names.iter().filter_map(|name| of(name)).map(|(name, width, timing)| {
            let throughput = throughput(timing);
            let arithmetic =
                format!("{times:.0} x {throughput:.2} (throughput of {name}) / {width:.0} bytes");
            (times * throughput / width, arithmetic)
        });
        all.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let ctr = cheapest(10.0, &["VAESENC 512", "VAESENC 256", "AESENC 128"]);
    let ghash = cheapest(3.0, &["VPCLMULQDQ 512", "VPCLMULQDQ 256", "PCLMULQDQ 128"]);
    if let Some((cycles, arithmetic)) = &ctr {
        add(Bounded::Ctr, *cycles, arithmetic.clone());
    }
    if let Some((cycles, arithmetic)) = &ghash {
        add(Bounded::Ghash, *cycles, arithmetic.clone());
    }
    if let Some(((ctr, _), (ghash, _))) = ctr.zip(ghash) {
        add(
            Bounded::Gcm,
            ctr.max(ghash),
            format!("the greater of {ctr:.3} (CTR) and {ghash:.3} (GHASH), if no port is shared"),
        );
    }
    if let Some((name, _, timing)) = of("SHA256RNDS2") {
        let latency = latency(timing);
        add(
            Bounded::Sha256,
            32.0 * latency / 64.0,
            format!("32 x {latency:.2} (latency of {name}) / 64 bytes"),
        );
    }
    for (what, name, instructions, bytes) in [
        (Bounded::Sha1Of16, "VPADDD 512", 752.0, 1024.0),
        (Bounded::Sha1Of8, "VPADDD 256", 1404.0, 512.0),
        (Bounded::Sha256Of16, "VPADDD 512", 1616.0, 1024.0),
        (Bounded::Sha256Of8, "VPADDD 256", 3248.0, 512.0),
        (Bounded::Sha512Of8, "VPADDD 512", 2064.0, 1024.0),
        (Bounded::Sha512Of4, "VPADDD 256", 4144.0, 512.0),
    ] {
        if let Some((name, _, timing)) = of(name) {
            let throughput = throughput(timing);
            add(
                what,
                instructions * throughput / bytes,
                format!(
                    "{instructions:.0} x {throughput:.2} (throughput of {name}) / {bytes:.0} bytes"
                ),
            );
        }
    }
    bounds
}

fn latency(timing: Timing) -> f64 {
    timing.latency.cycles.median
}

fn throughput(timing: Timing) -> f64 {
    timing.throughput.cycles.median
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

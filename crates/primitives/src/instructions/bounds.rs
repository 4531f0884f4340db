//! What no program can go below, by the measured costs of instructions.
//!
//! - AES-128-CBC encryption: each block waits for the one before, and takes 10 rounds one after the
//!   other: 10 x latency of AESENC / 16 bytes.
//! - AES-128-CTR: blocks are independent: 10 x throughput of the widest AESENC / its width.
//! - GHASH: a product of 128 bits takes four carry-less multiplications: 4 x throughput of the
//!   widest PCLMULQDQ / its width, with reductions put off over many blocks.
//! - AES-128-GCM: where the two share no execution port it can come near the greater of both, else
//!   near their sum; the greater is the bound. What GCM costs above CTR is what authentication
//!   costs.
//! - SHA-256, one message, with SHA instructions: 32 SHA256RNDS2, each waiting for the one before:
//!   32 x latency / 64 bytes.
//! - SHA-256, 16 messages, AVX-512. A round: two sums of three rotations and a ternary XOR (8), Ch
//!   and Maj (2), 7 additions. The message schedule, for 48 of 64 rounds: two sums of three rotations
//!   or shifts and a ternary XOR (8), 3 additions. So 64 x 17 + 48 x 11 = 1616 instructions for
//!   16 x 64 bytes, of which any vector port can take each: x throughput of VPADDD / 1024 bytes. With
//!   AVX2 a rotation takes three instructions, a XOR of three two, Ch three and Maj four: 64 x 36 +
//!   48 x 21 = 3312 for 8 x 64 bytes.
//! - SHA-512, many messages: the same round 80 times, the same schedule for 64 of them, in lanes of
//!   twice the width: 80 x 17 + 64 x 11 = 2064 for 8 x 128 bytes, with AVX2 80 x 36 + 64 x 21 = 4224
//!   for 4 x 128 bytes.
//! - SHA-1, many messages. A round: two rotations, one of Ch, parity or Maj, 4 additions: 7; the
//!   schedule, for 64 of 80 rounds: a XOR of four (2) and a rotation. 80 x 7 + 64 x 3 = 752 for 16 x 64
//!   bytes. With AVX2 20 rounds take 13 instructions (Ch), 40 take 12 (parity), 20 take 14 (Maj), and
//!   the schedule 6: 1020 + 64 x 6 = 1404 for 8 x 64 bytes.

use super::{Cost, Timing};

/// A cost below which nothing can go, with its arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Of what.
    pub name: &'static str,
    /// Core cycles per byte.
    pub cycles_per_byte: f64,
    /// How it comes about, with the measured costs.
    pub arithmetic: String,
}

/// The bounds that follow from what was measured.
#[must_use]
pub fn bounds(costs: &[Cost]) -> Vec<Bound> {
    let of = |name: &str| {
        let cost = costs.iter().find(|cost| cost.instruction.name == name)?;
        let timing = cost.measured.as_ref().ok()?;
        Some((cost.instruction.name, f64::from(cost.instruction.width), *timing))
    };
    let widest = |names: &[&str]| names.iter().find_map(|name| of(name));
    let mut bounds = Vec::new();
    let mut add = |name, cycles_per_byte, arithmetic| {
        bounds.push(Bound { name, cycles_per_byte, arithmetic });
    };
    if let Some((name, _, timing)) = of("AESENC 128") {
        let latency = latency(timing);
        add(
            "AES-128-CBC encrypt",
            10.0 * latency / 16.0,
            format!("10 x {latency:.2} (latency of {name}) / 16 bytes"),
        );
    }
    let per_byte = |times: f64, (name, width, timing): (&str, f64, Timing)| {
        let throughput = throughput(timing);
        let arithmetic =
            format!("{times:.0} x {throughput:.2} (throughput of {name}) / {width:.0} bytes");
        (times * throughput / width, arithmetic)
    };
    let ctr =
        widest(&["VAESENC 512", "VAESENC 256", "AESENC 128"]).map(|wide| per_byte(10.0, wide));
    let ghash = widest(&["VPCLMULQDQ 512", "PCLMULQDQ 128"]).map(|wide| per_byte(4.0, wide));
    if let Some((cycles, arithmetic)) = &ctr {
        add("AES-128-CTR", *cycles, arithmetic.clone());
    }
    if let Some((cycles, arithmetic)) = &ghash {
        add("GHASH", *cycles, arithmetic.clone());
    }
    if let Some(((ctr, _), (ghash, _))) = ctr.zip(ghash) {
        add(
            "AES-128-GCM",
            ctr.max(ghash),
            format!("the greater of {ctr:.3} (CTR) and {ghash:.3} (GHASH), if no port is shared"),
        );
    }
    if let Some((name, _, timing)) = of("SHA256RNDS2") {
        let latency = latency(timing);
        add(
            "SHA-256, one message, SHA instructions",
            32.0 * latency / 64.0,
            format!("32 x {latency:.2} (latency of {name}) / 64 bytes"),
        );
    }
    for (what, name, instructions, bytes) in [
        ("SHA-1, 16 messages, AVX-512", "VPADDD 512", 752.0, 1024.0),
        ("SHA-1, 8 messages, AVX2", "VPADDD 256", 1404.0, 512.0),
        ("SHA-256, 16 messages, AVX-512", "VPADDD 512", 1616.0, 1024.0),
        ("SHA-256, 8 messages, AVX2", "VPADDD 256", 3312.0, 512.0),
        ("SHA-512, 8 messages, AVX-512", "VPADDD 512", 2064.0, 1024.0),
        ("SHA-512, 4 messages, AVX2", "VPADDD 256", 4224.0, 512.0),
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
mod tests {
    use super::super::all;
    use super::*;
    use crate::sampler::{Figure, Quality, Quartiles};

    fn costs(latency: f64, throughput: f64) -> Vec<Cost> {
        let figure = |cycles| Figure {
            cycles: Quartiles { low: cycles, median: cycles, high: cycles },
            nanos: cycles,
            samples: 9,
            dropped_shared: 0,
            dropped_unsteady: 0,
            quality: Quality::Quiet,
        };
        let timing = Timing { latency: figure(latency), throughput: figure(throughput) };
        all().iter().map(|&instruction| Cost { instruction, measured: Ok(timing) }).collect()
    }

    fn bound(costs: &[Cost], name: &str) -> f64 {
        bounds(costs).iter().find(|bound| bound.name == name).unwrap().cycles_per_byte
    }

    /// The paper's whole gain: latencies of 7 and of 4 cycles.
    #[test]
    fn cbc_is_bound_by_latency() {
        assert_eq!(bound(&costs(7.0, 1.0), "AES-128-CBC encrypt"), 4.375);
        assert_eq!(bound(&costs(4.0, 1.0), "AES-128-CBC encrypt"), 2.5);
    }

    #[test]
    fn the_rest_is_bound_by_width_and_throughput() {
        let costs = costs(4.0, 0.5);
        assert_eq!(bound(&costs, "AES-128-CTR"), 10.0 * 0.5 / 64.0);
        assert_eq!(bound(&costs, "AES-128-GCM"), 10.0 * 0.5 / 64.0);
        assert_eq!(bound(&costs, "SHA-256, one message, SHA instructions"), 2.0);
        assert_eq!(bound(&costs, "SHA-256, 16 messages, AVX-512"), 1616.0 * 0.5 / 1024.0);
    }

    #[test]
    fn without_the_instruction_there_is_no_bound() {
        let mut costs = costs(4.0, 1.0);
        for cost in &mut costs {
            if cost.instruction.width > 16 {
                cost.measured = Err("not available here: test".to_owned());
            }
        }
        assert_eq!(bound(&costs, "AES-128-CTR"), 10.0 / 16.0, "of the narrow one");
        assert!(bounds(&costs).iter().all(|bound| !bound.name.contains("AVX")));
    }
}

use super::super::all;
use super::*;
use crate::sampler::{Quality, Quartiles, TimedFigure};

fn costs(latency: f64, throughput: f64) -> Vec<Cost> {
    let figure = |cycles| TimedFigure {
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

fn bound(costs: &[Cost], of: Bounded) -> f64 {
    bounds(costs).iter().find(|bound| bound.of == of).unwrap().cycles_per_byte
}

/// The paper's whole gain: latencies of 7 and of 4 cycles.
#[test]
fn cbc_is_bound_by_latency() {
    assert_eq!(bound(&costs(7.0, 1.0), Bounded::CbcEncrypt), 4.375);
    assert_eq!(bound(&costs(4.0, 1.0), Bounded::CbcEncrypt), 2.5);
}

#[test]
fn the_rest_is_bound_by_width_and_throughput() {
    let costs = costs(4.0, 0.5);
    assert_eq!(bound(&costs, Bounded::Ctr), 10.0 * 0.5 / 64.0);
    assert_eq!(bound(&costs, Bounded::Ghash), 3.0 * 0.5 / 64.0);
    assert_eq!(bound(&costs, Bounded::Gcm), 10.0 * 0.5 / 64.0);
    assert_eq!(bound(&costs, Bounded::Sha256), 2.0);
    assert_eq!(bound(&costs, Bounded::Sha256Of16), 1616.0 * 0.5 / 1024.0);
}

/// Zen 3 has VPCLMULQDQ on 256 bits and no AVX-512; ring takes 0.393 cycles per byte there.
#[test]
fn ghash_uses_the_width_that_costs_least() {
    let mut zen_3 = costs(4.0, 2.0);
    for cost in zen_3.iter_mut().filter(|cost| cost.instruction.width == 64) {
        cost.measured = Err(crate::Unavailable::because("test"));
    }
    assert_eq!(bound(&zen_3, Bounded::Ghash), 3.0 * 2.0 / 32.0);
    // A processor whose widest instruction takes three times as long as the next.
    let mut slow = costs(4.0, 2.0);
    for cost in slow.iter_mut().filter(|cost| cost.instruction.width == 64) {
        cost.measured.as_mut().unwrap().throughput.cycles.median = 6.0;
    }
    assert_eq!(bound(&slow, Bounded::Ghash), 3.0 * 2.0 / 32.0);
    assert_eq!(bound(&slow, Bounded::Ctr), 10.0 * 2.0 / 32.0);
}

#[test]
fn a_faster_library_shows_that_it_is_no_bound() {
    let beaten = |ring| beaten(0.499, [("OpenSSL", 0.7), ("ring", ring)].into_iter());
    assert_eq!(beaten(0.393).unwrap(), "beaten by ring: not a bound");
    assert_eq!((beaten(0.495), beaten(0.51)), (None, None));
}

#[test]
fn only_chains_are_bounds() {
    let all = bounds(&costs(4.0, 1.0));
    let of = |word| {
        let all = all.iter().map(|bound| bound.of).filter(move |of| of.word() == word);
        all.collect::<Vec<_>>()
    };
    assert_eq!(of("bound"), [Bounded::CbcEncrypt, Bounded::Sha256]);
    assert_eq!(of("estimate").len(), 9);
}

#[test]
fn without_the_instruction_there_is_no_bound() {
    let mut costs = costs(4.0, 1.0);
    for cost in &mut costs {
        if cost.instruction.width > 16 {
            cost.measured = Err(crate::Unavailable::because("test"));
        }
    }
    assert_eq!(bound(&costs, Bounded::Ctr), 10.0 / 16.0, "of the narrow one");
    assert!(bounds(&costs).iter().all(|bound| !bound.of.to_string().contains("AVX")));
}

/// The kernels with as many messages, on one CPU with all instructions, and nothing else.
#[test]
fn a_bound_is_of_its_algorithm_and_number_of_messages() {
    let row = |algorithm: &str, library: &str| RowKey {
        algorithm: algorithm.parse().unwrap(),
        library: library.to_owned(),
        size_bytes: Some(8192),
        hardware: Hardware::All,
        cache: crate::Cache::Warm,
        threads: 1,
    };
    let sha1 = row("SHA-1", "multibuffer-avx2");
    assert!(Bounded::Sha1Of8.is_of(&sha1, 8));
    assert!(!Bounded::Sha1Of16.is_of(&sha1, 8) && !Bounded::Sha1Of8.is_of(&sha1, 1));
    assert!(!Bounded::Sha1Of8.is_of(&row("SHA-256", "multibuffer-avx2"), 8));
    assert!(!Bounded::Sha1Of8.is_of(&row("SHA-1", "multibuffer-avx512vl"), 8));
    let masked = RowKey { hardware: Hardware::Avx2, ..sha1.clone() };
    let two = RowKey { threads: 2, ..sha1 };
    assert!(!Bounded::Sha1Of8.is_of(&masked, 8) && !Bounded::Sha1Of8.is_of(&two, 8));
    assert!(Bounded::Sha256.is_of(&row("SHA-256", "openssl"), 1));
}

#[test]
fn a_bound_is_written_with_its_name() {
    let bound =
        Bound { of: Bounded::Sha256Of16, cycles_per_byte: 0.5, arithmetic: "a half".to_owned() };
    let text = serde_json::to_string(&bound).unwrap();
    assert!(text.starts_with(r#"{"of":"SHA-256, 16 messages, AVX-512","cycles"#), "{text}");
    assert_eq!(serde_json::from_str::<Bound>(&text).unwrap(), bound);
}

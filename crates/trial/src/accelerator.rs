//! An accelerator of private keys in the receipt, and as what limited a trial.
//!
//! Counts are the server's own, from before the load to after it, the warm-up included.

use load::Operation;
use offload::Way;
use targets::{AcceleratorCounts, Target};
use units::thousands;

use crate::accelerator_use::AcceleratorUse;
use crate::mismatch::Mismatch;
use crate::{Line, Verdict};

/// The part of the full handshakes that an accelerator must have completed.
const COMPLETED: f64 = 0.99;

impl Line {
    /// The line with what an accelerator did for this server, if it should have one. It is valid only
    /// where that completed the full handshakes.
    #[must_use]
    pub fn with_accelerator(mut self, target: &Target, counted: Option<AcceleratorCounts>) -> Self {
        let Some(asked) = target.accelerator() else {
            // A provider of the user's own does not count.
            let provider = target.provider.as_ref();
            self.receipt.asked.accelerator =
                provider.map(|provider| format!("provider {provider}, {}", target.offload));
            return self;
        };
        let counts = counted.unwrap_or_default();
        let obtained = &self.receipt.obtained;
        let full = obtained.full.unwrap_or(0);
        let by_cpu = counts.computed + counts.refused + counts.timed_out;
        // A ciphertext is computed when it comes for the first time: one of each load thread.
        let first = counts.computed.min(self.load_threads());
        let wanted = full.max(counts.completed + by_cpu).saturating_sub(first);
        if (counts.completed as f64) < COMPLETED * wanted as f64 {
            self.receipt.mismatch.push(Mismatch::new(
                "accelerator",
                asked.to_string(),
                format!(
                    "{} of {} full handshakes ({} computed, {} refused, {} timed out)",
                    thousands(counts.completed),
                    thousands(wanted),
                    thousands(counts.computed),
                    thousands(counts.refused),
                    thousands(counts.timed_out)
                ),
            ));
            self.valid = false;
        }
        let handshakes = full + self.receipt.obtained.resumed.unwrap_or(0);
        let has_one_each = [Operation::Handshakes, Operation::OneRequestPerConnection]
            .map(|operation| operation.to_string())
            .iter()
            .any(|operation| Some(operation) == self.receipt.asked.operation.as_ref());
        let rate = asked.rates.of(target.certificate_key).filter(|_| asked.way != Way::Inline);
        let busy = rate.filter(|_| has_one_each && handshakes > 0).map(|rate| {
            let share = (counts.completed as f64 / handshakes as f64).min(1.0);
            let capacity = f64::from(rate.get()) * asked.engines.get() as f64;
            (self.rate_per_s * share / capacity * 1e3).round() / 1e3
        });
        self.receipt.asked.accelerator = Some(asked.to_string());
        self.receipt.obtained.accelerator =
            Some(AcceleratorUse { kind: target.accelerator.to_string(), counts, busy });
        self.verdict.evidence.accelerator_busy = busy;
        self.verdict = Verdict::of(self.verdict.evidence);
        self
    }

    fn load_threads(&self) -> u64 {
        if !self.ranks.is_empty() {
            return self.ranks.iter().map(|rank| rank.cpus.len() as u64).sum();
        }
        let cpus = self.receipt.asked.client_cpus.as_ref();
        let cpus: Option<cpus::CpuList> = cpus.and_then(|list| list.parse().ok());
        cpus.map_or(1, |cpus| cpus.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offload::Kind;

    use crate::Limit;
    use crate::testing::example;

    /// Of 1,000 full handshakes at 480 per second, where the device can do 500.
    fn line() -> Line {
        let mut line = example();
        line.receipt.mismatch.clear();
        line.valid = true;
        line.receipt.obtained.full = Some(1_000);
        line.receipt.asked.operation = Some(Operation::Handshakes.to_string());
        line.rate_per_s = 480.0;
        line.verdict.evidence.server_busy = Some(0.5);
        line.verdict.evidence.failed = 0;
        line
    }

    fn target(way: Way) -> Target {
        Target {
            accelerator: Kind::Model,
            offload: way,
            accelerator_rate: "rsa:2048 500/s".parse().unwrap(),
            ..Target::default()
        }
    }

    fn judged(counts: AcceleratorCounts) -> (String, Line) {
        let line = line().with_accelerator(&target(Way::Asynchronous), Some(counts));
        let all: Vec<String> = line.receipt.mismatch.iter().map(ToString::to_string).collect();
        assert_eq!(line.valid, all.is_empty());
        (all.join("; "), line)
    }

    #[test]
    fn an_accelerator_that_completes_the_handshakes_is_what_was_asked() {
        let counts = AcceleratorCounts {
            submitted: 1_000,
            completed: 1_000,
            computed: 1,
            in_flight_max: 9,
            ..AcceleratorCounts::default()
        };
        let (mismatch, line) = judged(counts);
        assert_eq!((mismatch.as_str(), line.verdict.limit), ("", Limit::Accelerator));
        let json = serde_json::to_value(&line.receipt.obtained).unwrap();
        let expected = serde_json::json!({
            "kind": "model", "submitted": 1000, "completed": 1000, "computed": 1, "refused": 0,
            "timed_out": 0, "abandoned": 0, "in_flight_max": 9, "busy": 0.96
        });
        assert_eq!(json["accelerator"], expected);
        let asked = "model, asynchronous, rsa:2048 500/s, 100us, queue 256, 1 engine";
        assert_eq!(line.receipt.asked.accelerator.as_deref(), Some(asked));
    }

    #[test]
    fn handshakes_that_it_did_not_complete_are_a_mismatch() {
        let counts = |completed, computed, refused, timed_out| AcceleratorCounts {
            submitted: completed + timed_out,
            completed,
            computed,
            refused,
            timed_out,
            abandoned: 0,
            in_flight_max: 1,
        };
        for wrong in [
            counts(0, 1_000, 0, 0),
            counts(900, 1, 100, 0),
            counts(900, 1, 0, 100),
            // A suite that signs never asks it.
            counts(0, 0, 0, 0),
        ] {
            let (mismatch, _) = judged(wrong);
            assert!(mismatch.starts_with("accelerator: asked model, asynchronous, rsa:2048 500/s"));
            assert!(mismatch.contains(" full handshakes ("), "{mismatch}");
        }
        assert_eq!(judged(counts(990, 1, 0, 10)).0, "");
        assert!(!judged(counts(989, 1, 0, 11)).0.is_empty());
        let silent = line().with_accelerator(&target(Way::Asynchronous), None);
        assert_eq!((silent.valid, silent.receipt.mismatch.len()), (false, 1));
    }

    #[test]
    fn a_device_that_answers_at_once_is_never_the_limit() {
        let counts = AcceleratorCounts {
            submitted: 1_000,
            completed: 1_000,
            ..AcceleratorCounts::default()
        };
        let inline = line().with_accelerator(&target(Way::Inline), Some(counts));
        assert_ne!(inline.verdict.limit, Limit::Accelerator);
        assert_eq!(inline.receipt.obtained.accelerator.unwrap().busy, None);
        let none = line().with_accelerator(&Target::default(), None);
        assert_eq!((none.valid, none.receipt.obtained.accelerator), (true, None));
    }
}

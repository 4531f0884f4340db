//! An accelerator of private keys in the receipt.
//!
//! Counts are the server's own, from before the load to after it, the warm-up included.

use load::Operation;
use offload::{Batching, Way};
use targets::{AcceleratorCounts, KeyUse, Target, UseCounts};
use units::thousands;

use crate::mismatch::Mismatch;
use crate::obtained::AcceleratorUse;
use crate::receipt::Receipt;

/// The part of the full handshakes that an accelerator must have completed.
const COMPLETED: f64 = 0.99;

/// The load whose handshakes an accelerator had to do.
pub(crate) struct Handshakes {
    pub(crate) operation: Operation,
    /// How many load threads made them.
    pub(crate) threads: usize,
    /// Completed operations per second.
    pub(crate) rate_per_s: f64,
}

impl Receipt {
    /// Adds what an accelerator did for this server, if it should have one. It must have completed the
    /// full handshakes.
    pub(crate) fn add_accelerator(
        &mut self,
        target: &Target,
        counted: Option<AcceleratorCounts>,
        load: &Handshakes,
    ) {
        if let Some(asked) = target.batching() {
            return self.add_multi_buffer(target, &asked, counted.unwrap_or_default());
        }
        let Some(asked) = target.accelerator() else {
            // A provider of the user's own does not count.
            let provider = target.provider.as_ref();
            self.asked.accelerator =
                provider.map(|provider| format!("provider {provider}, {}", target.offload));
            return;
        };
        let counts = counted.unwrap_or_default();
        let full = self.obtained.full.unwrap_or(0);
        let by_cpu = counts.computed + counts.refused + counts.timed_out;
        // A ciphertext is computed when it comes for the first time: one of each load thread.
        let first = counts.computed.min(load.threads as u64);
        let wanted = full.max(counts.completed + by_cpu).saturating_sub(first);
        if (counts.completed as f64) < COMPLETED * wanted as f64 {
            self.mismatch.push(Mismatch::new(
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
        }
        let handshakes = full + self.obtained.resumed.unwrap_or(0);
        let has_one_each =
            matches!(load.operation, Operation::Handshakes | Operation::OneRequestPerConnection);
        let rate = asked.rates.of(target.certificate_key).filter(|_| asked.way != Way::Inline);
        let busy = rate.filter(|_| has_one_each && handshakes > 0).map(|rate| {
            let share = (counts.completed as f64 / handshakes as f64).min(1.0);
            let capacity = f64::from(rate.get()) * asked.engines.get() as f64;
            (load.rate_per_s * share / capacity * 1e3).round() / 1e3
        });
        self.asked.accelerator = Some(asked.to_string());
        self.obtained.accelerator =
            Some(AcceleratorUse { kind: target.accelerator.to_string(), counts, busy });
    }

    /// Adds what the multi-buffer library did. It must have done what the handshakes needed of private keys, use
    /// by use, or sent it back because a batch would have cost more.
    fn add_multi_buffer(&mut self, target: &Target, asked: &Batching, counts: AcceleratorCounts) {
        let batches = counts.batches.unwrap_or_default();
        let counts = AcceleratorCounts { batches: Some(batches), ..counts };
        let full = self.obtained.full.unwrap_or(0);
        let with = |names: &[&str]| {
            let counts = names.iter().filter_map(|name| self.obtained.group.get(*name));
            counts.sum::<u64>()
        };
        // The group is that of the key exchange, in resumed handshakes too.
        let (x25519, nist) = (with(&["x25519"]), with(&["secp256r1", "secp384r1"]));
        let [decrypt, sign, ecdsa] = [KeyUse::RsaDecrypt, KeyUse::RsaSign, KeyUse::EcdsaSign];
        let needs: [(&str, &[KeyUse], u64); 5] = [
            ("the certificate's key", &[decrypt, sign, ecdsa], full),
            ("x25519-key", &[KeyUse::X25519Key], x25519),
            ("x25519-derive", &[KeyUse::X25519Derive], x25519),
            ("ecdh-key", &[KeyUse::EcdhKey], nist),
            ("ecdh-derive", &[KeyUse::EcdhDerive], nist),
        ];
        for (name, uses, needed) in needs {
            let sum = |of: &dyn Fn(&UseCounts) -> u64| -> u64 {
                uses.iter().map(|it| of(&batches.uses[*it])).sum()
            };
            let (below, faulty) = (sum(&|it| it.below_break_even), sum(&|it| it.faulty));
            let done = sum(&|it| it.completed) + below;
            let wanted = needed.max(done + faulty);
            let is_unused = wanted == 0 && uses.contains(&decrypt);
            if (done as f64) < COMPLETED * wanted as f64 || is_unused {
                self.mismatch.push(Mismatch::new(
                    "accelerator",
                    asked.to_string(),
                    format!(
                        "{} of {} operations with {name} ({} below the break-even, {} faulty)",
                        thousands(done),
                        thousands(wanted),
                        thousands(below),
                        thousands(faulty)
                    ),
                ));
            }
        }
        self.asked.accelerator = Some(asked.to_string());
        let kind = target.accelerator.to_string();
        self.obtained.accelerator = Some(AcceleratorUse { kind, counts, busy: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offload::Kind;
    use targets::{BatchCounts, UseCounts};

    /// Of 1,000 full handshakes at 480 per second, where the device can do 500.
    fn receipt(target: &Target, counts: Option<AcceleratorCounts>) -> Receipt {
        let mut receipt = Receipt::default();
        receipt.obtained.full = Some(1_000);
        let operation = Operation::Handshakes;
        receipt.add_accelerator(
            target,
            counts,
            &Handshakes { operation, threads: 1, rate_per_s: 480.0 },
        );
        receipt
    }

    fn target(way: Way) -> Target {
        Target {
            accelerator: Kind::Model,
            offload: way,
            accelerator_rate: "rsa:2048 500/s".parse().unwrap(),
            ..Target::default()
        }
    }

    fn judged(counts: AcceleratorCounts) -> (String, Receipt) {
        let receipt = receipt(&target(Way::Asynchronous), Some(counts));
        let all: Vec<String> = receipt.mismatch.iter().map(ToString::to_string).collect();
        (all.join("; "), receipt)
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
        let (mismatch, receipt) = judged(counts);
        assert_eq!(mismatch, "");
        let json = serde_json::to_value(&receipt.obtained).unwrap();
        let expected = serde_json::json!({
            "kind": "model", "submitted": 1000, "completed": 1000, "computed": 1, "refused": 0,
            "timed_out": 0, "abandoned": 0, "in_flight_max": 9, "busy": 0.96
        });
        assert_eq!(json["accelerator"], expected);
        let asked = "model, asynchronous, rsa:2048 500/s, 100us, queue 256, 1 engine";
        assert_eq!(receipt.asked.accelerator.as_deref(), Some(asked));
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
            batches: None,
        };
        for wrong in [
            counts(0, 1_000, 0, 0),
            counts(900, 1, 100, 0),
            counts(900, 1, 0, 100),
            // A suite that signs never asks it.
            counts(0, 0, 0, 0),
        ] {
            let (mismatch, _) = judged(wrong);
            assert!(mismatch.starts_with("accelerator: "), "{mismatch}");
        }
        assert_eq!(judged(counts(990, 1, 0, 10)).0, "");
        assert!(!judged(counts(989, 1, 0, 11)).0.is_empty());
        assert_eq!(receipt(&target(Way::Asynchronous), None).mismatch.len(), 1);
    }

    /// What one use came to: completed, below the break-even, faulty.
    fn counted(completed: u64, below_break_even: u64, faulty: u64) -> UseCounts {
        let submitted = completed + below_break_even + faulty;
        UseCounts { submitted, completed, below_break_even, faulty, break_even: 4 }
    }

    /// Of 1,000 full handshakes in this group with the multi-buffer library.
    fn batched(group: Option<&str>, uses: &[(KeyUse, UseCounts)]) -> Receipt {
        let mut batches = BatchCounts::default();
        uses.iter().for_each(|(of, counts)| batches.uses[*of] = *counts);
        let sum = |of: fn(&UseCounts) -> u64| uses.iter().map(|(_, counts)| of(counts)).sum();
        let counts = AcceleratorCounts {
            submitted: sum(|counts| counts.submitted),
            completed: sum(|counts| counts.completed),
            batches: Some(batches),
            ..AcceleratorCounts::default()
        };
        let target = Target { accelerator: Kind::MultiBuffer, ..Target::default() };
        let mut receipt = Receipt::default();
        receipt.obtained.full = Some(1_000);
        receipt.obtained.group = group.map(|name| (name.to_owned(), 1_000)).into_iter().collect();
        let load = Handshakes { operation: Operation::Handshakes, threads: 1, rate_per_s: 480.0 };
        receipt.add_accelerator(&target, Some(counts), &load);
        receipt
    }

    #[test]
    fn batches_are_in_the_receipt_with_what_went_back_to_the_cpu() {
        for (completed, below, faulty) in [(1_000, 0, 0), (0, 1_000, 0), (900, 90, 10)] {
            let receipt = batched(None, &[(KeyUse::RsaSign, counted(completed, below, faulty))]);
            assert!(receipt.mismatch.is_empty(), "{:?}", receipt.mismatch);
            let json = serde_json::to_value(&receipt.obtained).unwrap();
            let accelerator = &json["accelerator"];
            assert_eq!(accelerator["kind"], "multi-buffer");
            let of_use = &accelerator["batches"]["uses"]["rsa-sign"];
            assert_eq!(
                (&of_use["below_break_even"], &of_use["break_even"]),
                (&below.into(), &4.into())
            );
            assert_eq!(accelerator["batches"]["by_size"].as_array().unwrap().len(), 8);
            let asked = "multi-buffer, asynchronous, batch-wait 100us";
            assert_eq!(receipt.asked.accelerator.as_deref(), Some(asked));
        }
        // Keys that another used, and results that were wrong.
        for (completed, below, faulty) in [(989, 0, 0), (0, 0, 0), (980, 9, 11)] {
            let receipt = batched(None, &[(KeyUse::RsaDecrypt, counted(completed, below, faulty))]);
            assert_eq!(receipt.mismatch.len(), 1, "{completed} {below} {faulty}");
        }
    }

    #[test]
    fn every_use_of_a_key_that_the_handshakes_needed_is_judged() {
        let all = counted(1_000, 0, 0);
        let sign = (KeyUse::EcdsaSign, all);
        for (group, [key, derive]) in [
            ("x25519", [KeyUse::X25519Key, KeyUse::X25519Derive]),
            ("secp256r1", [KeyUse::EcdhKey, KeyUse::EcdhDerive]),
            ("secp384r1", [KeyUse::EcdhKey, KeyUse::EcdhDerive]),
        ] {
            let of = |uses: &[(KeyUse, UseCounts)]| batched(Some(group), uses).mismatch;
            assert_eq!(of(&[sign, (key, all), (derive, all)]), []);
            for missing in
                [&[(key, all), (derive, all)][..], &[sign, (key, all)], &[sign, (derive, all)]]
            {
                assert_eq!(of(missing).len(), 1, "{group} {missing:?}");
            }
            let few = counted(989, 0, 11);
            for (at, wrong) in [(0, key), (1, derive)] {
                let mut uses = [sign, (key, all), (derive, all)];
                uses[at + 1].1 = few;
                let mismatch = of(&uses);
                assert_eq!(mismatch.len(), 1);
                assert!(mismatch[0].obtained.contains(&wrong.to_string()), "{mismatch:?}");
            }
        }
        // Groups that the library has no code for are OpenSSL's.
        assert_eq!(batched(Some("secp521r1"), &[sign]).mismatch, []);
    }

    #[test]
    fn a_device_that_answers_at_once_is_never_busy() {
        let counts = AcceleratorCounts {
            submitted: 1_000,
            completed: 1_000,
            ..AcceleratorCounts::default()
        };
        let inline = receipt(&target(Way::Inline), Some(counts));
        assert_eq!(inline.obtained.accelerator.unwrap().busy, None);
        let none = receipt(&Target::default(), None);
        assert!(none.mismatch.is_empty() && none.obtained.accelerator.is_none());
    }
}

//! How a server sent, in the receipt: by its TLS library or by the kernel's TLS, and there with which
//! call.

use std::collections::BTreeMap;

use observe::{Fact, KernelTlsCounters};
use targets::SendCounters;
use tls::{Mac, SendMode, Suite};
use units::thousands;

use crate::mismatch::Mismatch;
use crate::negotiated::handshakes_in_words;
use crate::obtained::SendCalls;
use crate::receipt::Receipt;

/// How a server that toll started should send, and what is known of it besides the kernel's counters.
#[derive(Debug, Clone, PartialEq)]
pub struct Sending {
    /// What it was configured to do.
    pub asked: SendMode,
    /// What it has sent during the trial by its own count, where it counts that.
    pub counted: Option<SendCounters>,
    /// Why it writes although it should use `sendfile`, if its version shows that.
    pub lacks_sendfile: Option<String>,
}

impl Receipt {
    fn handshakes(&self) -> u64 {
        self.obtained.tls.values().sum()
    }

    /// Adds how the server should send and how it did, and where the two differ. Over plain HTTP nothing
    /// is encrypted, and nothing is known of a server elsewhere.
    pub(crate) fn add_sending(&mut self, sending: &Sending) {
        let Some(kernel) = self.obtained.kernel_tls.clone() else { return };
        let asked = sending.asked;
        self.asked.send = Some(asked);
        let mut differs = |obtained: String| {
            self.mismatch.push(Mismatch::new("send", asked.words(), obtained));
        };
        let taken = kernel.known().map_or(0, KernelTlsCounters::sent);
        let handshakes = self.obtained.tls.values().sum();
        // Another program than toll's client prints one handshake of many.
        let handshakes = match self.obtained.client {
            Some(_) => taken.max(handshakes),
            None => handshakes,
        };
        let own = sending.counted.as_ref();
        let (sent, known_by) = match own {
            Some(counted) => {
                (counted.connections.clone(), "the server's own count and the kernel's")
            }
            // As many as there were handshakes are taken for these.
            None if !asked.is_kernels() && handshakes > 0 && taken >= handshakes => {
                differs(format!("the kernel's TLS in {}", handshakes_in_words(taken)));
                return;
            }
            None => {
                let kernels = if asked.is_kernels() { taken.min(handshakes) } else { 0 };
                let kernels_mode = match sending.lacks_sendfile {
                    Some(_) => SendMode::KtlsWrite,
                    None => asked,
                };
                let both = [(SendMode::User, handshakes - kernels), (kernels_mode, kernels)];
                let sent = both.into_iter().filter(|(_, count)| *count > 0).collect();
                (sent, "the kernel's counters and the server's configuration")
            }
        };
        for (mode, count) in sent.iter().filter(|(mode, _)| **mode != asked) {
            let cause = match mode {
                SendMode::User => why_not_the_kernel(&self.obtained.suite, &kernel),
                _ => sending.lacks_sendfile.clone().unwrap_or_default(),
            };
            let cause = if cause.is_empty() { cause } else { format!(": {cause}") };
            differs(format!("{} in {}{cause}", mode.words(), handshakes_in_words(*count)));
        }
        let own_kernels: u64 = own.map_or(0, SendCounters::kernels);
        if own_kernels > taken {
            let (own, taken) = (thousands(own_kernels), thousands(taken));
            differs(format!(
                "{own} connections that the kernel is to encrypt, {taken} by its count"
            ));
        }
        let has_bodies = self.obtained.bodies_walked.is_some();
        if asked == SendMode::KtlsSendfile
            && has_bodies
            && own.is_some_and(|counted| own_kernels > 0 && counted.sendfile.calls == 0)
        {
            differs("no call of sendfile".to_owned());
        }
        self.obtained.send = sent;
        self.obtained.send_calls =
            own.map(|counted| SendCalls { write: counted.write, sendfile: counted.sendfile });
        self.obtained.send_known_by = Some(known_by.to_owned());
    }

    /// How many connections the kernel took over that are not this trial's, where `unfinished` of its
    /// handshakes are not counted in the receipt.
    pub(crate) fn foreign_kernel_tls(&self, sending: &Sending, unfinished: u64) -> Option<u64> {
        let taken = self.obtained.kernel_tls.as_ref()?.known()?.sent();
        let ours = match (&sending.counted, &self.obtained.client) {
            (Some(counted), _) => counted.kernels(),
            (None, Some(_)) => return None,
            (None, None) if sending.asked.is_kernels() => self.handshakes() + unfinished,
            // As many as its own would be a mismatch.
            (None, None) if taken < self.handshakes() => 0,
            (None, None) => return None,
        };
        (taken > ours).then(|| taken - ours)
    }
}

/// Why the kernel did not take over connections that were to be its.
fn why_not_the_kernel(suites: &BTreeMap<String, u64>, kernel: &Fact<KernelTlsCounters>) -> String {
    if let Fact::Unknown { not_available_here } = kernel {
        return not_available_here.clone();
    }
    let is_cbc = |name: &&String| Suite::parse(name).is_ok_and(|suite| suite.mac != Mac::Aead);
    match suites.keys().find(is_cbc) {
        Some(suite) => format!("the kernel's TLS does not have {suite}"),
        None => "its OpenSSL does not use the kernel's TLS; use 3.0 or later, built with \
                 enable-ktls"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::Calls;

    use crate::testing::{job, outcome};
    /// Of 64 handshakes.
    fn receipt(taken: Option<u64>, suite: &str) -> Receipt {
        let counted = taken.map(|taken| KernelTlsCounters {
            sent_by_software: taken,
            ..KernelTlsCounters::default()
        });
        let mut receipt = Receipt::of(&job("https://localhost/bytes/1MiB"), None, &outcome(10_000));
        receipt.obtained.kernel_tls = Some(counted.ok_or("no such layer").into());
        receipt.obtained.suite = [(suite.to_owned(), 64)].into();
        receipt
    }

    const GCM: &str = "TLS_AES_128_GCM_SHA256";

    fn sending(asked: SendMode) -> Sending {
        Sending { asked, counted: None, lacks_sendfile: None }
    }

    fn counted(modes: &[(SendMode, u64)]) -> Option<SendCounters> {
        let sendfile = Calls { calls: 1, bytes: 1 };
        let connections = modes.iter().copied().collect();
        Some(SendCounters { connections, sendfile, ..SendCounters::default() })
    }

    fn mismatch(receipt: &Receipt) -> String {
        let all: Vec<String> = receipt.mismatch.iter().map(ToString::to_string).collect();
        all.join("; ")
    }

    fn sent(taken: Option<u64>, suite: &str, sending: &Sending) -> Receipt {
        let mut receipt = receipt(taken, suite);
        receipt.add_sending(sending);
        receipt
    }

    /// Mismatches, and the connections that were another program's. One of the load's has failed.
    fn judged(taken: Option<u64>, sending: &Sending) -> (String, Option<u64>) {
        let receipt = sent(taken, GCM, sending);
        (mismatch(&receipt), receipt.foreign_kernel_tls(sending, 1))
    }

    use SendMode::{KtlsSendfile, KtlsWrite, User};

    #[test]
    fn the_kernels_counters_prove_who_encrypted() {
        let fine = (String::new(), None);
        assert_eq!(judged(Some(64), &sending(KtlsWrite)), fine);
        assert_eq!(judged(Some(0), &sending(User)), fine);
        assert_eq!(judged(None, &sending(User)), fine);
        let kernels = judged(Some(64), &sending(User)).0;
        let receipt = sent(Some(63), GCM, &sending(KtlsSendfile));
        support::assert_golden!([("64 of 64", kernels), ("63 of 64", mismatch(&receipt))]);
        let json = serde_json::to_value(&receipt).unwrap();
        assert_eq!(json["asked"]["send"], "ktls-sendfile");
        assert_eq!(json["obtained"]["send"]["ktls-sendfile"], 63);
        let known_by = "the kernel's counters and the server's configuration";
        assert_eq!(json["obtained"]["send_known_by"], known_by);
    }

    #[test]
    fn a_mismatch_names_its_cause() {
        let cbc = sent(Some(0), "TLS_RSA_WITH_AES_128_CBC_SHA", &sending(KtlsWrite));
        let old = Sending {
            lacks_sendfile: Some("nginx/1.18.0 has no SSL_sendfile".to_owned()),
            ..sending(KtlsSendfile)
        };
        support::assert_golden!([
            ("no layer", judged(None, &sending(KtlsWrite)).0),
            ("CBC", mismatch(&cbc)),
            ("no SSL_sendfile", judged(Some(64), &old).0),
        ]);
    }

    #[test]
    fn the_servers_own_count_goes_first() {
        let of = |asked, modes: &[_]| Sending { counted: counted(modes), ..sending(asked) };
        let fine = String::new();
        // Another program had the 64.
        assert_eq!(judged(Some(64), &of(User, &[(User, 64)])), (fine.clone(), Some(64)));
        assert_eq!(judged(Some(64), &of(KtlsWrite, &[(KtlsWrite, 64)])), (fine.clone(), None));
        assert_eq!(judged(Some(65), &of(KtlsWrite, &[(KtlsWrite, 64)])), (fine, Some(1)));
        let (mixed, _) = judged(Some(32), &of(KtlsWrite, &[(User, 32), (KtlsWrite, 32)]));
        let mut from_memory = of(KtlsSendfile, &[(KtlsSendfile, 64)]);
        from_memory.counted.as_mut().unwrap().sendfile = Calls::default();
        support::assert_golden!([
            ("32 of 64", mixed),
            ("3 by the kernel's count", judged(Some(3), &of(KtlsWrite, &[(KtlsWrite, 64)])).0),
            ("no sendfile", judged(Some(64), &from_memory).0),
        ]);
    }

    #[test]
    fn more_connections_of_the_kernel_than_handshakes_are_another_programs() {
        let none = String::new();
        assert_eq!(judged(Some(3), &sending(User)), (none.clone(), Some(3)));
        // One failed.
        assert_eq!(judged(Some(65), &sending(KtlsWrite)), (none.clone(), None));
        assert_eq!(judged(Some(66), &sending(KtlsWrite)), (none, Some(1)));
    }

    #[test]
    fn plain_http_is_sent_as_ever() {
        let mut plain = receipt(Some(0), GCM);
        plain.obtained.kernel_tls = None;
        plain.add_sending(&sending(KtlsWrite));
        assert_eq!((mismatch(&plain), plain.asked.send), (String::new(), None));
    }
}

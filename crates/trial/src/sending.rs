//! How a server sent, in the receipt: by its TLS library or by the kernel's TLS, and there with which
//! call.

use std::collections::BTreeMap;

use load::Operation;
use observe::{Fact, KernelTlsCounters};
use targets::SendCounters;
use tls::{Mac, SendMode, Suite};
use units::thousands;

use crate::Line;
use crate::mismatch::{Mismatch, handshakes_in_words};
use crate::obtained::SendCalls;
use crate::receipt::Receipt;
use crate::warning::Warning;

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

impl Line {
    /// The line with how the server sent, or why that is not known. It is valid only where all
    /// connections sent as was asked.
    #[must_use]
    pub fn with_sending(mut self, said: Result<Sending, String>) -> Self {
        // Over plain HTTP nothing is encrypted.
        let Some(kernel) = self.receipt.obtained.kernel_tls.clone() else { return self };
        match said {
            Ok(sending) => {
                self.receipt.compare_sending(&sending, &kernel);
                let unfinished = self.unfinished_handshakes();
                self.warnings.extend(foreign(&self.receipt, &sending, &kernel, unfinished));
                self.valid &= self.receipt.mismatch.is_empty();
            }
            Err(why) => {
                self.valid = false;
                self.target_error = Some(why);
            }
        }
        self
    }

    /// Handshakes that the kernel may have seen and the client does not count: those of connections
    /// that were under way or failed.
    fn unfinished_handshakes(&self) -> u64 {
        let asked = &self.receipt.asked;
        let kept = [Operation::Requests, Operation::Session].map(|kept| kept.to_string());
        let is_kept = asked.operation.as_ref().is_some_and(|operation| kept.contains(operation));
        let under_way = match is_kept {
            true => {
                let connections = asked.connections.unwrap_or(0) as u64;
                connections.saturating_sub(self.receipt.handshakes())
            }
            false => self.operations.in_flight,
        };
        under_way + self.operations.errors.values().sum::<u64>()
    }
}

impl Receipt {
    fn handshakes(&self) -> u64 {
        self.obtained.tls.values().sum()
    }

    /// Adds how the server should send and how it did, and where the two differ.
    fn compare_sending(&mut self, sending: &Sending, kernel: &Fact<KernelTlsCounters>) {
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
                SendMode::User => why_not_the_kernel(&self.obtained.suite, kernel),
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

/// Of connections that the kernel took over for somebody else.
fn foreign(
    receipt: &Receipt,
    sending: &Sending,
    kernel: &Fact<KernelTlsCounters>,
    unfinished: u64,
) -> Option<Warning> {
    let taken = kernel.known()?.sent();
    let ours = match (&sending.counted, &receipt.obtained.client) {
        (Some(counted), _) => counted.kernels(),
        (None, Some(_)) => return None,
        (None, None) if sending.asked.is_kernels() => receipt.handshakes() + unfinished,
        // As many as its own would be a mismatch.
        (None, None) if taken < receipt.handshakes() => 0,
        (None, None) => return None,
    };
    (taken > ours).then(|| Warning::foreign_kernel_tls(taken - ours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::Calls;

    use crate::testing::{job, outcome};
    use crate::warning::WarningKind;

    /// Of 64 handshakes.
    fn line(taken: Option<u64>, suite: &str) -> Line {
        let counted = taken.map(|taken| KernelTlsCounters {
            sent_by_software: taken,
            ..KernelTlsCounters::default()
        });
        let counted = counted.ok_or("no such layer").into();
        let job = job("https://localhost/bytes/1MiB");
        let mut receipt = Receipt::of(&job, None, &outcome(10_000)).with_kernel_tls(counted);
        receipt.obtained.suite = [(suite.to_owned(), 64)].into();
        Line { receipt, ..crate::testing::example() }
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

    fn mismatch(line: &Line) -> String {
        let all: Vec<String> = line.receipt.mismatch.iter().map(ToString::to_string).collect();
        assert_eq!(line.valid, all.is_empty());
        all.join("; ")
    }

    fn told(taken: Option<u64>, sending: Sending) -> (String, Vec<WarningKind>) {
        let line = line(taken, GCM).with_sending(Ok(sending));
        (mismatch(&line), line.warnings.iter().map(|warning| warning.kind).collect())
    }

    use SendMode::{KtlsSendfile, KtlsWrite, User};

    #[test]
    fn the_kernels_counters_prove_who_encrypted() {
        let fine = (String::new(), Vec::new());
        assert_eq!(told(Some(64), sending(KtlsWrite)), fine);
        assert_eq!(told(Some(0), sending(User)), fine);
        assert_eq!(told(None, sending(User)), fine);
        assert_eq!(
            told(Some(64), sending(User)).0,
            "send: asked user TLS, got the kernel's TLS in 64 handshakes"
        );
        let line = line(Some(63), GCM).with_sending(Ok(sending(KtlsSendfile)));
        assert!(mismatch(&line).starts_with(
            "send: asked kTLS sendfile, got user TLS in 1 handshake: its OpenSSL does not use"
        ));
        let json = serde_json::to_value(&line.receipt).unwrap();
        assert_eq!(json["asked"]["send"], "ktls-sendfile");
        assert_eq!(json["obtained"]["send"]["ktls-sendfile"], 63);
        let known_by = "the kernel's counters and the server's configuration";
        assert_eq!(json["obtained"]["send_known_by"], known_by);
    }

    #[test]
    fn a_mismatch_names_its_cause() {
        assert_eq!(
            told(None, sending(KtlsWrite)).0,
            "send: asked kTLS write, got user TLS in 64 handshakes: no such layer"
        );
        let cbc = line(Some(0), "TLS_RSA_WITH_AES_128_CBC_SHA");
        let cbc = cbc.with_sending(Ok(sending(KtlsWrite)));
        assert!(mismatch(&cbc).ends_with(
            "in 64 handshakes: the kernel's TLS does not have TLS_RSA_WITH_AES_128_CBC_SHA"
        ));
        let old = Sending {
            lacks_sendfile: Some("nginx/1.18.0 has no SSL_sendfile".to_owned()),
            ..sending(KtlsSendfile)
        };
        assert_eq!(
            told(Some(64), old).0,
            "send: asked kTLS sendfile, got kTLS write in 64 handshakes: nginx/1.18.0 has no \
             SSL_sendfile"
        );
    }

    #[test]
    fn the_servers_own_count_goes_first() {
        let of = |asked, modes: &[_]| Sending { counted: counted(modes), ..sending(asked) };
        let fine = String::new();
        // Another program had the 64.
        let foreign = vec![WarningKind::ForeignKernelTls];
        assert_eq!(told(Some(64), of(User, &[(User, 64)])), (fine.clone(), foreign.clone()));
        assert_eq!(told(Some(64), of(KtlsWrite, &[(KtlsWrite, 64)])), (fine.clone(), Vec::new()));
        assert_eq!(told(Some(65), of(KtlsWrite, &[(KtlsWrite, 64)])), (fine, foreign));
        let (mixed, _) = told(Some(32), of(KtlsWrite, &[(User, 32), (KtlsWrite, 32)]));
        assert!(mixed.starts_with("send: asked kTLS write, got user TLS in 32 handshakes: its"));
        assert_eq!(
            told(Some(3), of(KtlsWrite, &[(KtlsWrite, 64)])).0,
            "send: asked kTLS write, got 64 connections that the kernel is to encrypt, 3 by its count"
        );
        let mut from_memory = of(KtlsSendfile, &[(KtlsSendfile, 64)]);
        from_memory.counted.as_mut().unwrap().sendfile = Calls::default();
        assert_eq!(
            told(Some(64), from_memory).0,
            "send: asked kTLS sendfile, got no call of sendfile"
        );
    }

    #[test]
    fn more_connections_of_the_kernel_than_handshakes_are_somebody_elses() {
        let foreign = vec![WarningKind::ForeignKernelTls];
        assert_eq!(told(Some(3), sending(User)), (String::new(), foreign.clone()));
        // One failed, as the example has it.
        assert_eq!(told(Some(65), sending(KtlsWrite)), (String::new(), Vec::new()));
        assert_eq!(told(Some(66), sending(KtlsWrite)), (String::new(), foreign));
    }

    #[test]
    fn plain_http_is_sent_as_ever_and_silence_is_no_proof() {
        let mut plain = line(Some(0), GCM);
        plain.receipt.obtained.kernel_tls = None;
        let plain = plain.with_sending(Ok(sending(KtlsWrite)));
        assert_eq!((mismatch(&plain), plain.receipt.asked.send), (String::new(), None));
        let silent = line(Some(64), GCM).with_sending(Err("no answer".to_owned()));
        assert_eq!((silent.valid, silent.target_error.as_deref()), (false, Some("no answer")));
    }
}

//! Lines, plans and outcomes that fit each other, for tests to change.

use observe::CpuShare;

use crate::{TrialRecord, Verdict};

/// The example of a line in the design.
pub const EXAMPLE: &str = r#"{"schema":1,"case":"bulk","cell":"bulk-0003","params":{"load.suite":"TLS_RSA_WITH_AES_128_GCM_SHA256","target.server":"nginx"},"role":"measure","round":2,"order":17,"valid":true,"interrupted":false,"started_unix_ms":1795000000000,"window_ns":600000000,"operations":{"completed":39,"in_flight":64,"errors":{"reset":1},"first_errors":{"reset":"connection reset by peer"}},"bytes":{"body":654311424,"decrypted":16777216,"unproven":0},"rate_per_s":65.0,"goodput_bps":8724152320,"cpu_ns":{"server":598000000,"client":41000000,"server_run_queue_wait":0,"client_run_queue_wait":1000},"core_hz":{"before":2710000000,"after":2690000000},"latency_ns":{"connect_p50":310000,"first_byte_p50":540000,"p50":970000000,"p99":1010000000,"max":1040000000,"file":"latency/17.hlog"},"cpu_share":[{"cpu":0,"step_ns":[600000000],"user":[0.9],"system":[0.05],"softirq":[0.03],"steal":[0.0],"idle":[0.02]}],"receipt":{"asked":{"suite":"TLS_RSA_WITH_AES_128_GCM_SHA256"},"obtained":{"suite":{"TLS_RSA_WITH_AES_128_GCM_SHA256":64},"encrypt_then_mac":false,"full":64,"resumed":0},"mismatch":[]},"verdict":{"limit":"server-cpu","evidence":{"completed":39,"failed":1,"failed_share":0.025,"client_busy":0.068,"server_busy":0.997}},"warnings":[]}"#;

/// A trial of nginx.
pub fn example() -> TrialRecord {
    serde_json::from_str(EXAMPLE).unwrap()
}

/// A share that is known for sure.
pub fn share(share: f64) -> Option<CpuShare> {
    Some(CpuShare { share, ..CpuShare::default() })
}

/// What tests change of a line that has it.
impl TrialRecord {
    pub fn verdict_mut(&mut self) -> &mut Verdict {
        self.verdict.as_mut().unwrap()
    }

    pub fn scale_rate(&mut self, factor: f64) {
        self.rate_per_s = self.rate_per_s.map(|rate| rate * factor);
    }
}

#[cfg(test)]
pub(crate) use fits::{job, negotiated, outcome, peer};

/// A plan and an outcome that fit each other.
#[cfg(test)]
mod fits {
    use cpus::CpuList;
    use load::{ByteCounts, Job, Negotiated, Outcome, PeerClient, Plan, Verified};
    use tls::{CertificateKey, Group, Suite, Version};
    use units::Nanos;

    pub(crate) fn job(url: &str) -> Job {
        let plan = Plan {
            cpus: CpuList::from(1),
            warmup: Some(Nanos(0)),
            duration: Nanos(600_000_000),
            timeout: Nanos(1_000_000_000),
            ..Plan::default()
        };
        Job::new(plan, url.parse().unwrap(), "127.0.0.1:443".parse().unwrap())
    }

    pub(crate) fn negotiated() -> Negotiated {
        Negotiated {
            version: Version::Tls13,
            suite: Suite::parse("TLS_AES_128_GCM_SHA256").unwrap(),
            group: Some(Group::X25519),
            signature_scheme: Some(0x0403),
            certificate_key: Some(CertificateKey::EcdsaP256),
            encrypt_then_mac: false,
            resumed: false,
            client: None,
        }
    }

    /// wrk in good health.
    pub(crate) fn peer() -> PeerClient {
        PeerClient {
            name: "wrk 4.1.0".into(),
            caution: "compare".into(),
            ran: Nanos(620_000_000),
            slack: Nanos(1_000_000_000),
            unaccounted: None,
        }
    }

    /// Of a window of 600 ms in which 64 connections received `completed` objects of 1 MiB.
    pub(crate) fn outcome(completed: u64) -> Outcome {
        Outcome {
            window: Nanos(600_000_000),
            completed,
            in_flight: 64,
            bytes: ByteCounts { body: completed << 20, unproven: 0, opened: completed << 14 },
            negotiated: vec![(negotiated(), 64)],
            // The warm-up had some too.
            answers: completed + 640,
            connections: 64,
            objects: vec![completed],
            verified: Verified {
                signatures: 1,
                walked: completed - completed / 64,
                opened: completed / 64,
                compared: completed / 64,
                ..Verified::default()
            },
            ..Outcome::default()
        }
    }
}

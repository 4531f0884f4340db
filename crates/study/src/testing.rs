//! A plan and an outcome that fit each other, for tests to change.

use std::num::NonZeroU32;

use cpus::CpuList;
use load::{
    ByteCounts, Failures, Latencies, Negotiated, OneIn, Operation, Outcome, Plan, Receive, Stop,
    TlsPlan, Verified,
};
use tls::{CertificateKey, Group, Suite, Version};
use units::Nanos;

pub(crate) fn plan(url: &str) -> Plan {
    Plan {
        url: url.parse().unwrap(),
        address: "127.0.0.1:443".parse().unwrap(),
        tls: TlsPlan::any(),
        operation: Operation::Requests,
        arrival: load::Arrival::CLOSED,
        connections: 64,
        cpus: CpuList::from(1),
        stop: Stop::After { warmup: Nanos(0), duration: Nanos(600_000_000) },
        receive: Receive::Walk,
        verify: OneIn(NonZeroU32::new(64).unwrap()),
        timeout: Nanos(1_000_000_000),
    }
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
    }
}

/// Of a window of 600 ms in which 64 connections brought `completed` objects of 1 MiB.
pub(crate) fn outcome(completed: u64) -> Outcome {
    Outcome {
        window: Nanos(600_000_000),
        interrupted: false,
        arrivals: load::ArrivalCounts::default(),
        completed,
        in_flight: 64,
        failures: Failures::default(),
        bytes: ByteCounts { body: completed << 20, unproven: 0, opened: completed << 14 },
        latencies: Latencies::default(),
        negotiated: vec![(negotiated(), 64)],
        verified: Verified {
            signatures: 1,
            walked: completed - completed / 64,
            opened: completed / 64,
            compared: completed / 64,
        },
        lost: Vec::new(),
    }
}

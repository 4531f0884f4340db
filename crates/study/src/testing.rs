//! A plan and an outcome that fit each other, and a study's cell, for tests to change.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use cpus::CpuList;
use load::{
    Arrival, ByteCounts, Close, Failures, Latencies, Mix, Negotiated, OneIn, Operation, Outcome,
    Percent, Plan, Receive, Stop, TlsPlan, Verified,
};
use tls::{CertificateKey, Group, Suite, Version};
use units::{Bytes, Nanos};

use crate::study::{Cell, IfMissing, LoadClient, LoadSpec, Only, Protocol, Server, TargetSpec};

pub(crate) fn plan(url: &str) -> Plan {
    Plan {
        url: url.parse().unwrap(),
        address: "127.0.0.1:443".parse().unwrap(),
        tls: TlsPlan::any(),
        operation: Operation::Requests,
        arrival: Arrival::CLOSED,
        connections: 64,
        cpus: CpuList::from(1),
        stop: Stop::After { warmup: Nanos(0), duration: Nanos(600_000_000) },
        receive: Receive::Walk,
        verify: OneIn(NonZeroU32::new(64).unwrap()),
        timeout: Nanos(1_000_000_000),
        objects: None,
        ramp: Nanos(0),
        close: Close::Fin,
        seed: 0,
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
        under_way: Latencies::default(),
        negotiated: vec![(negotiated(), 64)],
        objects: vec![completed],
        verified: Verified {
            signatures: 1,
            walked: completed - completed / 64,
            opened: completed / 64,
            compared: completed / 64,
        },
        lost: Vec::new(),
    }
}

/// A cell whose server and load are nothing special.
pub(crate) fn cell(case: &str, number: usize, server: Server) -> Cell {
    Cell {
        case: case.to_owned(),
        name: format!("{case}-{number:04}"),
        params: BTreeMap::from([("target.server".to_owned(), server.to_string())]),
        target: TargetSpec {
            server,
            if_missing: IfMissing::Skip,
            cpus: CpuList::from(0),
            certificate_key: CertificateKey::Rsa(2048),
            tickets: false,
            session_cache: false,
            encrypt_then_mac: false,
            library_path: targets::LibraryPath::System,
            environment: targets::Environment::default(),
            only: Only::default(),
        },
        load: LoadSpec {
            client: LoadClient::Toll,
            cpus: CpuList::from(1),
            operation: Operation::Requests,
            arrival: Arrival::CLOSED,
            object: Mix::of_size(Bytes(1 << 20)),
            connections: 64,
            protocol: Protocol::Tls {
                version: Some(Version::Tls13),
                suite: None,
                group: None,
                encrypt_then_mac: None,
                key_exchange: None,
                resumption: Percent::default(),
            },
            receive: Receive::Walk,
            verify: OneIn(NonZeroU32::MIN),
            ramp: Nanos(0),
            warmup: Nanos(0),
            duration: Nanos(1_000_000_000),
            timeout: Nanos(10_000_000_000),
            close: Close::Fin,
            ca: None,
            insecure: false,
        },
        find: None,
        pool: None,
    }
}

//! A study's cell, for tests to change.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use cpus::CpuList;
use load::{Arrival, Close, Mix, OneIn, Operation, Percent, Receive};
use tls::{CertificateKey, Version};
use units::{Bytes, Nanos};

use crate::study::{Cell, IfMissing, LoadClient, LoadSpec, Only, Protocol, Server, TargetSpec};

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

//! The load engine on the real servers: every way to receive, and every kind of operation.

use std::num::NonZeroU32;
use std::sync::Arc;

use cpus::CpuList;
use load::{Engine, Job, Load, OneIn, Operation, Outcome, Plan, Receive, Trust, Url};
use targets::{Objects, Running, Server, Settings, Target};
use tempfile::TempDir;
use tls::{CertificateKey, OrPlain, Suite, Version};
use units::{Bytes, Nanos};

const OBJECT: Bytes = Bytes(1 << 18);
const OPERATIONS: u64 = 40;
const SUITES: [&str; 4] =
    ["TLS_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "AES128-GCM-SHA256", "AES128-SHA"];

fn kinds() -> [&'static Server; 2] {
    ["embedded", "nginx"].map(|name| targets::by_name(name).unwrap())
}

fn start(kind: &Server, key: CertificateKey, folder: &TempDir) -> Running {
    let objects = Arc::new(Objects::make(&[OBJECT], folder.path()).unwrap());
    let settings = Settings {
        suites: SUITES.map(|name| Suite::parse(name).unwrap()).to_vec(),
        toll: Some(support::toll_path()),
        target: Target {
            certificate_key: key,
            encrypt_then_mac: false,
            tickets: false,
            session_cache: false,
            ..Settings::new(CpuList::allowed().unwrap()).target
        },
        ..Settings::new(CpuList::allowed().unwrap())
    };
    targets::start(kind, &settings, &objects, folder.path(), None).unwrap()
}

fn job(server: &Running, suite: Option<&str>, operation: Operation, receive: Receive) -> Job {
    let address = if suite.is_some() { server.facts().https } else { server.facts().http };
    let plan = Plan {
        suite: suite.map(|name| name.parse().unwrap()),
        operation,
        connections: 4,
        cpus: CpuList::allowed().unwrap(),
        receive: Some(receive),
        verify: Some(OneIn(NonZeroU32::new(8).unwrap())),
        timeout: Nanos(20_000_000_000),
        ca: Some(server.facts().certificate.clone()),
        ..Plan::default()
    };
    let url = Url::at(suite.is_some(), address, &objects::path(OBJECT));
    Job { operations: Some(OPERATIONS), ..Job::new(plan, url, address) }
}

fn run(job: Job) -> Outcome {
    Engine::start(job).unwrap().join()
}

#[test]
fn both_servers_are_loaded_in_every_way() {
    let folder = tempfile::tempdir().unwrap();
    for kind in kinds() {
        let server = start(kind, CertificateKey::Rsa(2048), &folder);
        let ways = SUITES.map(Some).into_iter().chain([None]).flat_map(|suite| {
            [Operation::Requests, Operation::OneRequestPerConnection].into_iter().flat_map(
                move |operation| {
                    [Receive::Walk, Receive::Decrypt].map(|receive| (suite, operation, receive))
                },
            )
        });
        for (suite, operation, receive) in ways {
            let way = format!("{} {suite:?} {operation} {receive}", server.facts().name);
            let outcome = run(job(&server, suite, operation, receive));
            assert_eq!(outcome.failures.total(), 0, "{way}: {:?}", outcome.failures);
            assert_eq!(outcome.completed, OPERATIONS, "{way}");
            assert!(outcome.bytes.body >= OPERATIONS * OBJECT.0, "{way}");
            assert!(outcome.verified.compared > 0, "{way}");
            assert_eq!(outcome.verified.walked == 0, receive == Receive::Decrypt, "{way}");
            for (negotiated, _) in &outcome.negotiated {
                assert_eq!(Some(negotiated.suite), suite.and_then(|name| Suite::parse(name).ok()));
                assert!(!negotiated.encrypt_then_mac && !negotiated.resumed, "{way}");
                assert_eq!(negotiated.certificate_key, Some(CertificateKey::Rsa(2048)), "{way}");
            }
        }
    }
}

#[test]
fn handshakes_are_full_with_every_kind_of_key() {
    for key in [
        CertificateKey::Rsa(1024),
        CertificateKey::Rsa(2048),
        CertificateKey::EcdsaP256,
        CertificateKey::EcdsaP384,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let [embedded, _] = kinds();
        let objects = Arc::new(Objects::make(&[OBJECT], folder.path()).unwrap());
        let settings = Settings {
            toll: Some(support::toll_path()),
            target: Target {
                certificate_key: key,
                ..Settings::new(CpuList::allowed().unwrap()).target
            },
            ..Settings::new(CpuList::allowed().unwrap())
        };
        let server = targets::start(embedded, &settings, &objects, folder.path(), None).unwrap();
        for version in [Version::Tls12, Version::Tls13] {
            let mut job = job(&server, Some(SUITES[0]), Operation::Handshakes, Receive::Walk);
            job.trust = Trust::Anyone;
            (job.plan.tls, job.plan.suite) = (Some(OrPlain::Tls(version)), None);
            job.plan.verify = Some(OneIn(NonZeroU32::MIN));
            let outcome = run(job);
            let way = format!("{key} {version}");
            assert_eq!(outcome.failures.total(), 0, "{way}: {:?}", outcome.failures);
            assert_eq!(outcome.completed, OPERATIONS, "{way}");
            assert!(outcome.verified.signatures >= OPERATIONS, "{way}");
            assert!(outcome.negotiated.iter().all(|(negotiated, _)| {
                !negotiated.resumed
                    && negotiated.version == version
                    && negotiated.certificate_key == Some(key)
            }));
        }
    }
}

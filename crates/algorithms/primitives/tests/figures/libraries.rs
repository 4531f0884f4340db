//! Every algorithm of every library, against each other.

use primitives::check::Checker;
use primitives::row::{NoFigure, Reason};
use primitives::{
    Aes, Algorithm, Cache, Handshake, Library, Protection, ThisCore, library, set_up,
};
use tls::Group;

fn libraries() -> Vec<Box<dyn Library>> {
    library::DEFAULT.iter().map(|name| library::open(name).unwrap()).collect()
}

/// rustls has no CBC, so OpenSSL's records of it are opened by OpenSSL; and OpenSSL has ML-KEM from 3.5 on.
fn is_of_one(algorithm: Algorithm) -> bool {
    match algorithm {
        Algorithm::Record(protection, _) => protection == Protection::Tls12Aes128CbcSha,
        Algorithm::Handshake(Handshake::Full(_, group), _) => group == Group::X25519MlKem768,
        _ => false,
    }
}

#[test]
fn every_result_is_confirmed_by_a_second_library_or_has_a_reason_to_lack() {
    let libraries = libraries();
    let checker = Checker::new(&libraries);
    let mut confirmed = 0;
    for algorithm in Algorithm::all() {
        let mut able = 0;
        for library in &libraries {
            match set_up(library.as_ref(), algorithm, 80, Cache::Warm, &checker) {
                Ok(workload) => {
                    assert_ne!(workload.confirmed_by(), library.title());
                    let is_own = workload.confirmed_by().ends_with(", its own peer");
                    assert!(!is_own || is_of_one(algorithm), "{algorithm}");
                    able += 1;
                }
                Err(NoFigure { why, reason: Reason::Unavailable }) => {
                    assert!(why.starts_with("not available: ") && why.len() > 25, "{why}");
                    // Which groups an OpenSSL has shows where one cannot be set.
                    assert!(is_of_one(algorithm) || !why.contains("failed"), "{algorithm}: {why}");
                    assert!(!why.contains('\n'), "{algorithm}: {why}");
                }
                Err(wrong) => panic!("{algorithm} of {}: {wrong:?}", library.title()),
            }
        }
        assert!(able >= if is_of_one(algorithm) { 1 } else { 2 }, "{algorithm}: {able}");
        confirmed += able;
    }
    assert!(confirmed > 100, "{confirmed}");
}

#[test]
fn sizes_from_nothing_to_some_blocks_agree() {
    let libraries = libraries();
    let checker = Checker::new(&libraries);
    let by_the_byte = Algorithm::all().filter(|a| a.unit() == primitives::Unit::Byte);
    for algorithm in by_the_byte {
        for size in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 255, 256, 1000, 4096] {
            for library in &libraries {
                match set_up(library.as_ref(), algorithm, size, Cache::Warm, &checker) {
                    Ok(_) | Err(NoFigure { reason: Reason::Unavailable, .. }) => {}
                    Err(wrong) => panic!("{algorithm} of {} at {size}: {wrong:?}", library.title()),
                }
            }
        }
    }
}

#[test]
fn cold_workloads_are_confirmed_too() {
    let libraries = libraries();
    let checker = Checker::new(&libraries);
    let gcm = Algorithm::Gcm(Aes::Aes128);
    for library in &libraries {
        match set_up(library.as_ref(), gcm, 64, Cache::Cold, &checker) {
            Ok(mut workload) => {
                let runs = workload.fixed_runs().unwrap();
                workload.run(runs + 1, &mut ThisCore::new().unwrap()).unwrap();
                workload.confirm_again(library.as_ref(), &checker).unwrap();
            }
            Err(NoFigure { why, .. }) => {
                assert!(
                    library.id() == "multibuffer" || library.id().starts_with("rustls"),
                    "{why}"
                );
            }
        }
    }
    let sign = "Ed25519 sign".parse().unwrap();
    assert!(set_up(libraries[0].as_ref(), sign, 0, Cache::Cold, &checker).is_err());
}

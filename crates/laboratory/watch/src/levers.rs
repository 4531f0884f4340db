//! What would change the bill: a row for each change, with what it saves.
//!
//! A saving is the share of a part times what of it goes: one minus the ratio of two costs that were measured on this
//! machine, with the server's own library. What nobody has measured is not listed.
//!
//! A signature takes the server more than it takes here, where all is in the cache. Either what it takes more grows with
//! the signature, and the ratio holds for all of the share, or it stays, and only what was measured here goes. The
//! saving is the middle between both, and its interval has both.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use cpus::CpuList;
use primitives::bench::{Bench, BenchProgress};
use primitives::row::Measured;
use primitives::sampler::Quality;
use primitives::{Algorithm, Cache, Curve, RsaBits, Signing, library};
use tls::CertificateKey;

use crate::bill::{Bill, Lever, Share};
use crate::image::Mapping;
use crate::sort::TlsPart;

/// Quiet samples of each cost.
const SAMPLES: usize = 60;
/// A signature takes the server at most so many times what it takes here: its caches are not warm.
const MOST_BESIDE_OWN: f64 = 2.0;

/// The costs of two signatures, and of what library.
struct Signatures {
    now: Measured,
    then: Measured,
    library: String,
    cpu: usize,
}

/// The certificate's lever.
///
/// # Errors
/// Why it is not listed.
pub(crate) fn certificate(
    bill: &Bill,
    library: &Path,
    cpus: &CpuList,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(BenchProgress),
) -> Result<Lever, String> {
    let key = bill.prefers.clone().or_why()?.certificate_key;
    let now = algorithm(key)?;
    let signatures = measure(now, library, cpus, interrupted, progress)?;
    let share = bill.parts.get(&TlsPart::PrivateKeys).ok_or("no signature was sampled")?;
    let took = bill.signature_s().ok_or("too few signatures were counted")?;
    lever(share, took, key, &signatures)
}

/// What measures a key that may be replaced.
fn algorithm(key: CertificateKey) -> Result<Algorithm, String> {
    match key {
        CertificateKey::Rsa(bits) => RsaBits::of(bits)
            .map(|bits| Algorithm::Rsa(bits, Signing::Sign))
            .ok_or_else(|| format!("toll bench has no {}", key.words())),
        _ => Err(format!("the certificate has a key of {} already", key.words())),
    }
}

fn lever(
    share: &Share,
    took_s: f64,
    key: CertificateKey,
    of: &Signatures,
) -> Result<Lever, String> {
    let seconds = |of: &Measured, cycles: f64| cycles / of.core_hz;
    let (now, then) = (of.now.cycles_per_op, of.then.cycles_per_op);
    let own = seconds(&of.now, now.median);
    let name = key.words();
    let microseconds = |seconds: f64| format!("{:.0} µs", seconds * 1e6);
    if took_s > own * MOST_BESIDE_OWN || took_s < own / MOST_BESIDE_OWN {
        return Err(format!(
            "a signature takes the server {} of CPU, and one with {name} takes {} here: clients get other certificates \
             than toll, or something else signs",
            microseconds(took_s),
            microseconds(own)
        ));
    }
    let ratio = |then: f64, now: f64| seconds(&of.then, then) / seconds(&of.now, now);
    // What is saved of a share by a ratio of costs: where all grows with the signature, and where the rest stays.
    let saved = |share: f64, ratio: f64| {
        let all = share * (1.0 - ratio);
        [all, all * own / took_s]
    };
    let [grows, stays] = saved(share.share, ratio(then.median, now.median));
    let ends =
        [saved(share.low, ratio(then.high, now.low)), saved(share.high, ratio(then.low, now.high))];
    let ends = ends.into_iter().flatten();
    Ok(Lever {
        change: "an ECDSA P-256 certificate".to_owned(),
        saves: f64::midpoint(grows, stays),
        low: ends.clone().fold(f64::INFINITY, f64::min),
        high: ends.fold(0.0, f64::max),
        rests_on: format!(
            "a signature takes {} instead of {} (toll bench, {}, CPU {}); the server takes {} for one",
            microseconds(seconds(&of.then, then.median)),
            microseconds(own),
            of.library,
            of.cpu,
            microseconds(took_s)
        ),
    })
}

/// Measures both signatures on one CPU.
fn measure(
    now: Algorithm,
    library: &Path,
    cpus: &CpuList,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(BenchProgress),
) -> Result<Signatures, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let own = library::open(&library.to_string_lossy()).map_err(|error| text(&error))?;
    let title = own.title().to_owned();
    let checkers: Vec<_> =
        library::DEFAULT.iter().filter_map(|name| library::open(name).ok()).collect();
    let cpu = cpus.first(1);
    let measured = Bench {
        algorithms: &[now, Algorithm::Ecdsa(Curve::P256, Signing::Sign)],
        libraries: &[own],
        checkers: &checkers,
        sizes: &[],
        cache: Cache::Warm,
        cpus: &cpu,
        samples: SAMPLES,
    }
    .run(interrupted, progress)
    .map_err(|error| text(&error))?;
    if measured.interrupted {
        return Err("the measurement was interrupted".to_owned());
    }
    let mut figures = Vec::new();
    for row in measured.rows {
        match row.outcome.no_figure() {
            Some(none) => return Err(format!("{}: {}", row.key.algorithm, none.why)),
            None => figures.extend(row.outcome.measured().cloned()),
        }
    }
    let [now, then] = <[Measured; 2]>::try_from(figures).map_err(|_| "a figure is missing")?;
    if [&now, &then].iter().any(|of| of.quality == Quality::Disturbed) {
        return Err(format!(
            "other programs kept CPU {cpu} or its sibling busy while the costs were measured"
        ));
    }
    Ok(Signatures { now, then, library: title, cpu: cpu.as_slice()[0] })
}

/// Where the server's libcrypto is, which is the file that it has mapped.
///
/// # Errors
/// It has none, or another one is there now.
pub(crate) fn libcrypto(pid: u32, libraries: &[Mapping]) -> Result<PathBuf, String> {
    let map = libraries.iter().find(|map| map.image.name.starts_with("libcrypto.so"));
    let map =
        map.ok_or("the server has no libcrypto of its own that costs could be measured with")?;
    let relative = map.path.strip_prefix("/").unwrap_or(&map.path);
    // As the server sees it, and where that is the same, as everybody does.
    let path = PathBuf::from(format!("/proc/{pid}/root")).join(relative);
    let file = |path: &Path| std::fs::metadata(path).map(|of| (of.dev(), of.ino())).ok();
    let mapped = file(&map.opened);
    if map.is_deleted || mapped.is_none() || mapped != file(&path) {
        return Err(format!(
            "{} is not the file that the server runs any more; restart the server first",
            map.path.display()
        ));
    }
    Ok(if file(&map.path) == mapped { map.path.clone() } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Images;
    use primitives::sampler::Quartiles;

    fn signatures(now: f64, then: f64) -> Signatures {
        let measured = |cycles: f64| Measured {
            cycles_per_byte: None,
            cycles_per_op: Quartiles { low: cycles * 0.98, median: cycles, high: cycles * 1.02 },
            core_hz: 1e9,
            ops_per_s: 1e9 / cycles,
            bytes_per_s: None,
            messages_per_op: 1,
            samples: 60,
            dropped_shared: 0,
            dropped_unsteady: 0,
            quality: Quality::Quiet,
            confirmed_by: "AWS-LC".to_owned(),
        };
        let (now, then) = (measured(now), measured(then));
        Signatures { now, then, library: "OpenSSL 3.0.19".to_owned(), cpu: 3 }
    }

    const SHARE: Share = Share { samples: 4_000, share: 0.44, low: 0.42, high: 0.46 };

    #[test]
    fn a_saving_is_the_share_times_what_goes_of_it() {
        let key = CertificateKey::Rsa(2048);
        let lever = |took| lever(&SHARE, took, key, &signatures(330e3, 33e3)).unwrap();
        let as_here = lever(330e-6);
        assert!((as_here.saves - 0.396).abs() < 1e-9, "{as_here:?}");
        assert!((0.37..0.38).contains(&as_here.low) && (0.41..0.42).contains(&as_here.high));
        assert!(as_here.rests_on.contains("33 µs instead of 330 µs"), "{as_here:?}");
        // What it takes more in the server may stay.
        let more = lever(400e-6);
        assert!((0.36..0.37).contains(&more.saves) && more.low < 0.32, "{more:?}");
        assert!((more.high - as_here.high).abs() < 1e-9, "{more:?}");
    }

    #[test]
    fn a_server_whose_signatures_cost_otherwise_than_the_certificates_gets_no_saving() {
        let key = CertificateKey::Rsa(2048);
        for took in [33e-6, 1.5e-3] {
            let why = lever(&SHARE, took, key, &signatures(330e3, 33e3)).unwrap_err();
            assert!(why.contains("other certificates"), "{why}");
        }
        assert!(algorithm(CertificateKey::EcdsaP256).unwrap_err().contains("already"));
    }

    /// A mapping of this program's own libcrypto.
    fn own_libcrypto() -> Mapping {
        openssl::init();
        let maps = Images::default().mapped_by(std::process::id());
        let found = maps.into_iter().find(|map| map.image.name.starts_with("libcrypto.so"));
        found.expect("it is linked with OpenSSL")
    }

    #[test]
    fn costs_are_measured_with_the_file_that_the_server_runs_or_not_at_all() {
        let pid = std::process::id();
        let own = own_libcrypto();
        let found = libcrypto(pid, std::slice::from_ref(&own)).unwrap();
        assert_eq!(
            std::fs::canonicalize(found).unwrap(),
            std::fs::canonicalize(&own.path).unwrap()
        );
        // It was replaced on disk, or another file is there.
        let changes: [fn(&mut Mapping); 3] = [
            |map| map.is_deleted = true,
            |map| map.path = "/bin/sh".into(),
            |map| map.path = "/nowhere".into(),
        ];
        for change in changes {
            let mut other = own.clone();
            change(&mut other);
            assert!(libcrypto(pid, &[other]).unwrap_err().contains("restart"));
        }
        assert!(libcrypto(pid, &[]).is_err());
    }
}

//! What the server's TLS library leaves unused of this processor.

use keys::full;
use observe::Machine;
use tls::Cipher;

use journal::TargetRecord;

use super::point::Point;
use super::row_figure::RowFigure;
use crate::wording::{capitalized, listed};

/// What the AES-GCM of OpenSSL 3.1 and later asks of a processor, by the kernel's names, and before has
/// no code for (`crypto/modes/asm/aes-gcm-avx512.pl`).
const NEEDED: [&str; 6] = ["vaes", "vpclmulqdq", "avx512f", "avx512bw", "avx512dq", "avx512vl"];

/// For an answer about AES-GCM: that a newer library would use what this processor has, where that
/// is so.
pub(super) fn newer(point: &Point, targets: &[TargetRecord], machine: &Machine) -> Option<String> {
    let flags = machine.processor.flags.known()?;
    let is_of_suites = point.rule.compare == full::SUITE;
    let gcm = point.figures.iter().find(|entry| is_of_suites && is_aes_gcm(entry))?;
    let cell = &gcm.row.name;
    let target = targets.iter().find(|target| target.cells.iter().any(|of| of == cell))?;
    let version = openssl(target.version.as_deref()?)?;
    let is_unused =
        is_before_3_1(version) && NEEDED.iter().all(|flag| flags.iter().any(|f| f == flag));
    (gcm.figure.is_some() && is_unused).then(|| {
        format!(
            "This processor has VAES and AVX-512, which the AES-GCM of OpenSSL {version} does not \
             use. OpenSSL 3.1 and later use them: measure a newer version."
        )
    })
}

/// For an answer about releases: what each has, and what is known to make a difference on this processor.
pub(super) fn releases(
    point: &Point,
    targets: &[TargetRecord],
    machine: Option<&Machine>,
) -> Option<String> {
    let is_measured = |entry: &&RowFigure| entry.figure.is_some();
    let is_of_releases = point.rule.compare == full::SYSTEM;
    let entries = point.figures.iter().filter(is_measured).filter(|_| is_of_releases);
    // What counts instructions is a processor without them.
    let is_counted =
        |entry: &RowFigure| entry.row.cell().is_some_and(|cell| cell.load.counter().is_some());
    let uses_gcm = entries.clone().any(|entry| is_aes_gcm(entry) && !is_counted(entry));
    let versions = entries.filter_map(|entry| {
        let target = targets.iter().find(|target| target.cells.contains(&entry.row.name))?;
        Some((entry.label.as_str(), target.version.as_deref()?))
    });
    let versions: Vec<_> = versions.collect();
    let all = listed(versions.iter().map(|(label, version)| format!("{label} has {version}")))?;
    let is_old = |(_, version): &(&str, &str)| openssl(version).is_some_and(is_before_3_1);
    let differ = versions.iter().any(is_old) && !versions.iter().all(is_old);
    let flags = machine.and_then(|machine| machine.processor.flags.known());
    let has_needed =
        flags.is_some_and(|flags| NEEDED.iter().all(|flag| flags.iter().any(|f| f == flag)));
    let wide = match differ && uses_gcm && has_needed {
        true => " From OpenSSL 3.1 on AES-GCM uses VAES and AVX-512, which this processor has.",
        false => "",
    };
    Some(format!("{}.{wide}", capitalized(&all)))
}

fn is_aes_gcm(entry: &RowFigure) -> bool {
    let suite = entry.row.cell().and_then(|cell| cell.load.only_suite());
    suite.is_some_and(|suite| matches!(suite.cipher, Cipher::Aes128Gcm | Cipher::Aes256Gcm))
}

/// `3.0.22` of `nginx/1.22.1, OpenSSL 3.0.22`.
fn openssl(version: &str) -> Option<&str> {
    version.split_once("OpenSSL ")?.1.split_whitespace().next()
}

/// Whether `3.0.22` is; no, where it is not understood.
fn is_before_3_1(version: &str) -> bool {
    let mut parts = version.split('.').map(str::parse::<u32>);
    let [Some(Ok(major)), Some(Ok(minor))] = [parts.next(), parts.next()] else { return false };
    (major, minor) < (3, 1)
}

#[cfg(test)]
mod tests {
    use super::super::tests::scene::{CBC, GCM, SPREAD, Scene};
    use super::*;

    use cpus::CpuList;
    use observe::Fact;
    use study::Metric;
    use study::testing::server;

    fn remedy(suites: &[&str], version: &str, flags: &[&str]) -> String {
        notes("load.suite", suites, &vec![version; suites.len()], flags, false)
    }

    /// The notes of an answer over cells of these versions.
    fn notes(
        key: &str,
        values: &[&str],
        versions: &[&str],
        flags: &[&str],
        is_counted: bool,
    ) -> String {
        let mut scene = Scene::new("bulk", &[server("nginx")], key, values).answer(
            Metric::GoodputPerServerCpu,
            key,
            values[0],
        );
        for (cell, version) in versions.iter().enumerate() {
            let load = &mut scene.study.cells[cell].load;
            load.suite.get_or_insert(tls::OrPlain::Tls(tls::Suite::parse(GCM).unwrap()));
            scene.measure(cell, 8e9, &SPREAD);
            scene.targets.push(TargetRecord {
                name: "nginx".to_owned(),
                server: "nginx".to_owned(),
                settings: String::new(),
                version: Some((*version).to_owned()),
                skipped: None,
                not_sampled: None,
                cells: vec![scene.study.cells[cell].name.clone()],
            });
        }
        if is_counted {
            scene.count_instructions("callgrind");
            scene.study.answers[0].metric = Metric::InstructionsPerOperation;
        }
        let mut machine = Machine::read(&CpuList::from(CpuList::allowed().unwrap().as_slice()[0]));
        machine.processor.flags = Fact::Known(flags.iter().map(ToString::to_string).collect());
        scene.machine = Some(machine);
        scene.analysis().answers[0].notes.concat()
    }

    #[test]
    fn an_older_library_on_a_newer_processor_is_reported() {
        let told = remedy(&[GCM], "nginx/1.22.1, OpenSSL 3.0.22", &NEEDED);
        assert_eq!(
            told,
            "This processor has VAES and AVX-512, which the AES-GCM of OpenSSL 3.0.22 does not \
             use. OpenSSL 3.1 and later use them: measure a newer version."
        );
        assert_ne!(remedy(&[GCM], "nginx/1.18.0 (Ubuntu), OpenSSL 1.1.1f", &NEEDED), "");
    }

    #[test]
    fn an_answer_about_releases_names_what_each_has() {
        let systems = ["debian-12", "debian-13"];
        let of = |versions: [&str; 2], flags: &[&str], is_counted| {
            notes(full::SYSTEM, &systems, &versions, flags, is_counted)
        };
        let notes = |versions, flags| of(versions, flags, false);
        let [old, new] = ["nginx/1.22.1, OpenSSL 3.0.22", "nginx/1.26.3, OpenSSL 3.5.9"];
        let both = "Debian 12 has nginx/1.22.1, OpenSSL 3.0.22 and Debian 13 has nginx/1.26.3, OpenSSL 3.5.9.";
        assert_eq!(notes([old, new], &NEEDED[1..]), both);
        let wide = notes([old, new], &NEEDED);
        assert!(wide.starts_with(both) && wide.contains("AVX-512"), "{wide}");
        assert!(!notes([new, new], &NEEDED).contains("AVX-512"));
        // What counts instructions is a processor without them.
        assert_eq!(of([old, new], &NEEDED, true), both);
    }

    #[test]
    fn what_is_not_known_for_certain_is_not_told() {
        for (suite, version, flags) in [
            (GCM, "nginx/1.28.0, OpenSSL 3.1.0", &NEEDED[..]),
            (GCM, "nginx/1.28.0, OpenSSL 4.0.3", &NEEDED),
            (GCM, "nginx/1.28.0, BoringSSL", &NEEDED),
            (GCM, "nginx/1.22.1, OpenSSL 3.0.22", &NEEDED[1..]),
            (CBC, "nginx/1.22.1, OpenSSL 3.0.22", &NEEDED),
        ] {
            assert_eq!(remedy(&[suite], version, flags), "", "{suite} {version} {flags:?}");
        }
    }
}

//! Servers and clients that were not measured, and servers whose CPU time was not sampled.

use answer::wording::{grouped, list, unique};
use journal::TargetRecord;
use study::Cut;

/// Why each was left out, in one line: `nginx: not installed; apt-get install nginx`. What several
/// have in common is said once.
pub(crate) fn left_out(targets: &[TargetRecord]) -> Vec<String> {
    let skipped = grouped(targets.iter().filter_map(|target| {
        let why = target.skipped.as_ref()?;
        let why = why.strip_prefix(&format!("{} is ", target.server)).unwrap_or(why);
        Some((why.to_owned(), target.server.clone()))
    }));
    let skipped = skipped.into_iter();
    let mut absent: Vec<String> =
        skipped.map(|(why, servers)| format!("{}: {why}", list(unique(servers)))).collect();
    let of_target =
        |target: &TargetRecord| Some(format!("No profile: {}", target.not_sampled.as_ref()?));
    absent.extend(unique(targets.iter().filter_map(of_target)));
    absent
}

/// That a study was cut, in one line: in which ways, and that `page` lists all.
pub(crate) fn cut(cut: &[Cut], page: &str) -> Option<String> {
    match cut {
        [] => None,
        [only] => Some(format!("Not the whole study: {}.", only.what)),
        several => {
            let kinds = list(unique(several.iter().map(|of| of.kind.as_str())));
            Some(format!("Not the whole study: {kinds}; {page} lists them under \"Left out\"."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(server: &str, skipped: Option<&str>) -> TargetRecord {
        TargetRecord {
            name: server.to_owned(),
            server: server.to_owned(),
            settings: String::new(),
            version: None,
            skipped: skipped.map(str::to_owned),
            not_sampled: None,
            cells: Vec::new(),
        }
    }

    #[test]
    fn what_a_scale_cuts_is_one_line_of_kinds() {
        let cuts = [("load.warmup", "warmup"), ("load.duration", "duration"), ("trials", "trials")];
        let cuts = cuts.map(|(what, key)| Cut::of_key(key, what.to_owned()));
        let line = cut(&cuts, "the page").unwrap();
        assert!(line.contains(": shorter windows and fewer trials; "), "{line}");
        assert_eq!(
            (cut(&cuts[..1], "the page").unwrap(), cut(&[], "the page")),
            ("Not the whole study: load.warmup.".to_owned(), None)
        );
    }

    #[test]
    fn what_prevented_a_profile_of_several_is_said_once() {
        let lacking = |server| {
            let record = record(server, None);
            TargetRecord { not_sampled: Some("perf is not installed".to_owned()), ..record }
        };
        let targets = [lacking("embedded"), lacking("nginx"), record("haproxy", None)];
        assert_eq!(left_out(&targets), ["No profile: perf is not installed"]);
    }

    #[test]
    fn a_server_is_one_line_with_any_number_of_settings() {
        let why = Some("nginx is not installed; apt-get install nginx");
        let targets = [
            record("embedded", None),
            record("nginx", why),
            record("nginx", why),
            record("haproxy", Some("its TLS library lacks X25519MLKEM768")),
            record("embedded", Some("its TLS library lacks X25519MLKEM768")),
        ];
        assert_eq!(
            left_out(&targets),
            [
                "nginx: not installed; apt-get install nginx",
                "haproxy and embedded: its TLS library lacks X25519MLKEM768"
            ]
        );
    }
}

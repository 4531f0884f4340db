//! Measures what a device for private keys takes off a full handshake: as it is with the key on the CPU, against a
//! modelled device that answers while the server serves others.

use ::load::Http;
use answer::figure::{self, Figure};
use journal::Results;
use tls::CertificateKey;

use super::arguments::Arguments;
use super::bench::{Bench, results_in};
use super::by_round::Rounds;
use super::cells::{self, Cells, ON_CPU, ON_DEVICE, Window};
use super::check::OtherBusy;
use super::traffic::PlannedTraffic;
use crate::Failure;

/// CPU time in ns of the server, round by round, and the cells that kept a core otherwise busy than they were to.
///
/// # Errors
/// Why it is not known.
pub(super) fn saved(
    arguments: &Arguments,
    wanted: &PlannedTraffic,
    bench: &mut Bench<'_>,
    results: &Results,
) -> Result<(Figure, Vec<OtherBusy>), Failure> {
    if let Some(why) = lacking(arguments) {
        return Err(Failure::request(why));
    }
    let interrupted = || Failure::measurement("it was interrupted");
    let mut cells = Cells::with_device(arguments, wanted);
    let (_, rates) = bench.first_rates(&cells)?.ok_or_else(interrupted)?;
    let rates = bench.corrected(&mut cells, rates)?.ok_or_else(interrupted)?;
    let study = cells.open_loop(&Window::Measured, arguments.trials, &rates);
    let (lines, is_whole) = bench.measure(&study, &results_in(results.folder(), "device")?)?;
    if !is_whole {
        return Err(interrupted());
    }
    let rounds = Rounds::of(&lines);
    let [on_cpu, on_device] = [ON_CPU, ON_DEVICE].map(|case| rounds.operations(case));
    let saved = figure::difference(&on_cpu, &on_device).ok_or_else(|| {
        let invalid = [ON_CPU, ON_DEVICE].into_iter().find_map(|case| {
            cells.dropped.get(case).cloned().or_else(|| cells::why_invalid(&lines, case))
        });
        Failure::measurement(invalid.unwrap_or_else(|| "no round has both".to_owned()))
    })?;
    Ok((saved, rounds.other_busy(&cells.cases)))
}

/// Why it cannot be measured of this server.
fn lacking(arguments: &Arguments) -> Option<String> {
    let Arguments { server, certificate_key: key, .. } = arguments;
    // Of servers that pause handshakes.
    let pauses = targets::by_name(server).is_some_and(|of| of.uses("accelerator-completion"));
    if !pauses {
        return Some(format!(
            "{server} waits for private keys in its workers; embedded and haproxy serve others meanwhile"
        ));
    }
    if arguments.http == Http::V3 {
        return Some("no server here pauses handshakes of HTTP/3".to_owned());
    }
    if let Some(system) = arguments.system.made() {
        return Some(format!(
            "the modelled device is one of this machine's OpenSSL, not of {system}'s"
        ));
    }
    (!matches!(key, CertificateKey::Rsa(_))).then(|| {
        format!(
            "the modelled device decrypts with RSA keys, and {key} only signs (--levers accelerator measures the \
             multi-buffer library, which signs)"
        )
    })
}

#[cfg(test)]
mod tests {
    use study::Study;

    use super::super::bench::of_plan;
    use super::super::cells::Rates;
    use super::super::rounds::tests::arguments;
    use super::*;

    fn lacks(flags: &[&str]) -> String {
        lacking(&arguments(flags)).unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_measured_of_a_server_is_said() {
        assert_eq!(lacks(&["--server", "haproxy"]), "");
        assert_eq!(lacks(&["--server", "embedded", "--group", "x25519"]), "");
        assert!(lacks(&["--server", "nginx"]).contains("haproxy"));
        let key = lacks(&["--server", "haproxy", "--certificate-key", "ecdsa:p256"]);
        assert!(key.contains("ecdsa:p256") && key.contains("--levers accelerator"), "{key}");
        assert!(lacks(&["--server", "embedded", "--http", "3"]).contains("HTTP/3"));
        let system = lacks(&["--server", "haproxy", "--system", "debian-99"]);
        assert!(system.contains("debian-99"), "{system}");
    }

    #[test]
    fn the_key_is_on_the_cpu_and_on_a_device_that_no_rate_limits() {
        for server in ["haproxy", "embedded"] {
            let flags = [
                "--server",
                server,
                "--http",
                "2",
                "--group",
                "x25519",
                "--certificate-key",
                "rsa:3072",
            ];
            let arguments = arguments(&flags);
            let wanted = PlannedTraffic::of(&arguments, None).unwrap();
            let cells = Cells::with_device(&arguments, &wanted);
            let rates: Rates =
                cells.cases.iter().map(|case| (case.name.clone(), 1_000.0)).collect();
            let open = cells.open_loop(&Window::Measured, 7, &rates);
            for Study { cells, .. } in
                [of_plan(&cells.closed_loop()), of_plan(&open)].map(Result::unwrap)
            {
                let of = |place: usize| cells[place].target.accelerator.to_string();
                assert_eq!((cells.len(), of(0), of(1)), (2, "none".to_owned(), "model".to_owned()));
                assert!(cells.iter().all(|cell| cell.load.group.is_none()));
            }
        }
    }
}

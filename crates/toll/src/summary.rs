//! A trial in words: first a sentence that answers, then the evidence.

use std::collections::BTreeMap;
use std::fmt::Write;

use observe::Fact;
use report::wrapped;
use trial::{Arrivals, LEAST_OPERATIONS, Line, LittlesLaw, Obtained, Receipt, Walks, WarningKind};
use units::{BitsPerSecond, Bytes, Nanos, PerSecond, thousands};

use crate::screen;

const LABEL: usize = 14;

/// A trial for a person, as wide as stdout, ending in a newline.
pub(crate) fn of_trial(line: &Line) -> String {
    in_lines(line, screen::width())
}

fn in_lines(line: &Line, width: usize) -> String {
    let mut text = wrapped("", &format!("{}.", headline(line)), width).join("\n") + "\n\n";
    let mut row = |label: &str, value: String| {
        text += &(wrapped(&format!("{label:<LABEL$}"), &value, width).join("\n") + "\n");
    };
    row("window", window(line));
    if line.valid {
        row("rate", PerSecond(line.rate_per_s).to_string());
        if line.bytes.body > 0 {
            row("goodput", BitsPerSecond(line.goodput_bps as f64).to_string());
        }
        for (label, value) in latencies(line) {
            row(label, value);
        }
        if let Some(law) = &line.littles_law {
            row("Little's law", littles_law(law, line.nouns().operation));
        }
    }
    for (i, value) in pages(line).into_iter().enumerate() {
        row(if i == 0 { "pages" } else { "" }, value);
    }
    if line.valid {
        if let Some(client) = line.cpu_ns.client {
            row("client CPU", cost(line, client));
        }
        let server = line.cpu_ns.server.map(|ns| cost(line, ns));
        row("server CPU", server.unwrap_or_else(|| why_unknown(line).to_owned()));
    }
    if let Some(arrivals) = line.operations.arrivals {
        row("arrivals", arrivals_in_words(arrivals));
    }
    if let Some(pace) = pace(line) {
        row("pace", pace);
    }
    for (label, value) in errors(line) {
        row(label, value);
    }
    row("asked", asked(line));
    row("got", got(line));
    for mismatch in &line.receipt.mismatch {
        row("MISMATCH", mismatch.to_string());
    }
    if let Some(error) = &line.target_error {
        row("SERVER", error.clone());
    }
    if let Some(error) = &line.load_error {
        row("LOAD", error.clone());
    }
    if !line.ended_in_warm_up() {
        row("limit", format!("{}; {}", line.verdict.limit, line.verdict.remedy()));
    }
    for warning in &line.warnings {
        row("warning", warning.to_string());
    }
    text
}

/// What was measured and what limited it, or why it is no measurement; without its full stop.
pub(crate) fn headline(line: &Line) -> String {
    if line.ended_in_warm_up() {
        return "Interrupted before the window began: nothing was measured".to_owned();
    }
    if let Some(why) = line.why_invalid() {
        return format!("Not a valid measurement: {why}");
    }
    let interrupted = if line.interrupted { "Interrupted: " } else { "" };
    format!("{interrupted}{}, limited by {}", figure(line), line.reason())
}

/// Why there is no CPU time of the server.
fn why_unknown(line: &Line) -> &'static str {
    let has_changed =
        line.warnings.iter().any(|warning| warning.kind == WarningKind::ProcessesChanged);
    match has_changed {
        true => "not known; its processes changed",
        false => "not known; use --server-pid to count it",
    }
}

/// The rate and, where there are bodies, the goodput.
fn figure(line: &Line) -> String {
    let rate = PerSecond(line.rate_per_s).to_string();
    let rate = rate.trim_end_matches("/s");
    let rate = match line.receipt.asked.operation.as_deref() {
        Some("handshakes") => match line.receipt.asked.resumption_percent {
            Some(1..) => format!("{rate} handshakes per second"),
            _ => format!("{rate} full handshakes per second"),
        },
        Some("session") => format!("{rate} pages per second"),
        Some("one-request-per-connection") => {
            format!("{rate} connections per second with one request each")
        }
        _ => format!("{rate} requests per second"),
    };
    match line.bytes.body {
        0 => rate,
        _ => format!("{rate}, {} of goodput", BitsPerSecond(line.goodput_bps as f64)),
    }
}

fn window(line: &Line) -> String {
    let operations = &line.operations;
    format!(
        "{}{}: {} {}s completed{}",
        Nanos(line.window_ns),
        if line.interrupted { " until interrupted" } else { "" },
        thousands(operations.completed),
        line.nouns().operation,
        // Other programs do not report what was in progress.
        match line.receipt.obtained.client {
            None => format!(", {} in progress at its end", thousands(operations.in_flight)),
            Some(_) => String::new(),
        }
    )
}

/// A header and the percentiles of what was timed.
fn latencies(line: &Line) -> Vec<(&'static str, String)> {
    let l = &line.latency_ns;
    let rows = [
        ("  connect", [l.connect_p50, l.connect_p90, l.connect_p99, l.connect_max]),
        ("  first byte", [l.first_byte_p50, l.first_byte_p90, l.first_byte_p99, l.first_byte_max]),
        ("  whole", [l.p50, l.p90, l.p99, l.max]),
        ("  service", [l.service_p50, l.service_p90, l.service_p99, l.service_max]),
    ];
    let columns = |cells: [String; 4]| cells.map(|cell| format!("{cell:>10}")).concat();
    let mut header = columns(["p50", "p90", "p99", "max"].map(str::to_owned));
    if let Some(nanos) = l.coalescing_max {
        header += &format!("   seen up to {} late: several per wake-up", Nanos(nanos));
    }
    let mut all = vec![("latency", header)];
    for (label, values) in rows {
        if let [Some(p50), Some(p90), Some(p99), Some(max)] = values {
            all.push((label, columns([p50, p90, p99, max].map(|ns| Nanos(ns).to_string()))));
        }
    }
    if all.len() > 1 { all } else { Vec::new() }
}

/// Whether rate and times account for all users.
fn littles_law(law: &LittlesLaw, noun: &str) -> String {
    let mut text = format!(
        "{} x ({} response + {} think) = {:.1} of {} users, {:+.1}%",
        PerSecond(law.rate_per_s),
        Nanos(law.response_ns),
        law.think_ns.map_or_else(|| "unknown".to_owned(), |think| Nanos(think).to_string()),
        law.users_by_law,
        thousands(law.users),
        law.deviation * 100.0
    );
    if !law.judged {
        // Writing to a string cannot fail.
        let _ = write!(text, "; not judged: fewer than {LEAST_OPERATIONS} {noun}s per user");
    }
    text
}

/// The pages of a session as a table, and how its walks ended.
fn pages(line: &Line) -> Vec<String> {
    let Some(Walks { completed, failed }) = line.walks else { return Vec::new() };
    let name = line.pages.iter().map(|page| page.name.chars().count()).max().unwrap_or(0);
    let cells = |cells: [String; 3]| cells.map(|cell| format!("{cell:>11}")).concat();
    let header = cells(["completed", "p50", "p99"].map(str::to_owned));
    let mut rows = vec![format!("{:name$}{header}   errors", "")];
    for page in &line.pages {
        let time = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| Nanos(ns).to_string());
        let figures = cells([thousands(page.completed), time(page.p50_ns), time(page.p99_ns)]);
        let errors = page.errors.iter().map(|(kind, n)| format!("{} {kind}", thousands(*n)));
        let errors: Vec<String> = errors.collect();
        let errors = if errors.is_empty() { "none".to_owned() } else { errors.join(", ") };
        rows.push(format!("{:name$}{figures}   {errors}", page.name));
    }
    rows.push(format!("{} walks completed, {} failed", thousands(completed), thousands(failed)));
    rows
}

/// What should have started, whatever the answers were.
fn arrivals_in_words(arrivals: Arrivals) -> String {
    let Arrivals { intended, waiting, deadlines, deadline_misses } = arrivals;
    let mut text = format!(
        "{} operations should start, {} had not started when the window ended",
        thousands(intended),
        thousands(waiting)
    );
    match deadlines.zip(deadline_misses) {
        None => {}
        Some((0, _)) => text += "; no deadline lay in the window, which is shorter than the pace",
        Some((deadlines, misses)) => {
            // Writing to a string cannot fail.
            let (misses, deadlines) = (thousands(misses), thousands(deadlines));
            let _ = write!(text, "; {misses} of {deadlines} deadlines were missed");
        }
    }
    text
}

/// The rate at which connections were to ask, and what came.
fn pace(line: &Line) -> Option<String> {
    let Receipt { asked, obtained, .. } = &line.receipt;
    let rate = |bps: u64| BitsPerSecond(bps as f64);
    Some(format!(
        "{} asked, each connection every {}; {} obtained",
        rate(asked.pace_bps?),
        Nanos(asked.period_ns?),
        rate(obtained.pace_bps?)
    ))
}

/// CPU time per operation and, where there are bodies, per GB.
fn cost(line: &Line, cpu_ns: u64) -> String {
    let mut text = line.per_operation(cpu_ns).map_or_else(String::new, |ns| {
        format!("{:.1} µs per {}", ns / 1e3, line.nouns().operation)
    });
    if let Some(seconds) = line.per_gigabyte(cpu_ns) {
        text += &format!(", {seconds:.3} CPU-seconds per GB");
    }
    text
}

/// By kind, with the first of each in words.
fn errors(line: &Line) -> Vec<(&'static str, String)> {
    let operations = &line.operations;
    if operations.errors.is_empty() {
        return vec![("errors", "none".to_owned())];
    }
    let in_words = |(kind, count): (&String, &u64)| {
        let first = operations.first_errors.get(kind).map_or("", String::as_str);
        ("errors", format!("{} {kind}, the first: {first}", thousands(*count)))
    };
    operations.errors.iter().map(in_words).collect()
}

fn asked(line: &Line) -> String {
    let asked = &line.receipt.asked;
    let mut parts = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!("{name}{value}")));
    };
    add("", asked.operation.clone());
    add("session ", asked.session.clone());
    add("pages of ", asked.page_bytes.map(|bytes| Bytes(bytes).to_string()));
    add("walks ", asked.walks.map(|walks| walks.to_string()));
    add("", asked.url.clone());
    add("", asked.objects.clone());
    let noun = if asked.session.is_some() { "users" } else { "connections" };
    add("", asked.connections.map(|count| format!("{count} {noun}")));
    add("CPU ", asked.client_cpus.clone());
    add("", asked.tls.as_deref().map(version));
    add("", asked.suite.clone());
    add("", asked.group.clone());
    add("", asked.certificate_key.clone());
    let is_on = |on| if on { "on" } else { "off" }.to_owned();
    add("encrypt-then-MAC ", asked.encrypt_then_mac.map(is_on));
    let resumption = asked.resumption_percent.filter(|percent| *percent > 0);
    add("resumption ", resumption.map(|percent| format!("{percent}%")));
    add("arrival ", asked.arrival.clone().filter(|arrival| arrival != "closed"));
    add("ramp ", asked.ramp_ns.map(|ramp| Nanos(ramp).to_string()));
    add("close ", asked.close.clone().filter(|close| close != "fin"));
    add("seed ", asked.seed.map(|seed| seed.to_string()));
    add("key exchange ", asked.key_exchange.clone());
    add("receive ", asked.receive.clone());
    add("verify ", asked.verify.clone());
    parts.join(", ")
}

fn version(number: &str) -> String {
    if number == "none" { "plain HTTP".to_owned() } else { format!("TLS {number}") }
}

fn got(line: &Line) -> String {
    let Obtained { full, resumed, .. } = line.receipt.obtained;
    let got = &line.receipt.obtained;
    let mut parts: Vec<String> =
        got.client.iter().map(|client| format!("a load by {client}, not verified")).collect();
    for (prefix, counts) in [
        ("TLS ", &got.tls),
        ("", &got.suite),
        ("", &got.group),
        ("", &got.certificate_key),
        ("", &got.signature_scheme),
        ("", &got.objects),
    ] {
        parts.extend((!counts.is_empty()).then(|| names(prefix, counts)));
    }
    let mut count = |number: Option<u64>, what: &str| {
        parts.extend(number.map(|number| format!("{} {what}", thousands(number))));
    };
    count(full, "full handshakes");
    count(resumed, "resumed");
    let kernels = got.kernel_tls.as_ref().and_then(Fact::known);
    let kernels = kernels.map(|counted| counted.sent());
    count(kernels.filter(|taken| *taken > 0), "encrypted by the kernel's TLS");
    count(got.signatures_verified, "signatures verified");
    count(got.bodies_walked, "bodies walked");
    count(got.bodies_authenticated, "opened whole");
    count(got.bodies_compared, "compared");
    if got.encrypt_then_mac == Some(true) {
        parts.push("encrypt-then-MAC".to_owned());
    }
    if line.bytes.body > 0 {
        parts.push(match &got.client {
            None => format!("{} of bodies proven", size(line.bytes.body)),
            Some(client) => format!("{} of bodies according to {client}", size(line.bytes.body)),
        });
    }
    if line.bytes.unproven > 0 {
        parts.push(format!("{} not proven and not counted", size(line.bytes.unproven)));
    }
    parts.join(", ")
}

/// One name alone, several with their counts.
fn names(prefix: &str, counts: &BTreeMap<String, u64>) -> String {
    let many = counts.len() > 1;
    let one = |(name, count): (&String, &u64)| match many {
        true => format!("{prefix}{name} ({})", thousands(*count)),
        false => format!("{prefix}{name}"),
    };
    counts.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// Of what was counted, in a unit that a person reads; sizes that were asked for print themselves.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => Bytes(bytes).to_string(),
        1_048_576..10_737_418_240 => format!("{:.1}MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1}GiB", bytes as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_words(line: Line) -> String {
        in_lines(&line, usize::MAX)
    }

    /// A line with what a test gives, all else as short as it may be.
    fn line(change: impl FnOnce(&mut serde_json::Value)) -> Line {
        let mut value = serde_json::json!({
            "schema": 1, "valid": true, "interrupted": false, "started_unix_ms": 0,
            "window_ns": 600_000_000,
            "operations": {"completed": 600, "in_flight": 64, "errors": {}, "first_errors": {}},
            "bytes": {"body": 629_145_600, "decrypted": 9_830_400, "unproven": 0},
            "rate_per_s": 1000.0, "goodput_bps": 8_388_608_000u64,
            "cpu_ns": {"server": 594_000_000, "client": 60_000_000,
                       "server_run_queue_wait": 0, "client_run_queue_wait": 0},
            "core_hz": {"before": null, "after": null},
            "latency_ns": {"p50": 310_000, "p90": 400_000, "p99": 1_500_000, "max": 2_000_000},
            "cpu_share": [],
            "receipt": {
                "asked": {"operation": "requests", "tls": "1.3", "connections": 64},
                "obtained": {"tls": {"1.3": 64}, "suite": {"TLS_AES_128_GCM_SHA256": 64},
                             "full": 64, "resumed": 0},
                "mismatch": []
            },
            "verdict": {"limit": "server-cpu",
                        "evidence": {"completed": 600, "server_busy": 0.99, "client_busy": 0.1}},
            "warnings": []
        });
        change(&mut value);
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_pages_of_a_session_are_a_table() {
        let text = in_words(line(|v| {
            v["walks"] = serde_json::json!({"completed": 1_000, "failed": 3});
            v["pages"] = serde_json::json!([
                {"name": "sign-in", "completed": 1_003, "errors": {"redirect": 1, "status": 2},
                 "p50_ns": 1_500_000, "p99_ns": 9_000_000},
                {"name": "buy", "completed": 0, "errors": {}},
            ]);
            v["receipt"]["asked"]["session"] = "petstore".into();
        }));
        assert!(text.contains("600ms: 600 pages completed, 64 in progress"), "{text}");
        assert!(text.contains("990.0 µs per page"), "{text}");
        assert!(text.contains(", session petstore, 64 users, "), "{text}");
        let table = "\
pages                  completed        p50        p99   errors
              sign-in      1,003      1.5ms        9ms   1 redirect, 2 status
              buy              0          -          -   none
              1,000 walks completed, 3 failed
";
        assert!(text.contains(table), "{text}");
        assert!(!in_words(line(|_| {})).contains("pages"));
    }

    #[test]
    fn the_first_sentence_answers() {
        assert_eq!(
            headline(&line(|_| {})),
            "1,000 requests per second, 8.39 Gb/s of goodput, limited by the server's CPU: the \
             server used 99.0% of its CPUs; the client's busiest thread was 10.0% busy"
        );
        let handshakes = line(|v| {
            v["receipt"]["asked"]["operation"] = "handshakes".into();
            v["bytes"]["body"] = 0.into();
        });
        let expected = "1,000 full handshakes per second, limited by";
        assert!(headline(&handshakes).starts_with(expected), "{}", headline(&handshakes));
        let session = line(|v| v["receipt"]["asked"]["operation"] = "session".into());
        assert!(headline(&session).starts_with("1,000 pages per second, 8.39 Gb/s of goodput"));
        let interrupted = line(|v| v["interrupted"] = true.into());
        assert!(headline(&interrupted).starts_with("Interrupted: 1,000 requests"));
    }

    #[test]
    fn words_wrap_under_the_first_of_them() {
        let text = in_lines(&line(|_| {}), 60);
        let expected = "got           TLS 1.3, TLS_AES_128_GCM_SHA256, 64 full\n              \
                        handshakes, 0 resumed, 600.0MiB of bodies\n              proven\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn costs_and_latencies_have_their_units() {
        let text = in_words(line(|_| {}));
        for expected in [
            "client CPU    100.0 µs per operation, 0.095 CPU-seconds per GB\n",
            "server CPU    990.0 µs per operation, 0.944 CPU-seconds per GB\n",
            "latency              p50       p90       p99       max\n",
            "  whole            310µs     400µs     1.5ms       2ms\n",
            "errors        none\n",
            "got           TLS 1.3, TLS_AES_128_GCM_SHA256, 64 full handshakes, 0 resumed, \
             600.0MiB of bodies proven\n",
        ] {
            assert!(text.contains(expected), "{expected}\nis not in\n{text}");
        }
        assert!(!text.contains('\x1b') && !text.contains("first byte"));
        let text = in_words(line(|v| v["latency_ns"]["coalescing_max"] = 9_700.into()));
        let expected = "       max   seen up to 9.7µs late: several per wake-up\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn littles_law_has_one_row() {
        let law = |judged: bool| {
            let law = serde_json::json!({
                "users": 64, "rate_per_s": 1000.0, "response_ns": 53_000_000,
                "think_ns": 10_000_000, "users_by_law": 63.0, "deviation": -0.015_625,
                "judged": judged
            });
            in_words(line(|v| v["littles_law"] = law))
        };
        let row =
            "\nLittle's law  1,000/s x (53ms response + 10ms think) = 63.0 of 64 users, -1.6%";
        assert!(law(true).contains(&format!("{row}\n")), "{}", law(true));
        let expected = format!("{row}; not judged: fewer than 100 operations per user\n");
        assert!(law(false).contains(&expected), "{}", law(false));
        assert!(!in_words(line(|_| {})).contains("Little"));
    }

    #[test]
    fn what_is_not_valid_is_not_a_number() {
        let mismatched = line(|v| {
            v["valid"] = false.into();
            v["receipt"]["mismatch"] = serde_json::json!([
                {"what": "suite", "asked": "A", "obtained": "B in 64 handshakes"}
            ]);
        });
        let failed = line(|v| {
            v["valid"] = false.into();
            v["verdict"]["limit"] = "errors".into();
            v["operations"]["errors"] = serde_json::json!({"reset": 1200});
            v["operations"]["first_errors"] = serde_json::json!({"reset": "peer went away"});
        });
        let died = line(|v| {
            v["valid"] = false.into();
            v["target_error"] = "nginx died".into();
        });
        let lost = line(|v| {
            v["valid"] = false.into();
            v["load_error"] = "a load thread ended early: no epoll".into();
        });
        let starved = line(|v| {
            v["valid"] = false.into();
            v["operations"]["completed"] = 0.into();
        });
        for (line, why, row) in [
            (starved, "no operation completed; the server's CPU", "limit         server-cpu"),
            (mismatched, "suite: asked A, got B in 64 handshakes", "MISMATCH      suite"),
            (failed, "0.0% of the operations failed", "errors        1,200 reset, the first: peer"),
            (died, "nginx died", "SERVER        nginx died"),
            (lost, "a load thread ended early: no epoll", "LOAD          a load thread ended"),
        ] {
            let text = in_words(line);
            let expected = format!("Not a valid measurement: {why}");
            assert!(text.starts_with(&expected), "{text}");
            assert!(text.contains(row), "{text}");
            assert!(!text.contains("Gb/s") && !text.contains("latency"), "{text}");
        }
    }
    #[test]
    fn an_interrupt_in_the_warm_up_is_neither_an_error_nor_a_limit() {
        let text = in_words(line(|v| {
            v["valid"] = false.into();
            v["interrupted"] = true.into();
            v["window_ns"] = 0.into();
            v["operations"]["completed"] = 0.into();
            v["verdict"]["limit"] = "errors".into();
        }));
        let expected = "Interrupted before the window began: nothing was measured.\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(!text.contains("limit  ") && !text.contains("Not a valid"), "{text}");
    }

    #[test]
    fn a_server_whose_processes_changed_is_not_said_to_want_its_number() {
        let text = in_words(line(|v| {
            v["cpu_ns"]["server"] = serde_json::Value::Null;
            v["warnings"] = serde_json::json!([
                {"kind": "processes-changed", "seen": "a", "likely_cause": "b", "remedy": "c"}
            ]);
        }));
        assert!(text.contains("server CPU    not known; its processes changed\n"), "{text}");
        assert!(text.contains("warning       a; likely: b; c\n"), "{text}");
    }
}

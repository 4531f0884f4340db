//! A trial for a person: first a sentence that answers, then figures, then the receipt.

mod cost;
mod counted;
mod evidence;
mod headline;
mod histogram;
mod latency;
mod receipt;
mod session;
#[cfg(test)]
pub(crate) mod testing;

use ::load::LONGEST_PAUSE;
use observe::Fact;
use report::{Column, Look, Page};
use trial::{Limit, Measured, Mismatch, StoodStill, TrialRecord, Warning, WarningKind, WhyInvalid};
use units::{Nanos, thousands};

use crate::screen::Screen;

const LABEL: usize = 14;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What answers, and what is wrong.
    Usual,
    /// All that was asked for and got too.
    Verbose,
}

/// A trial in lines that fit the screen, each with its line end.
pub(crate) fn of_trial(measured: &Measured, detail: Detail, screen: Screen) -> String {
    let line = &measured.line;
    let mut page = Page::new(screen.width, screen.style);
    // What is for a program may be as long as it is.
    if screen.width == usize::MAX {
        page = page.with_long_lines();
    }
    let look = if line.valid { Look::Bold } else { Look::Warning };
    page.paragraph("", &format!("{}.", headline::of(line)), look);
    page.blank();
    for (label, words) in counted::rows(line) {
        row(&mut page, label, &words);
    }
    if let Some(Fact::Known(process)) = &line.server_process {
        row(&mut page, "server", &process.to_string());
    }
    if line.verdict.is_some() {
        row(&mut page, "window", &evidence::window(line));
    }
    let has_figures = line.operations.completed > 0
        && line.verdict.is_some()
        && line.invalid().iter().all(|why| why.has_figures());
    if has_figures {
        page.blank();
        if !line.valid {
            warning(
                &mut page,
                "NOT VALID",
                "these figures are of what was measured, not of what was asked for",
            );
            page.blank();
        }
        table(&mut page, cost::rates(line));
        table(&mut page, cost::cpu_time(line));
        if line.cpu_ns.server.is_none() {
            row(&mut page, "server CPU", &why_unknown(measured));
            page.blank();
        }
        table(&mut page, latency::columns(&line.latency_ns));
        if let Some(StoodStill { operations, at_least_ns }) = line.latency_ns.stood_still {
            let (count, least) = (thousands(operations), Nanos(at_least_ns));
            let words =
                format!("without {count} that had taken more than {least} and had not ended");
            row(&mut page, "latency", &words);
        }
        table(&mut page, histogram::columns(&measured.outcome.latencies, screen));
        // What a quota added to a pause is no coalescing; a warning has that.
        let is_stopped =
            line.evidence().is_some_and(|evidence| evidence.quota_in_latencies().is_some());
        if let Some(late) = line.latency_ns.coalescing_max.filter(|_| !is_stopped) {
            let late = Nanos(late);
            let beyond = if late.0 > LONGEST_PAUSE {
                format!(": pauses are at most {}, and then its CPU was busy", Nanos(LONGEST_PAUSE))
            } else {
                String::new()
            };
            let words =
                format!("answers were seen up to {late} late{beyond}; --wakeups each: at once");
            row(&mut page, "coalescing", &words);
        }
    }
    table(&mut page, session::columns(line));
    if let Some(walks) = session::walks(line) {
        row(&mut page, "walks", &walks);
    }
    for (label, words) in evidence::rows(line) {
        row(&mut page, label, &words);
    }
    row(&mut page, "receipt", &receipt::in_one_line(line, screen.is_utf8));
    for words in evidence::errors(line) {
        warning(&mut page, "errors", &words);
    }
    // The first sentence has the gravest.
    let gravest = line.invalid().first().copied();
    let is_said = |of: &&Mismatch| gravest == Some(WhyInvalid::Mismatch(of));
    for mismatch in line.receipt.mismatch.iter().filter(|of| !is_said(of)) {
        warning(&mut page, "MISMATCH", &mismatch.to_string());
    }
    if let Some(error) = &line.target_error {
        warning(&mut page, "SERVER", error);
    }
    if let Some(error) = &line.load_error {
        warning(&mut page, "LOAD", error);
    }
    // Where both sides have the same CPUs, nothing else that is seen of them is the cause.
    let shared = line.warnings.iter().find(|of| of.kind == WarningKind::SharedCpus);
    // What other programs or the load itself limited has another remedy.
    let is_of_cpus = |limit| matches!(limit, Limit::ClientCpu | Limit::ServerCpu | Limit::Unknown);
    let shared = shared.filter(|_| line.limit().is_some_and(is_of_cpus));
    if let Some(limit) = line.limit().filter(|_| !line.ended_in_warm_up()) {
        let words = match shared {
            Some(Warning { seen, remedy, .. }) => format!("{limit}; {seen}: {remedy}"),
            None => format!("{limit}; {}", line.remedy()),
        };
        row(&mut page, "limit", &words);
    }
    warnings(&mut page, line, shared, detail);
    if detail == Detail::Verbose {
        page.blank();
        if let Some(law) = &line.littles_law {
            row(&mut page, "Little's law", &evidence::littles_law(law, line.nouns().operation));
        }
        row(&mut page, "asked", &receipt::asked(line));
        row(&mut page, "got", &receipt::got(line));
    }
    page.text()
}

fn row(page: &mut Page, label: &str, words: &str) {
    page.paragraph(&format!("{label:<LABEL$}"), words, Look::Usual);
}

fn warning(page: &mut Page, label: &str, words: &str) {
    page.paragraph(&format!("{label:<LABEL$}"), words, Look::Warning);
}

/// The first warning that was not told yet, and the kinds of the others; all of them where all is wanted.
fn warnings(page: &mut Page, line: &TrialRecord, told: Option<&Warning>, detail: Detail) {
    let is_new = |of: &&Warning| detail == Detail::Verbose || Some(*of) != told;
    let mut all = line.warnings.iter().filter(is_new);
    let shown = if detail == Detail::Verbose { usize::MAX } else { 1 };
    for of in all.by_ref().take(shown) {
        warning(page, "warning", &of.to_string());
    }
    let others: Vec<String> = all.map(|of| of.kind.to_string()).collect();
    if !others.is_empty() {
        let words = format!("and {} (-v has them)", others.join(", "));
        warning(page, "", &words);
    }
}

/// A table and a blank line after it; nothing where it has no rows.
fn table(page: &mut Page, columns: Vec<Column>) {
    if columns.first().is_some_and(|column| !column.cells.is_empty()) {
        page.table(columns, |_| false);
        page.blank();
    }
}

/// Why there is no CPU time of the server.
fn why_unknown(measured: &Measured) -> String {
    let of = |warning: &trial::Warning| match warning.kind {
        WarningKind::ProcessesChanged => Some("not known; its processes changed"),
        WarningKind::CoarseClock => Some("not known; the load is too short for its clocks"),
        _ => None,
    };
    let cause = measured.line.warnings.iter().find_map(of);
    let process = measured.line.server_process.clone().map(Fact::or_why);
    match (cause, process) {
        (Some(cause), _) => cause.to_owned(),
        (None, Some(Err(why))) => format!("not known: {why}"),
        (None, _) => "not known; use --server-pid to count it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{line, shown, verbose};

    #[test]
    fn the_answer_comes_first_then_figures_then_one_line_of_receipt() {
        support::assert_golden!([
            ("toll load", shown(line(|_| {}), 80)),
            ("toll load -v", verbose(line(|_| {}))),
        ]);
    }

    #[test]
    fn one_warning_is_shown_and_shared_cpus_are_the_one_cause() {
        let of = |kind: &str| {
            let part = |name: &str| format!("{name} of {kind}");
            serde_json::json!({"kind": kind, "seen": part("sight"), "likely_cause": part("cause"),
                               "remedy": part("remedy")})
        };
        let change = |v: &mut serde_json::Value| {
            v["warnings"] = ["shared-cpus", "few-operations", "mixed", "steal"].map(of).into();
        };
        let usual = shown(line(change), usize::MAX);
        let count = |text: &str, words: &str| text.matches(words).count();
        assert!(
            usual.contains(
                "limit         server-cpu; sight of shared-cpus: remedy of shared-cpus\n"
            ),
            "{usual}"
        );
        assert_eq!(count(&usual, "cause of"), 1, "{usual}");
        assert!(
            usual.contains("cause of few-operations") && usual.contains("and mixed, steal (-v"),
            "{usual}"
        );
        let all = verbose(line(change));
        assert_eq!((count(&all, "cause of"), count(&all, "-v has")), (4, 0), "{all}");
    }

    #[test]
    fn no_line_is_longer_than_the_screen_and_no_word_is_cut() {
        let whole = shown(measured_words(), usize::MAX);
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let known = words(&whole);
        for width in [40, 60, 72, 80, 100] {
            let text = shown(measured_words(), width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            // A bar is as long as there is room, and a column may give way, but no word is new.
            for word in words(&text) {
                let is_bar = word.chars().all(|c| c == '█');
                let is_notice = text.contains("Not shown at this width");
                assert!(is_bar || is_notice || known.contains(&word), "{width}: {word}\n{text}");
            }
        }
    }

    fn measured_words() -> trial::Measured {
        let mut measured = line(|v| {
            v["warnings"] = serde_json::json!([
                {"kind": "few-operations", "seen": "a sentence about operations that is long",
                 "likely_cause": "another one of many words", "remedy": "and what to do about it"}
            ]);
        });
        for micros in 300..400 {
            measured.outcome.latencies.whole.record(micros * 1_000).unwrap();
        }
        measured
    }

    #[test]
    fn colour_is_only_for_screens_that_show_it() {
        let plain = shown(line(|_| {}), 80);
        assert!(!plain.contains('\x1b'));
        let coloured = super::of_trial(
            &line(|v| v["valid"] = false.into()),
            super::Detail::Usual,
            super::Screen { width: 80, style: report::Style::Colour, is_utf8: true },
        );
        assert!(coloured.starts_with("\x1b[33m"), "{coloured}");
    }

    #[test]
    fn what_is_not_valid_is_marked_and_is_no_number_where_it_ended_early() {
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
            v["bytes"]["body"] = 0.into();
        });
        let invalid = [
            ("starved", starved),
            ("mismatched", mismatched),
            ("failed", failed),
            ("died", died),
            ("lost", lost),
        ];
        support::assert_golden!(invalid.map(|(what, line)| {
            let text = shown(line, usize::MAX);
            let is_shown = text.contains("Gb/s") && text.contains("latency");
            assert_eq!(is_shown, ["mismatched", "failed"].contains(&what), "{text}");
            assert_eq!(text.contains("\nNOT VALID "), is_shown, "{text}");
            (what, text)
        }));
    }

    #[test]
    fn an_interrupt_in_the_warm_up_is_neither_an_error_nor_a_limit() {
        let text = shown(
            line(|v| {
                v["valid"] = false.into();
                v["interrupted"] = true.into();
                v["window_ns"] = 0.into();
                v["operations"]["completed"] = 0.into();
                v["verdict"]["limit"] = "errors".into();
            }),
            usize::MAX,
        );
        support::insta::assert_snapshot!(text);
    }

    #[test]
    fn a_server_whose_processes_changed_is_not_said_to_want_its_number() {
        let text = shown(
            line(|v| {
                v["cpu_ns"]["server"] = serde_json::Value::Null;
                v["warnings"] = serde_json::json!([
                    {"kind": "processes-changed", "seen": "a", "likely_cause": "b", "remedy": "c"}
                ]);
            }),
            usize::MAX,
        );
        assert!(text.contains("server CPU") && !text.contains("--server-pid"), "{text}");
    }
}

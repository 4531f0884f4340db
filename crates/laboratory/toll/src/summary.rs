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

use report::{Column, Look, Page};
use trial::{Measured, StoodStill, WarningKind};
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
    if line.verdict.is_some() {
        row(&mut page, "window", &evidence::window(line));
    }
    if line.valid && line.verdict.is_some() {
        page.blank();
        table(&mut page, cost::rates(line));
        table(&mut page, cost::cpu_time(line));
        if line.cpu_ns.server.is_none() {
            row(&mut page, "server CPU", why_unknown(measured));
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
            let words = format!("answers were seen up to {late} late; --wakeups each: at once");
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
    for mismatch in &line.receipt.mismatch {
        warning(&mut page, "MISMATCH", &mismatch.to_string());
    }
    if let Some(error) = &line.target_error {
        warning(&mut page, "SERVER", error);
    }
    if let Some(error) = &line.load_error {
        warning(&mut page, "LOAD", error);
    }
    if let Some(limit) = line.limit().filter(|_| !line.ended_in_warm_up()) {
        row(&mut page, "limit", &format!("{limit}; {}", line.remedy()));
    }
    for of in &line.warnings {
        warning(&mut page, "warning", &of.to_string());
    }
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

/// A table and a blank line after it; nothing where it has no rows.
fn table(page: &mut Page, columns: Vec<Column>) {
    if columns.first().is_some_and(|column| !column.cells.is_empty()) {
        page.table(columns, |_| false);
        page.blank();
    }
}

/// Why there is no CPU time of the server.
fn why_unknown(measured: &Measured) -> &'static str {
    let of = |warning: &trial::Warning| match warning.kind {
        WarningKind::ProcessesChanged => Some("not known; its processes changed"),
        WarningKind::CoarseClock => Some("not known; the load is too short for its clocks"),
        _ => None,
    };
    let cause = measured.line.warnings.iter().find_map(of);
    cause.unwrap_or("not known; use --server-pid to count it")
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
            assert!(!text.contains("Gb/s") && !text.contains("latency"), "{text}");
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

//! What a person sees after a run.

use report::Style;
use unicode_width::UnicodeWidthStr;

use crate::fabricated::{self, Fabricated};

fn plain(run: &Fabricated, width: usize) -> String {
    run.terminal(width, Style::Plain)
}

/// The text without Select Graphic Rendition.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut rest = parts.next().unwrap().to_owned();
    for part in parts {
        rest.push_str(part.split_once('m').unwrap().1);
    }
    rest
}

/// The lines of a case's table: two of header, and one a cell.
fn table<'a>(text: &'a str, case: &str, cells: usize) -> Vec<&'a str> {
    let title = format!("{case}, in windows of 600 ms");
    text.lines().skip_while(|line| *line != title).skip(1).take(cells + 2).collect()
}

#[test]
fn the_answers_come_first_with_what_to_do() {
    let text = plain(&fabricated::whole(), 100);
    let places: Vec<usize> = [
        "What does TLS cost on this machine",
        "    1.45x  An ECDSA P-256 certificate gives 1.45x the handshakes of RSA-2048",
        "           Give this server an ECDSA P-256 certificate.",
        "7.20 Gb/s  A core sends the most",
        "      81%  Encrypting costs 81%",
        "\nGood: intervals within 4%.\n",
        "\nhandshakes, in windows of 600 ms\n",
        "\nobjects, in windows of 600 ms\n",
        "* client-bound: the client was the limit in some or all trials",
        "! some invalid: some trials are invalid",
        "In brackets: the interval of the median; with 7 trials",
        "\nIn detail\n",
        "One core of this machine makes 1,100 [1,070, 1,120]",
        "  But: in plain HTTP the client was the limit",
        "\nWarnings\n",
        "\nInvalid trials, not used in any figure\n",
        "  handshakes-0001, number 29: suite: asked",
    ]
    .iter()
    .map(|words| text.find(words).unwrap_or_else(|| panic!("{words:?} is not in\n{text}")))
    .collect();
    assert!(places.is_sorted(), "{places:?}\n{text}");
    assert_eq!(text.matches("they are hyperthreads of one core").count(), 1);
    assert!(text.contains("(98 trials)"));
    assert!(!text.contains("~ incomplete"), "a mark that is not used is explained");
}

#[test]
fn numbers_align_under_each_other() {
    let text = plain(&fabricated::whole(), 140);
    let lines = table(&text, "objects", 10);
    assert!(lines[0].contains("goodput") && lines[1].contains("Gb/s") && lines[1].contains("s/GB"));
    // In each column the last digits are at the place at which the header ends.
    let end = |needle: &str| lines[0].find(needle).unwrap() + needle.len();
    for column in ["goodput", "one core", "server CPU", "client CPU", "p50", "p99"] {
        for line in &lines[2..] {
            let upto = &line[..end(column)];
            assert!(upto.ends_with(|c: char| c.is_ascii_digit()), "{column}: {upto:?}\n{text}");
            let next = line[end(column)..].chars().next();
            assert!(next.is_none_or(|c| c == ' '), "{column}: {line:?}");
        }
    }
    assert!(lines[2].starts_with("embedded, plain HTTP") && lines[2].contains('*'), "{}", lines[2]);
}

#[test]
fn lines_fit_the_width_that_is_given() {
    for width in [60, 72, 80, 100, 132, 200] {
        let text = plain(&fabricated::whole(), width);
        for line in text.lines() {
            assert!(line.width() <= width, "{width}: {line:?}");
        }
        assert!(text.contains("one core"), "{width}:\n{text}");
        assert_eq!(text.contains("Not shown at this width: "), width < 200, "{width}:\n{text}");
    }
}

#[test]
fn colour_changes_no_word() {
    for run in [fabricated::whole(), fabricated::of_nothing(), fabricated::without_nginx()] {
        let coloured = run.terminal(90, Style::Colour);
        assert!(coloured.contains("\x1b[1m"));
        assert_eq!(without_escapes(&coloured), plain(&run, 90));
    }
}

#[test]
fn a_terminal_obeys_toll_only() {
    let mut run = fabricated::without_nginx();
    run.analysis.question = fabricated::HOSTILE.to_owned();
    run.analysis.cells[0].label = fabricated::HOSTILE.to_owned();
    run.analysis.cells[0].case = fabricated::HOSTILE.to_owned();
    let text = plain(&run, 80);
    assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
    assert!(text.contains(r"\u{1b}[31mred"));
}

#[test]
fn a_run_of_which_little_is_known_says_so() {
    let nothing = plain(&fabricated::of_nothing(), 80);
    assert!(nothing.contains("No trial was run, so there is nothing to report."));
    assert!(nothing.contains("x not measured: no trial is valid, so there is no figure"));
    assert!(nothing.contains("0/7"));

    let interrupted = plain(&fabricated::interrupted(), 80);
    assert!(interrupted.contains("This run is incomplete: 17 of 98 trials were run."));
    assert!(interrupted.contains("~ incomplete"));

    let invalid = plain(&fabricated::all_invalid(), 80);
    assert_eq!(invalid.matches("100% of the operations failed").count(), 98);

    let skipped = plain(&fabricated::without_nginx(), 80);
    assert!(skipped.contains("\nnginx: not installed: <script>"), "{skipped}");
    let is_of_nginx = |line: &&str| line.starts_with("nginx");
    assert_eq!(skipped.lines().filter(is_of_nginx).count(), 1, "no row is left: {skipped}");
}

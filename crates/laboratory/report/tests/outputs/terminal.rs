//! What a person sees after a run.

use report::Style;
use support::insta;
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
    insta::assert_snapshot!(plain(&fabricated::whole(), 100));
}

#[test]
fn numbers_align_under_each_other() {
    // A long label is cut, by a character of three bytes.
    let text = plain(&fabricated::whole(), 140).replace('…', ".");
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
        assert_eq!(text.contains("at this width"), width < 200, "{width}:\n{text}");
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
    run.change_cells(|cell| {
        cell.measured.label = fabricated::HOSTILE.to_owned();
        cell.measured.case = fabricated::HOSTILE.to_owned();
    });
    let text = plain(&run, 80);
    assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
    assert!(text.contains(r"\u{1b}[31mred"));
}

#[test]
fn a_run_of_which_little_is_known_says_so() {
    let of = |run: Fabricated| plain(&run, 80);
    support::assert_golden!([
        ("no trial", of(fabricated::of_nothing())),
        ("interrupted", of(fabricated::interrupted())),
        ("without nginx", of(fabricated::without_nginx())),
    ]);
    // Each trial is named.
    let invalid = of(fabricated::all_invalid());
    let of_trial = |line: &&str| line.contains("number ") && line.contains("100%");
    assert_eq!(invalid.lines().filter(of_trial).count(), 98, "{invalid}");
}

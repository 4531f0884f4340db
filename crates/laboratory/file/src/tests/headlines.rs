//! What authors write of their answers.

use std::collections::BTreeMap;

use study::headline::{BestOf, RowOf, Slot};

use super::*;

/// An answer over suites, with these lines, the first of which is line 16.
fn with_answer(lines: &str) -> String {
    let head = "sweep.'load.suite' = ['none', 'AES128-SHA']\n\
                [[answer]]\ncase = 'bulk'\nmetric = 'rate'\ncompare = 'load.suite'\nbaseline = 'none'";
    with(&[], &[head, lines])
}

#[test]
fn rows_are_cells_by_their_case_and_what_is_swept() {
    let text = with_answer(
        "rows.plain = { 'load.suite' = 'none' }\n\
         rows.tls = { case = 'bulk', 'load.suite' = 'AES128-SHA' }\n\
         rows.best = { best = ['none', 'AES128-SHA'] }\n\
         decides = ['tls', 'plain']\n\
         headline = '{{ tls.rate | times(plain.rate) }}'\n\
         same = '{{ tls.rate }}'",
    );
    let study = parse(&text);
    assert_eq!(read_back(&study), study);
    let written = study.answers[0].written.clone().unwrap();
    let suite = |value: &str| BTreeMap::from([("load.suite".to_owned(), value.to_owned())]).into();
    let plain = RowOf { case: "bulk".to_owned(), params: suite("none"), best: None };
    assert_eq!(written.rows["plain"], plain);
    let these = ["none", "TLS_RSA_WITH_AES_128_CBC_SHA"].map(suite);
    assert_eq!(written.rows["best"].best, Some(BestOf::These(these.into())));
    let cells =
        |row: &RowOf| study.cells.iter().filter(|cell| row.is(&cell.case, &cell.params)).count();
    assert_eq!(written.rows.values().map(cells).collect::<Vec<_>>(), [2, 1, 1]);
    let tls = Slot::Figure(study::Metric::Rate, "tls".to_owned());
    assert!(written.decides.unwrap().same.asks().eq([&tls]));
}

#[test]
fn what_cannot_be_said_is_refused_where_it_stands() {
    const ROW: &str = "rows.a = { 'load.suite' = 'none' }\n";
    let refused = |lines: &str| (lines.to_owned(), refusal(&with_answer(lines)));
    assert_golden!(
        [
            "headline = 'a'".to_owned(),
            ROW.to_owned(),
            "rows.a = 'none'\nheadline = 'a'".to_owned(),
            "rows.a = { 'load.suit' = 'none' }\nheadline = 'a'".to_owned(),
            "rows.a = { 'load.suite' = 'AES256-SHA' }\nheadline = 'a'".to_owned(),
            "rows.a = { case = 'bulky' }\nheadline = 'a'".to_owned(),
            "rows.a = { best = ['none', 'AES256-SHA'] }\nheadline = 'a'".to_owned(),
            "rows.a = { best = ['none'] }\nheadline = 'a'".to_owned(),
            "rows.a = { best = 'none' }\nheadline = 'a'".to_owned(),
            "rows.1a = { 'load.suite' = 'none' }\nheadline = 'a'".to_owned(),
            format!("{ROW}headline = '{{{{ b.rate }}}}'"),
            format!("{ROW}headline = '{{{{ a.rat }}}}'"),
            format!("{ROW}headline = '{{{{ a.rate '"),
            format!("{ROW}headline = '{{{{ a.rate | times(a.p99) }}}}'"),
            format!("{ROW}headline = '{{{{ a.rate | percent }}}}'"),
            format!("{ROW}headline = 'a'\ndecides = ['a', 'b']\nsame = 'b'"),
            format!("{ROW}headline = 'a'\ndecides = ['a']\nsame = 'b'"),
            format!("{ROW}headline = 'a'\ndecides = ['a', 'a']"),
            format!("{ROW}headline = ''"),
            format!("{ROW}headline = 'a'\nadvice = 'b'"),
            format!("{ROW}headline = 'a'\nsame = 'b'"),
        ]
        .map(|lines| refused(&lines))
    );
}

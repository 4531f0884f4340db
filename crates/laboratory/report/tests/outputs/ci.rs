//! The files for CI through readers of their own, with texts of a server that means harm.

use std::collections::BTreeMap;

use answer::analysis::Figure;
use answer::compare::{ComparedMetric, Comparison, Difference, PairedRow};
use answer::gate::{GateOutcome, Reached};
use answer::tracked::TrackedFigure;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event as Xml};
use serde_json::Value;
use stats::{Decision, Direction, RunRatio};
use study::metric::Better;
use study::{Metric, Params};

use crate::fabricated::{self, HOSTILE};

/// What would become more than text in XML, JSON or a table of Markdown.
const SPECIALS: &str = "a<&\"|b `c` *d* _e_ [f](g) ~~h~~ \\| # $i$ &amp; ![j](k)\n| l |";

fn gate(result: Reached) -> GateOutcome {
    let sentence = format!("{SPECIALS} {HOSTILE}");
    GateOutcome { gate: SPECIALS.to_owned(), result, sentence, cells: Vec::new() }
}

/// An element of an XML text: its name, its parent's, and its attributes.
struct Element {
    name: String,
    parent: String,
    attributes: BTreeMap<String, String>,
}

/// All elements of a text, which has to be well-formed.
fn elements(xml: &str) -> Vec<Element> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let (mut elements, mut path) = (Vec::new(), vec![String::new()]);
    let element = |start: &BytesStart<'_>, path: &[String]| {
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned();
            (String::from_utf8(attribute.key.as_ref().to_vec()).unwrap(), value)
        });
        let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
        Element { name, parent: path.last().unwrap().clone(), attributes: attributes.collect() }
    };
    loop {
        match reader.read_event().unwrap() {
            Xml::Start(start) => {
                let new = element(&start, &path);
                path.push(new.name.clone());
                elements.push(new);
            }
            Xml::Empty(start) => elements.push(element(&start, &path)),
            Xml::End(_) => drop(path.pop()),
            Xml::Eof => break,
            Xml::Text(text) => assert!(text.iter().all(u8::is_ascii_whitespace), "{text:?}"),
            Xml::Decl(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(path.len(), 1);
    elements
}

/// The elements, the attributes that are required and the counts of junit-10.xsd, the schema of Jenkins.
#[test]
fn junit_is_what_its_schema_says() {
    let gates = [Reached::Met, Reached::NotMet, Reached::Inconclusive, Reached::NotMet].map(gate);
    for lacking in [None, Some("Not every trial is valid.")] {
        let xml = report::junit(SPECIALS, &gates, lacking).unwrap();
        let all = elements(&xml);
        let schema: BTreeMap<&str, (&str, &[&str])> = BTreeMap::from([
            ("testsuites", ("", &["name"][..])),
            ("testsuite", ("testsuites", &["name", "tests", "failures", "errors"])),
            ("testcase", ("testsuite", &["name", "classname"])),
            ("failure", ("testcase", &["message"])),
            ("error", ("testcase", &["message"])),
            ("skipped", ("testcase", &["message"])),
        ]);
        for Element { name, parent, attributes } in &all {
            let (expected, required) = schema[&**name];
            assert_eq!(parent, expected, "{name}");
            assert!(required.iter().all(|key| attributes.contains_key(*key)), "{name}");
        }
        let count = |name: &str| all.iter().filter(|element| element.name == name).count();
        assert_eq!(
            ["testsuites", "testsuite", "testcase", "failure", "error", "skipped"].map(count),
            [1, 1, 4 + usize::from(lacking.is_some()), 2, usize::from(lacking.is_some()), 1]
        );
        for element in &all[..2] {
            for (key, name) in [
                ("tests", "testcase"),
                ("failures", "failure"),
                ("errors", "error"),
                ("skipped", "skipped"),
            ] {
                assert_eq!(element.attributes[key], count(name).to_string(), "{key}");
            }
        }
        let on_one_line = SPECIALS.replace('\n', " ");
        let cases = all.iter().filter(|element| element.name == "testcase");
        assert!(cases.into_iter().all(|case| case.attributes["classname"] == on_one_line));
        let failure = all.iter().find(|element| element.name == "failure").unwrap();
        assert!(failure.attributes["message"].starts_with(&on_one_line), "{xml}");
        assert!(!xml.contains(['\u{1b}', '\u{202e}']), "{xml}");
    }
}

/// What a reader of Markdown sees: the cells of each row of its tables, and its other text. Nothing else may be in it
/// than paragraphs, bold sentences, headings, lists and tables.
fn seen(markdown: &str) -> (Vec<Vec<String>>, String) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH;
    let (mut rows, mut text, mut is_in_table) = (Vec::new(), String::new(), false);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Table(_)) => is_in_table = true,
            Event::End(TagEnd::Table) => is_in_table = false,
            Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => rows.last_mut().unwrap().push(String::new()),
            Event::Text(own) if is_in_table => {
                *rows.last_mut().unwrap().last_mut().unwrap() += &own
            }
            Event::Text(own) => text += &own,
            Event::Start(Tag::Paragraph | Tag::Strong | Tag::List(None) | Tag::Item)
            | Event::Start(Tag::Heading { .. }) => {}
            Event::End(_) => text.push('\n'),
            other => panic!("{other:?} in {markdown}"),
        }
    }
    (rows, text)
}

/// A cell whose words are hostile; B is `ratio` times A.
fn pair(ratio: f64, verdict: Decision) -> PairedRow {
    let samples: Vec<f64> = (0..7).map(|round| 1e9 + 1e6 * f64::from(round)).collect();
    let later: Vec<f64> = samples.iter().map(|sample| sample * ratio).collect();
    let figure = |samples: &[f64]| Figure::of(samples.to_vec()).unwrap();
    PairedRow {
        case: "bulk".to_owned(),
        label: SPECIALS.to_owned(),
        params: Params::default(),
        cell_a: "bulk-0001".to_owned(),
        cell_b: "bulk-0001".to_owned(),
        a: Some(figure(&samples)),
        b: Some(figure(&later)),
        ratio: Some(RunRatio::of(&later, &samples).unwrap()),
        why: None,
        has_two_sources: false,
        verdict: Some(verdict),
        mark_a: None,
        mark_b: Some(answer::Mark::ClientBound),
    }
}

fn comparison() -> Comparison {
    let cells = vec![
        pair(0.7, Decision::Sure(Direction::Below)),
        pair(1.0, Decision::NoDifference),
        PairedRow {
            ratio: None,
            verdict: None,
            why: Some(HOSTILE.to_owned()),
            ..pair(2.0, Decision::TooFew)
        },
    ];
    let of = |metric, cells| ComparedMetric {
        metric,
        sentence: SPECIALS.to_owned(),
        drift_in_a: 0.0,
        drift_in_b: 0.0,
        cells,
    };
    Comparison {
        not_compared: Vec::new(),
        differences: vec![Difference {
            what: "processor".to_owned(),
            a: SPECIALS.to_owned(),
            b: "x".to_owned(),
            is_other_machine: true,
            cells: None,
        }],
        metrics: vec![of(Metric::Goodput, cells)],
        only: Vec::new(),
        invalid_in_a: Vec::new(),
        invalid_in_b: Vec::new(),
    }
}

#[test]
fn a_comparison_in_markdown_says_what_changed() {
    let markdown = report::comparison_markdown(&comparison(), &[gate(Reached::NotMet)]);
    let (rows, text) = seen(&markdown);
    let on_one_line = SPECIALS.replace('\n', " ");
    assert!(text.starts_with(&format!("The machines of A and B differ: processor {on_one_line}")));
    let places = [&*on_one_line, "<script>alert(1)</script>", "goodput", "Not compared"];
    assert!(places.map(|words| text.find(words).unwrap()).is_sorted(), "{text}");
    assert!(text.contains("No significant difference in 1 cell"), "{text}");
    assert!(text.contains("client-bound: the client was the limit"), "{text}");
    let [head, changed, refused] = &rows[..] else { panic!("{rows:?}") };
    assert!(rows.iter().all(|row| row.len() == head.len()), "{rows:?}");
    assert_eq!(changed[0], format!("bulk: {on_one_line}"));
    assert!(
        changed.iter().any(|cell| cell == "0.70x") && refused.iter().any(|cell| cell == "none")
    );
}

#[test]
fn a_run_in_markdown_begins_with_its_answers() {
    let mut run = fabricated::whole();
    run.targets[0].skipped = Some(SPECIALS.to_owned());
    let findings = run.findings();
    let markdown = report::markdown(&run.run(&findings), &[gate(Reached::Met)]);
    let (rows, text) = seen(&markdown);
    let first = findings.answers.iter().find_map(|answer| answer.headline.as_ref()).unwrap();
    assert!(
        text.starts_with(first.sentence.split_whitespace().collect::<Vec<_>>().join(" ").as_str())
    );
    assert!(text.contains("Not every trial is valid."), "{text}");
    assert!(rows.len() > SPECS_WITH_FIGURES, "{rows:?}");
    let figures: Vec<&String> = rows.iter().flatten().collect();
    for answer in &findings.answers {
        let Some(table) = answer.tables.first() else { continue };
        let column = table.columns.iter().find(|column| column.is_number).unwrap();
        for cell in &column.cells {
            assert!(figures.iter().any(|seen| seen.starts_with(&cell.text)), "{}", cell.text);
        }
    }
}

/// The answers show some of the cells.
const SPECS_WITH_FIGURES: usize = 4;

#[test]
fn a_benchmark_has_one_side_and_what_was_measured() {
    let of = |metric, value: f64| {
        let PairedRow { case, params, label, mark_b: mark, .. } = pair(1.0, Decision::NoDifference);
        let samples: Vec<f64> = (0..7).map(|round| value + f64::from(round)).collect();
        let figure = Figure::of(samples).unwrap();
        TrackedFigure { case, params, label, metric, figure, mark }
    };
    let figures =
        [of(Metric::Rate, 1_234_567.0), of(Metric::P99, 5e6), of(Metric::ServerBusy, 0.5)];
    for (better, name, unit, value) in [
        (Better::Higher, "bulk rate", "/s", 1_234_570.0),
        (Better::Lower, "bulk p99", "ns", 5_000_000.0),
    ] {
        let text = report::benchmark_json(&figures, better).unwrap();
        let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
        let [entry] = &entries[..] else { panic!("{text}") };
        assert_eq!((&entry["name"], &entry["unit"]), (&name.into(), &unit.into()));
        assert_eq!(entry["value"].as_f64(), Some(value));
        assert!(entry["range"].as_str().unwrap().starts_with("± "), "{entry}");
        let extra = entry["extra"].as_str().unwrap();
        assert!(extra.starts_with(SPECIALS) && extra.contains("\nclient-bound: "), "{extra}");
    }
}

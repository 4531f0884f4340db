//! `report.html` as text: nothing becomes markup, nothing is asked of anybody, nothing is missing.

use serde_json::json;
use support::insta;

use crate::fabricated::{self, Fabricated, HOSTILE, figures_mut};

fn page(run: &Fabricated) -> String {
    run.html()
}

/// What a reader sees of a page, a line for each piece of text, without the rows of its tables.
fn words(page: &str) -> String {
    let mut page = page.replace(concat!("toll ", env!("CARGO_PKG_VERSION")), "toll VERSION");
    for tag in ["head", "script", "style", "svg", "tbody"] {
        let (begin, end) =
            (["\n", " ", ">"].map(|next| format!("<{tag}{next}")), format!("</{tag}>"));
        while let Some(from) = begin.iter().filter_map(|tag| page.find(tag)).min() {
            let upto = from + page[from..].find(&end).unwrap() + end.len();
            page.replace_range(from..upto, "");
        }
    }
    let page = page.replace("&#x2f;", "/").replace("&#x27;", "'");
    let texts = page.split('<').filter_map(|part| Some(part.split_once('>')?.1.trim()));
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// How often `needle` is in `text`.
fn count(text: &str, needle: &str) -> usize {
    text.matches(needle).count()
}

#[test]
fn what_a_server_says_never_becomes_markup() {
    let mut run = fabricated::whole();
    run.analysis.question = HOSTILE.to_owned();
    run.analysis.study = HOSTILE.to_owned();
    for answer in &mut run.analysis.answers {
        answer.notes = vec![HOSTILE.to_owned()];
        answer.caveats = vec![HOSTILE.to_owned().into()];
        figures_mut(answer).for_each(|of| of.label = HOSTILE.to_owned());
    }
    for check in &mut run.analysis.cross_checks {
        check.sentence = HOSTILE.to_owned();
    }
    run.change_cells(|cell| {
        cell.measured.label = HOSTILE.to_owned();
        cell.measured.params.set("target.server", HOSTILE);
    });
    for line in &mut run.lines {
        line.line.target_error = Some(HOSTILE.to_owned());
    }
    let hostile = page(&run);
    let harmless = page(&fabricated::whole());
    for markup in ["<script", "</script", "<img", "<style", "onerror=alert(2)>\""] {
        assert_eq!(count(&hostile, markup), count(&harmless, markup), "{markup}");
    }
    assert!(hostile.contains("&lt;script&gt;alert(1)"));
    assert!(hostile.contains("{{ 7*7 }}"), "a text was taken for a template");
    for acting in ['\u{1b}', '\u{202e}'] {
        assert!(!hostile.contains(acting), "{acting:?} is in the page");
    }
    assert!(hostile.contains(r"\u{1b}[31mred\u{202e}"));
}

#[test]
fn the_page_loads_nothing() {
    let page = page(&fabricated::whole());
    let lower = page.to_lowercase();
    for request in
        ["src=\"", "url(\"", "url(http", "@import", "<link rel=\"stylesheet", "fetch(", "//cdn"]
    {
        assert!(!lower.contains(request), "{request}");
    }
    assert_eq!(count(&lower, "href=\"data:,\""), 1);
    let links = lower.split("href=\"").skip(1);
    let outward: Vec<&str> =
        links.filter(|link| !link.starts_with('#') && !link.starts_with("data:,")).collect();
    assert!(outward.is_empty(), "{outward:?}");
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_page_of_a_hundred_trials_can_be_sent_around() {
    let run = fabricated::whole();
    let page = page(&run);
    assert_eq!(run.lines.len(), 98);
    assert!(page.len() < 1_000_000 * run.lines.len() / 126, "{} bytes", page.len());
}

#[test]
fn all_is_there() {
    let run = fabricated::whole();
    let page = page(&run);
    // One for each answer, of all cells two of rates and one of latencies, the latency of each by a click, two of CPU
    // time, and one of each CPU for each of two servers' handshakes.
    let cells = run.analysis.cells.len();
    assert_eq!(count(&page, "<figure class=\"chart\""), 3 + 3 + cells + 2 + 2);
    assert_eq!(count(&page, "<details class=\"trial\""), run.lines.len());
    assert_eq!(count(&page, "<details class=\"cell\""), run.analysis.cells.len());
    assert_eq!(count(&page, "<article class=\"tile\""), 3);
    assert_eq!(count(&page, "<tbody class=\"invalid\">"), 1);
    // One distribution shows what all have.
    let mut findings = run.findings();
    findings.answers.iter_mut().for_each(|answer| answer.folded.truncate(1));
    insta::assert_snapshot!(words(&report::html(&run.run(&findings)).unwrap()));
}

#[test]
fn a_run_of_which_little_is_known_says_so() {
    let nothing = page(&fabricated::of_nothing());
    assert_eq!(count(&nothing, "<figure"), 0);

    let invalid = page(&fabricated::all_invalid());
    assert_eq!(count(&invalid, "<rect class=\"bar "), 0);

    let interrupted = page(&fabricated::interrupted());

    let skipped = page(&fabricated::without_nginx());
    // One line for both of its targets, and nothing empty.
    assert_eq!(count(&skipped, "<p class=\"absent\">nginx: "), 1);
    assert_eq!(count(&skipped, "<details class=\"cell\""), 7);
    support::assert_golden!(
        [
            ("no trial", words(&nothing)),
            ("no valid trial", words(&invalid)),
            ("interrupted", words(&interrupted)),
            ("without nginx", words(&skipped)),
        ]
        .map(|(run, words)| (run, words.lines().take(12).collect::<Vec<_>>().join("\n")))
    );
}

#[test]
fn a_trial_of_no_known_cell_is_shown_all_the_same() {
    let mut run = fabricated::whole();
    for line in &mut run.lines[..2] {
        line.place.cell = "of-another-study".to_owned();
    }
    let page = page(&run);
    assert!(page.contains("Not of a cell of this study <span class=\"count\">2 trials"));
    assert_eq!(count(&page, "<details class=\"trial\""), run.lines.len());
}

#[test]
fn no_figure_is_not_a_number() {
    for run in [fabricated::whole(), fabricated::of_nothing(), fabricated::all_invalid()] {
        let page = page(&run);
        for wrong in ["NaN", "inf%", "\"inf\"", ">inf", "undefined<"] {
            assert!(!page.contains(wrong), "{wrong}");
        }
    }
}

#[test]
fn what_another_client_found_has_its_place_only_where_it_was_asked() {
    let mut run = fabricated::whole();
    let title = "Checked with other clients";
    let checked = page(&run);
    assert_eq!((count(&checked, title), count(&checked, "wrk cannot check")), (1, 1));
    let words = run.terminal(100, report::Style::Plain);
    assert_eq!((count(&words, title), count(&words, "wrk cannot check")), (1, 1));
    run.analysis.cross_checks.clear();
    assert_eq!(count(&page(&run), title), 0);
    assert_eq!(count(&run.terminal(100, report::Style::Plain), title), 0);
}

#[test]
fn gates_of_answers_stand_below_them() {
    use answer::gate::{GateOutcome, Reached};
    let mut run = fabricated::whole();
    let gate = |result, sentence: &str| GateOutcome {
        gate: "ratio >= 2".to_owned(),
        result,
        sentence: format!("{sentence} {HOSTILE}"),
        cells: Vec::new(),
    };
    run.analysis.gates =
        vec![gate(Reached::Met, "The first is met."), gate(Reached::NotMet, "The other is not.")];
    let page = page(&run);
    for part in ["<p class=\"remark\">The first is met.", "<p class=\"caveat\">The other is not."] {
        assert_eq!(count(&page, part), 1, "{part}");
    }
    assert!(!page.contains(HOSTILE), "texts are no markup");
}

#[test]
fn machines_of_servers_are_on_the_page() {
    let mut run = fabricated::whole();
    assert_eq!(count(&page(&run), ", for servers</h3>"), 0);
    let machine = run.machine.clone().unwrap();
    run.hosts.insert("me@server".to_owned(), machine);
    let page = page(&run);
    assert_eq!(count(&page, "<h3>Machine me@server, for servers</h3>"), 1);
    assert_eq!(count(&page, "<dt>Processor</dt>"), 2);
    assert_eq!(count(&page, ", servers on me@server: "), 1);
}

#[test]
fn settings_of_the_processor_are_folded_below_the_machine() {
    let mut run = fabricated::whole();
    assert_eq!(count(&page(&run), "Settings of the processor"), 0, "of an earlier toll");
    let unknown = json!({"not_available_here": "no such file"});
    let machine = run.machine.as_mut().unwrap();
    machine.settings = serde_json::from_value(json!({
        "hyper_threading": "off",
        "idle_states": [
            {"state": 0, "name": "POLL", "latency_us": 0, "is_allowed": true, "entered": 7,
                "slept_us": 20},
            {"state": 1, "name": "C6", "latency_us": 133, "is_allowed": true, "entered": 12_345,
                "slept_us": 2_500_000}
        ],
        "frequency_driver": "intel_pstate", "frequency_range_khz": [800_000, 3_800_000],
        "hardware_p_states": true, "energy_preference": "performance", "turbo": false,
        "power_policy": 0, "prefetchers": unknown, "microcode": "0x2b000603",
        "mitigations": [{"vulnerability": "meltdown", "status": "Not affected"},
            {"vulnerability": "retbleed", "status": "Mitigation: IBRS"}]
    }))
    .unwrap();
    machine.accelerators = serde_json::from_value(json!({
        "quickassist": [{"slot": "0000:6b:00.0", "pci_id": "8086:4940", "family": "4xxx",
            "is_virtual_function": false, "driver": null}],
        "ifma": []
    }))
    .unwrap();
    let page = page(&run);
    assert_eq!(count(&page, "<summary>Settings of the processor</summary>"), 1);
    for words in [
        "<dt>Hyper-threading</dt><dd>off</dd>",
        "<dt>Deepest idle state</dt><dd>C6, 133 µs to leave</dd>",
        "<dt>Turbo</dt><dd>off</dd>",
        "<dt>Prefetchers</dt><dd class=\"missing\">not available here: no such file</dd>",
        "<dt>Mitigations</dt><dd>retbleed: Mitigation: IBRS</dd>",
        "POLL 7 times, 0.0 s in all; C6 12,345 times, 2.5 s in all",
        "<dt>QuickAssist</dt><dd>4xxx (8086:4940) at 0000:6b:00.0, driver none</dd>",
        "<dt>Counters of memory traffic</dt><dd class=\"missing\">not available here: it was not",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn memory_traffic_is_shown_with_the_trials_that_have_it() {
    let mut run = fabricated::whole();
    assert!(!page(&run).contains(">memory<"));
    let line = &mut run.lines.iter_mut().find(|trial| trial.line.valid).unwrap().line;
    line.memory =
        serde_json::from_value(json!({"source": "amd_df", "bytes": line.window_ns * 12})).unwrap();
    let page = page(&run);
    assert!(page.contains(">memory<span class=\"unit\">GB&#x2f;s</span>"));
    assert!(page.contains(">12.0</td>"));
}

/// The part of a page from one text to the next.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(begin).unwrap_or_else(|| panic!("{begin}"));
    rest.split_once(end).map_or(rest, |(part, _)| part)
}

#[test]
fn a_study_without_answers_begins_with_rates_and_latencies_and_what_was_not_timed_says_so() {
    let run = fabricated::without_answers();
    let page = page(&run);
    let first = between(&page, "<main>", "</h2>");
    assert!(first.ends_with("<h2>Rates and latencies"), "{first}");
    assert_eq!(count(first, "<article class=\"tile\">"), 1, "{first}");
    assert_eq!(count(&page, "no answer"), 0);
    let section = between(&page, "<h2>Rates and latencies</h2>", "</section>");
    let latency = between(section, ">Latency</b>", "</figure>");
    let cells = run.analysis.cells.iter().filter(|cell| cell.trials.done > 0).count();
    // A bar for p50 and one for p99, but for the cell that has neither.
    assert_eq!(count(latency, "class=\"bar "), 2 * (cells - 1), "{latency}");
    assert_eq!(count(latency, "not measured"), 1, "{latency}");
    assert_eq!(count(section, "<summary>How the latency of"), cells - 1);
    // Where an author put answers into words, they come first.
    let authored = fabricated::whole().html();
    let heading = "<h2>Rates and latencies</h2>";
    assert!(authored.find("id=\"question-1\"") < authored.find(heading));
    assert!(!between(&authored, "<main>", "</h2>").contains("Rates"));
}

#[test]
fn two_runs_beside_each_other_begin_with_what_changed() {
    let (before, mut after) = (fabricated::whole(), fabricated::later());
    let keys = |run: &mut Fabricated, key: &str| {
        let negotiated = &mut run.cell_mut("nginx, AES-128-GCM").measured.negotiated;
        negotiated.insert("certificate key".to_owned(), [key.to_owned()].into());
    };
    let mut earlier = before;
    keys(&mut earlier, "rsa:2048");
    keys(&mut after, HOSTILE);
    let comparison = answer::compare::Comparison::of(&earlier.side(), &after.side(), &[]);
    let page = report::comparison_html(&comparison, ["before", "after"]).unwrap();
    let first =
        between(&page, "<main>", "</section>\n<section class=\"question\" id=\"question-2\"");
    assert!(
        first.contains("<h2>What changed</h2>") && first.contains("certificate key"),
        "{first}"
    );
    assert!(first.contains("rsa:2048 in A, &lt;script"), "{first}");
    assert_eq!(count(first, "<figure"), 0, "{first}");
    let bars =
        comparison.metrics.iter().flat_map(|metric| &metric.cells).filter(|of| of.a.is_some());
    assert_eq!(count(&page, "class=\"bar baseline\""), bars.clone().count());
    assert_eq!(count(&page, "class=\"bar server\""), bars.count());
}

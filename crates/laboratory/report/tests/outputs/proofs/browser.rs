//! `report.html` as a browser shows it: headless Chromium, driven by chromedriver.
//!
//! With `TOLL_SCREENSHOTS=DIR` pictures of what was seen are left in that folder.

mod driver;

use std::sync::Arc;

use answer::findings::{Axis, Chart, ChartLine, Curve, Dot, Quality};
use driver::Browser;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fabricated::{self, Fabricated};

const WIDE: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (390, 844);

/// A report in a browser.
struct Shown {
    browser: Browser,
    url: String,
    _folder: TempDir,
}

impl Shown {
    fn new(run: &Fabricated) -> Self {
        Self::page(&run.html())
    }

    fn page(html: &str) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = folder.path().join("report.html");
        std::fs::write(&file, html).unwrap();
        let shown = Self {
            browser: Browser::start(),
            url: format!("file://{}", file.display()),
            _folder: folder,
        };
        shown.resize(WIDE);
        shown.media("screen", "light");
        // What the browser asked for its first, own page is not the report's.
        shown.browser.open("about:blank");
        shown.browser.log("performance");
        shown.browser.log("browser");
        shown.browser.open(&shown.url);
        shown
    }

    fn resize(&self, (width, height): (u32, u32)) {
        let parameters = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.browser.devtools("Emulation.setDeviceMetricsOverride", &parameters);
    }

    fn media(&self, media: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.browser
            .devtools("Emulation.setEmulatedMedia", &json!({"media": media, "features": features}));
    }

    /// What an expression over `page` (see `page.js`) gives.
    fn ask(&self, expression: &str) -> Value {
        let helpers = include_str!("browser/page.js");
        self.browser.script(&format!("{helpers}\nreturn {expression};"))
    }

    fn picture(&self, name: &str) {
        let Some(folder) = pictures() else { return };
        let picture = self
            .browser
            .devtools("Page.captureScreenshot", &json!({"captureBeyondViewport": true}));
        let bytes = base64(picture["data"].as_str().unwrap());
        std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Shown {
    /// Leaves what a printer would get as `name`.pdf.
    fn print(&self, name: &str) {
        let Some(folder) = pictures() else { return };
        let printed = self.browser.devtools("Page.printToPDF", &json!({"printBackground": false}));
        let bytes = base64(printed["data"].as_str().unwrap());
        std::fs::write(folder.join(format!("{name}.pdf")), bytes).unwrap();
    }
}

/// The folder for pictures, where one is asked for.
fn pictures() -> Option<std::path::PathBuf> {
    let folder = std::path::PathBuf::from(std::env::var_os("TOLL_SCREENSHOTS")?);
    std::fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

/// The bytes of a text in base64 (RFC 4648, section 4).
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|c| ALPHABET.iter().position(|digit| *digit == c));
    let digits: Vec<u32> = digits.map(|digit| digit as u32).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

fn numbers(column: &Value) -> Vec<f64> {
    let values = column.as_array().unwrap().iter();
    values.filter_map(|value| value.as_str().map(|text| text.parse().unwrap())).collect()
}

#[test]
fn charts_are_drawn_and_nothing_is_loaded() {
    let run = fabricated::whole();
    let shown = Shown::new(&run);
    let charts = shown.ask("page.charts()");
    let charts = charts.as_array().unwrap();
    let answers = 3;
    let rates = 3;
    assert_eq!(charts.len(), answers + rates + 2 + 2);
    for (rule, chart) in charts[..answers].iter().enumerate() {
        let of_rule = run.analysis.answers.iter().filter(|answer| answer.place() == rule);
        let bars: usize = of_rule.map(|answer| answer.shown().count()).sum();
        assert_eq!((&chart["bars"], &chart["rows"]), (&json!(bars), &json!(bars)), "{chart}");
    }
    // A bar for the server and one for the client, in the charts of CPU time.
    let splits: u64 = charts[answers + rates..answers + rates + 2]
        .iter()
        .map(|c| c["bars"].as_u64().unwrap())
        .sum();
    assert_eq!(splits, 2 * run.analysis.cells.len() as u64);
    // What used each of the two CPUs, for each of two keys.
    for chart in &charts[answers + rates + 2..] {
        assert_eq!(chart["rows"], 2 * 2, "{chart}");
        assert!(chart["bars"].as_u64() >= Some(2 * 2), "{chart}");
    }
    for chart in charts {
        assert_eq!((&chart["empty"], &chart["outside"]), (&json!(0), &json!(0)), "{chart}");
        assert_eq!(chart["described"], json!([true, true]));
    }
    shown.picture("light");

    let console = shown.browser.log("browser");
    assert!(console.is_empty(), "{console:?}");
    let mut requests = 0;
    for entry in shown.browser.log("performance") {
        let message: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
        if message["message"]["method"] == "Network.requestWillBeSent" {
            let url = message["message"]["params"]["request"]["url"].as_str().unwrap().to_owned();
            assert!(url == shown.url || url == "data:,", "the page asks for {url}");
            requests += 1;
        }
    }
    assert!(requests >= 1, "the log of requests is empty");
}

/// The report of a run whose last chart is a curve with everything that curves can have.
fn with_curves(run: &Fabricated) -> String {
    let line = |label: &str, factor: f64| ChartLine {
        label: label.to_owned(),
        is_baseline: factor == 1.0,
        is_joined: true,
        dots: (0..12).map(|power| dot(2f64.powi(power), factor)).collect(),
    };
    let lines = vec![line("rustls on ring", 1.0), line("AWS-LC", 0.98), line("OpenSSL", 0.97)];
    let curve = Curve {
        title: "Share of the CPU".to_owned(),
        subtitle: "of a core".to_owned(),
        x_axis: "size (logarithmic)".to_owned(),
        y_axis: "% of one core; lower is better".to_owned(),
        axis: Axis::Share(units::Quantity::Share.unit_for([])),
        lines,
        bound: None,
        limits: Vec::new(),
        notes: vec!["How to read it.".to_owned()],
        marks: Vec::new(),
    };
    let mut findings = run.findings();
    findings.charts.push(Chart::Curve(curve));
    report::html(&run.run(&findings)).unwrap()
}

fn dot(x: f64, factor: f64) -> Dot {
    Dot {
        x,
        x_label: format!("{x} KiB"),
        y: 0.5 * factor,
        y_label: String::new(),
        range: Some((0.4, 0.6)),
        title: "a dot".to_owned(),
        published: vec![("published: a Xeon had 55%".to_owned(), 0.55)],
        ..Dot::default()
    }
}

#[test]
fn texts_of_charts_can_be_read_at_both_widths_and_axes_of_shares_end_at_100() {
    let shown = Shown::page(&with_curves(&fabricated::whole()));
    for (size, name) in [(WIDE, "wide"), (PHONE, "phone")] {
        shown.resize(size);
        assert_eq!(shown.ask("innerWidth"), size.0);
        assert!(shown.ask("page.texts().length").as_u64() > Some(100));
        assert_eq!(shown.ask("page.overlapping()"), json!([]), "{name}");
        assert_eq!(shown.ask("page.cut()"), json!([]), "{name}");
        assert!(shown.ask("page.smallest()").as_f64() >= Some(11.0), "{name}");
        assert!(shown.ask("page.overflow()").as_f64().unwrap() <= 0.0, "{name}");
        // What TLS takes, two of what used each CPU, and the curve.
        assert_eq!(shown.ask("page.ends('%')"), json!(["100", "100", "100", "100"]), "{name}");
        shown.picture(name);
    }
}

#[test]
fn profiles_can_be_read_at_both_widths_and_their_pictures_are_shown() {
    let mut run = fabricated::samples::sampled(fabricated::whole());
    for (_, stacks) in &mut run.stacks {
        // A picture of control characters is none.
        *stacks = stacks.replace(fabricated::HOSTILE, "main");
    }
    let shown = Shown::new(&run);
    for (size, name) in [(WIDE, "profiles-wide"), (PHONE, "profiles-phone")] {
        shown.resize(size);
        assert_eq!(shown.ask("page.overlapping()"), json!([]), "{name}");
        assert_eq!(shown.ask("page.cut()"), json!([]), "{name}");
        assert!(shown.ask("page.smallest()").as_f64() >= Some(11.0), "{name}");
        assert!(shown.ask("page.overflow()").as_f64().unwrap() <= 0.0, "{name}");
        let shares = shown.ask("page.shares()");
        // Those of short bars have no room.
        assert!(shares.as_array().unwrap().len() >= run.analysis.cells.len(), "{name}");
        for share in shares.as_array().unwrap() {
            assert!(share[1].as_f64() >= Some(0.0) && share[2].as_f64() >= Some(4.5), "{share}");
        }
        shown.picture(name);
    }
    shown.browser.script(
        "document.querySelectorAll('#flames, #flames details').forEach((d) => d.open = true); \
         document.images[0].scrollIntoView()",
    );
    shown
        .browser
        .wait_for("a picture to be shown", "return document.images[0].naturalWidth > 1000");
    assert!(shown.ask("page.overflow()").as_f64().unwrap() <= 0.0);
    shown.picture("flames");
    let console = shown.browser.log("browser");
    assert!(console.is_empty(), "{console:?}");
}

#[test]
fn the_first_screen_has_every_answer_and_how_well_it_holds() {
    let shown = Shown::new(&fabricated::whole());
    assert_eq!(shown.ask("document.querySelectorAll('.tile').length"), 3);
    assert!(shown.ask("page.bottom('.tile, .quality')").as_f64() <= Some(f64::from(WIDE.1)));
    assert_eq!(shown.ask("page.skipped()"), json!([]));
    // The state is a word, and not a colour alone.
    assert_eq!(
        shown.ask("document.querySelector('.quality.good').lastChild.textContent.trim()"),
        "Good: intervals within 4%."
    );
    shown.browser.click(".tile a");
    let heading = "document.querySelector('#question-1').getBoundingClientRect().top";
    assert!(shown.ask(heading).as_f64().unwrap().abs() < 2.0, "a tile leads to its question");
    shown.resize(PHONE);
    shown.browser.script("scrollTo(0, 0)");
    assert!(shown.ask("page.bottom('.tile:first-child')").as_f64() <= Some(f64::from(PHONE.1)));
}

#[test]
fn a_phone_shows_each_row_of_a_table_as_a_card() {
    let shown = Shown::new(&fabricated::whole());
    shown.resize(PHONE);
    shown.browser.script("document.querySelectorAll('details').forEach((d) => d.open = true)");
    let outside = "[...document.querySelectorAll('.cards td')].filter((cell) => \
                   cell.getBoundingClientRect().right > innerWidth).length";
    assert_eq!(shown.ask(outside), 0);
    let name =
        "getComputedStyle(document.querySelector('.chapter .cards td.number'), '::before').content";
    assert!(shown.ask(name).as_str().unwrap().contains("trials"), "{}", shown.ask(name));
}

#[test]
fn the_table_is_sorted_by_mouse_and_by_keyboard() {
    let shown = Shown::new(&fabricated::without_nginx());
    let open = "document.querySelectorAll('details.chapter').forEach((d) => d.open = true)";
    shown.browser.script(open);
    let headers = shown.ask("page.headers()");
    let names: Vec<&str> =
        headers.as_array().unwrap().iter().map(|header| header[0].as_str().unwrap()).collect();
    let goodput = names.iter().position(|name| *name == "goodput").unwrap();
    let button = format!(".chapter table.sortable th:nth-child({}) button", goodput + 1);
    let column = || shown.ask(&format!("page.column({goodput})"));
    let order = || shown.ask(&format!("page.headers()[{goodput}][1]"));
    assert_eq!(order(), Value::Null);

    shown.browser.click(&button);
    let ascending = numbers(&column());
    assert_eq!(ascending.len(), 5);
    assert!(ascending.is_sorted() && order() == "ascending", "{ascending:?}");
    // Numbers are compared as such: as texts, 23 would come before 7.
    assert!(ascending[4] > 20e9 && ascending[0] < 3e9, "{ascending:?}");

    shown.browser.type_into(&button, "\u{e007}");
    let descending = numbers(&column());
    assert!(descending.iter().rev().is_sorted() && order() == "descending", "{descending:?}");
    // What has no value is last, whichever way.
    assert_eq!(column()[13], Value::Null);
    shown.browser.type_into(&button, " ");
    assert_eq!(order(), "ascending");

    shown.browser.click(".chapter table.sortable th:nth-child(2) button");
    let labels = shown.ask("page.column(1)");
    let labels: Vec<&str> =
        labels.as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
    assert_eq!(labels[0], "embedded, AES-128-CBC-SHA");
    assert_eq!(shown.ask("page.headers().filter((header) => header[1]).length"), 1);
}

#[test]
fn everything_that_folds_can_be_opened() {
    let run = fabricated::whole();
    let shown = Shown::new(&run);
    let details = "document.querySelectorAll('details.more, details.chapter').length";
    let details = shown.ask(details).as_u64().unwrap() as usize;
    assert!(details >= 3 + 5, "{details}");
    let folded = run.lines.len() + run.analysis.cells.len() + details;
    assert_eq!(shown.ask("page.closed()"), folded);
    shown.browser.click("#trials > summary");
    shown.browser.click("details.cell:nth-of-type(2) > summary");
    shown.browser.click("details.cell:nth-of-type(2) details.trial > summary");
    assert_eq!(shown.ask("page.closed()"), folded - 3);
    let opened =
        "document.querySelector('details.cell:nth-of-type(2) .receipt').getBoundingClientRect()";
    assert!(shown.ask(&format!("{opened}.height")).as_f64().unwrap() > 0.0);
    shown
        .browser
        .script("document.querySelectorAll('tbody.invalid details').forEach((d) => d.open = true)");
    shown.browser.script("document.querySelector('#trials').scrollIntoView()");
    shown.picture("opened");

    shown.media("print", "light");
    shown.browser.wait_for(
        "print to open all but the receipts of valid trials",
        "return !document.querySelector('details:not(.trial):not([open]), .invalid details:not([open])')",
    );
    let valid = run.analysis.trials.valid;
    let shut = "document.querySelectorAll('details.trial:not([open])').length";
    // The one that was clicked on above stays open.
    assert_eq!(shown.ask(shut), valid - 1);
    shown.resize((794, 1123));
    assert!(shown.ask("page.overflow()").as_f64().unwrap() <= 0.0);
    assert_eq!(shown.ask("page.overlapping()"), json!([]));
    assert_eq!(shown.ask("page.cut()"), json!([]));
    shown.picture("print");
    shown.print("print");
    shown.media("screen", "light");
    shown.browser.wait_for(
        "what print opened to be closed",
        "return document.querySelectorAll('details[open]').length < 5",
    );
    // A link to the trials of a cell opens them, and what they are folded into.
    shown.resize(WIDE);
    shown.browser.click("#trials > summary");
    shown.browser.script(
        "document.querySelector('.chapter table.sortable a').closest('details').open = true",
    );
    shown.browser.click(".chapter table.sortable a[href='#trials-objects-0001']");
    shown.browser.wait_for(
        "the cell to open",
        "return document.querySelector('#trials-objects-0001').checkVisibility() \
         && document.querySelector('#trials-objects-0001').open",
    );
}

#[test]
fn light_and_dark_can_both_be_read() {
    let mut run = fabricated::without_nginx();
    let noisy = "Noisy: 78 of 98 trials shared their CPUs with other work.".to_owned();
    run.analysis.quality = Some(Quality { is_good: false, sentence: noisy });
    let shown = Shown::page(&with_curves(&run));
    let texts = "page.contrasts(['.sentence', '.figure b', '.tile .unit', '.quality', '.absent', '.lead', \
                 '.caveat', '.advice', 'a', '.row .label', '.row .mark', '.value .server', \
                 '.value .client', '.value .baseline', '.ticks span', '.axis-title', '.reference', \
                 '.plot .name', '.numbers text', '.bad', 'th .unit', '.facts dt', 'footer'])";
    let assert_readable = || {
        for pair in shown.ask(texts).as_array().unwrap() {
            // WCAG 2.2, success criterion 1.4.3.
            assert!(pair[1].as_f64().unwrap() >= 4.5, "{pair}");
        }
    };
    let light = shown.ask("page.background()");
    assert_readable();
    shown.media("screen", "dark");
    assert_ne!(shown.ask("page.background()"), light);
    assert_readable();
    shown.picture("dark");
    // Paper is white, whatever the screen is.
    shown.media("print", "dark");
    assert_eq!(shown.ask("page.background()"), "rgb(255, 255, 255)");
    assert_readable();
}

#[test]
fn a_phone_shows_all_without_moving_sideways() {
    let mut run = fabricated::without_nginx();
    run.analysis.answers[0].notes = vec![fabricated::HOSTILE.replace(' ', "")];
    Arc::make_mut(&mut run.analysis.cells[0]).measured.label = "a".repeat(200);
    let shown = Shown::new(&run);
    shown.resize(PHONE);
    assert_eq!(shown.ask("innerWidth"), PHONE.0);
    assert!(shown.ask("page.overflow()").as_f64().unwrap() <= 0.0);
    shown.picture("phone");
    shown.browser.script("document.querySelectorAll('details').forEach((d) => d.open = true)");
    assert!(shown.ask("page.overflow()").as_f64().unwrap() <= 0.0);
    assert!(shown.browser.log("browser").is_empty());
    // The hostile texts were shown, and did nothing.
    let images = shown.ask("document.images.length + document.scripts.length");
    assert_eq!(images, 1);
}

/// How far the charts of the first section reach, as a share of the page's width.
const REACH: &str = "(() => { const main = document.querySelector('main').getBoundingClientRect(); \
                     const ends = [...document.querySelectorAll('#question-1 figure')] \
                     .map((figure) => figure.getBoundingClientRect().right); \
                     return (Math.max(...ends) - main.left) / main.width; })()";

/// How far the legend ends above the first chart, in pixels.
const LEGEND: &str = "document.querySelector('figure.chart').getBoundingClientRect().top - \
                      document.querySelector('p.key').getBoundingClientRect().bottom";

#[test]
fn a_study_without_answers_shows_its_rates_first_at_both_widths() {
    let run = fabricated::without_answers();
    let shown = Shown::new(&run);
    for (size, name) in [(WIDE, "own-wide"), (PHONE, "own-phone")] {
        shown.resize(size);
        assert_eq!(
            shown.ask("document.querySelector('main h2').textContent"),
            "Rates and latencies"
        );
        assert!(shown.ask("page.bottom('.tile')").as_f64() <= Some(f64::from(size.1)), "{name}");
        let legend = shown.ask(LEGEND).as_f64().unwrap();
        assert!((0.0..60.0).contains(&legend), "{name}: {legend}");
        assert!(shown.ask(REACH).as_f64() > Some(0.95), "{name}: {}", shown.ask(REACH));
        // Two charts beside each other, and below each other on a phone.
        let tops = "[...document.querySelectorAll('#question-1 > .charts figure')].slice(0, 2) \
                    .map((figure) => figure.getBoundingClientRect().top)";
        let tops = shown.ask(tops);
        assert_eq!(tops[0] == tops[1], size == WIDE, "{tops}");
        shown.picture(name);
        let open = "document.querySelectorAll('#question-1 details').forEach((d) => d.open = true)";
        shown.browser.script(open);
        assert_eq!(shown.ask("page.overlapping()"), json!([]), "{name}");
        assert_eq!(shown.ask("page.cut()"), json!([]), "{name}");
        assert!(shown.ask("page.overflow()").as_f64().unwrap() <= 0.0, "{name}");
        shown.picture(&format!("{name}-opened"));
        shown.browser.script(&open.replace("true", "false"));
    }
    // The distribution of one latency by a click.
    let distribution = "document.querySelector('#question-1 details figure')";
    assert_eq!(shown.ask(&format!("{distribution}.checkVisibility()")), false);
    shown.browser.click("#question-1 details > summary");
    assert_eq!(shown.ask(&format!("{distribution}.checkVisibility()")), true);
    let labels = shown.ask(&format!("{distribution}.querySelectorAll('.label').length"));
    assert!(labels.as_u64() >= Some(5), "{labels}");
}

#[test]
fn two_runs_are_beside_each_other_at_both_widths() {
    let (before, after) = (fabricated::whole(), fabricated::later());
    let comparison = answer::compare::Comparison::of(&before.side(), &after.side(), &[]);
    let page = report::comparison_html(&comparison, ["results/monday", "results/tuesday"]).unwrap();
    let shown = Shown::page(&page);
    for (size, name) in [(WIDE, "compare-wide"), (PHONE, "compare-phone")] {
        shown.resize(size);
        assert_eq!(shown.ask("document.querySelector('main h2').textContent"), "What changed");
        assert_eq!(shown.ask("page.overlapping()"), json!([]), "{name}");
        assert_eq!(shown.ask("page.cut()"), json!([]), "{name}");
        assert!(shown.ask("page.overflow()").as_f64().unwrap() <= 0.0, "{name}");
        // The bar of A, above that of B.
        let rows = "[...document.querySelectorAll('figure .row')].slice(0, 2) \
                    .map((row) => row.getBoundingClientRect().top)";
        let rows = shown.ask(rows);
        assert!(rows[0].as_f64() < rows[1].as_f64(), "{rows}");
        shown.picture(name);
    }
    shown.media("screen", "dark");
    shown.resize(WIDE);
    shown.picture("compare-dark");
    assert!(shown.browser.log("browser").is_empty());
}

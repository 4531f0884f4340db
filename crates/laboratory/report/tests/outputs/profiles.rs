//! Profiles on the page: stacks by class, a tile, flame graphs.

use crate::fabricated::samples::{SAMPLES, sampled};
use crate::fabricated::{self, HOSTILE};

/// How often `needle` is in `text`.
fn count(text: &str, needle: &str) -> usize {
    text.matches(needle).count()
}

#[test]
fn each_case_has_a_chart_with_a_stack_for_each_cell() {
    let (plain, page) = (fabricated::whole().html(), sampled(fabricated::whole()).html());
    assert_eq!(
        count(&page, "<figure class=\"chart\""),
        count(&plain, "<figure class=\"chart\"") + 2
    );
    // A tile and a question of their own.
    assert_eq!(count(&page, "<article class=\"tile\""), 4);
    for words in [
        "<b>38%</b></a> <span class=\"unit\">of the server&#x27;s CPU time: symmetric crypto",
        "ns of the server&#x27;s CPU time per byte; lower is better",
        "ms of the server&#x27;s CPU time per handshake; lower is better",
        "besides: ksoftirqd",
    ] {
        assert_eq!(count(&page, words).min(1), 1, "{words}");
    }
    // A legend for both charts, and in each bar the shares that have room.
    assert_eq!(count(&page, "<i class=\"swatch tcp-ip\"></i>TCP&#x2f;IP"), 2);
    let cells = fabricated::whole().analysis.cells.len();
    assert_eq!(count(&page, "<rect class=\"bar symmetric-crypto\""), cells);
    for (share, least) in [("38%", cells / 2), ("21%", cells / 2), ("12%", 1)] {
        assert!(count(&page, &format!("y=\"15\">{share}</text>")) >= least, "{share}");
    }
    assert_eq!(count(&page, "y=\"15\">1%</text>"), 0);
}

#[test]
fn a_flame_graph_is_a_picture_with_a_link_to_the_whole() {
    let mut run = sampled(fabricated::whole());
    let page = run.html();
    let cells = run.analysis.cells.len();
    assert_eq!(count(&page, "<img src=\"data:image&#x2f;svg+xml,"), cells);
    let link = "href=\"profile/objects-0001.svg\"";
    assert_eq!(count(&page, link), 1);
    assert!(page.contains("10,000 samples"));
    // What functions are called is neither markup nor a script.
    for markup in ["<script", "onerror=alert(2)>\""] {
        assert_eq!(count(&page, markup), count(&fabricated::whole().html(), markup), "{markup}");
    }
    assert!(!page.contains(HOSTILE) && page.contains("default-src 'none'"));
    run.stacks.clear();
    assert!(!run.html().contains("Flame graphs"));
}

#[test]
fn stacks_of_another_trial_are_refused() {
    let mut run = sampled(fabricated::whole());
    run.stacks[0].1 = "nginx;main 7\n".to_owned();
    let page = run.html();
    assert!(page.contains(
        "handshakes-0000.folded has 7 samples, and the journal 10,000 samples of this cell"
    ));
    assert_eq!(count(&page, "<img "), run.analysis.cells.len() - 1);
    // Of a trial that is not in the journal.
    let cell = run.analysis.cells[1].name.clone();
    run.lines.retain(|trial| trial.place.cell != cell || trial.line.profile.is_none());
    let page = run.html();
    assert!(page.contains(
        "handshakes-0001.folded has 10,000 samples, and the journal no samples of this cell"
    ));
    assert_eq!(count(&page, "<img "), run.analysis.cells.len() - 2);
}

#[test]
fn a_page_has_room_for_so_many_pictures() {
    let mut run = sampled(fabricated::whole());
    // Each frame is wide enough to be drawn.
    let deep: Vec<String> = (0..4_000).map(|depth| format!("function_{depth}")).collect();
    for (_, stacks) in &mut run.stacks {
        *stacks = format!("{} {SAMPLES}\n", deep.join(";"));
    }
    let page = run.html();
    let shown = count(&page, "<img ");
    assert!((1..run.stacks.len()).contains(&shown), "{shown}");
    assert_eq!(count(&page, "This page would be too long"), run.stacks.len() - shown);
    assert_eq!(count(&page, "href=\"profile/"), run.stacks.len());
    assert!(page.len() < 5_000_000, "{}", page.len());
}

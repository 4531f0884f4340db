//! What is known of a trial beside its figures, in words, each after its label.

use std::fmt::Write;

use load::{Count, LONGEST_PAUSE, WalkCounts};
use observe::Fact;
use trial::{
    Arrivals, BLOCKS, CountedInstructions, LEAST_OPERATIONS, LittlesLaw, Receipt, TrialRecord,
};
use units::{BitsPerSecond, Nanos, PerSecond, Quantity, percent, thousands};

use super::receipt;
use crate::findings::Item;

/// What stands before the figures.
pub(super) fn before(line: &TrialRecord) -> Vec<Item> {
    let process = line.server_process.as_ref().and_then(Fact::known);
    let server = process.map(ToString::to_string);
    let window = line.verdict.is_some().then(|| window(line));
    let counted = line.counted.iter().flat_map(instructions);
    counted.chain(known([("server", server), ("window", window)])).collect()
}

/// What some loads have, and the receipt.
pub(super) fn after(line: &TrialRecord) -> impl Iterator<Item = Item> {
    known([
        ("walks", line.walks.map(walks)),
        ("arrivals", line.operations.arrivals.map(|arrivals| arrivals_in_words(line, arrivals))),
        ("pace", pace(line)),
        ("memory", memory(line)),
        ("receipt", Some(receipt::in_one_line(line))),
    ])
}

/// All that was asked for and got.
pub(super) fn whole(line: &TrialRecord) -> Vec<Item> {
    let law = line.littles_law.as_ref();
    let law = law.map(|law| littles_law(law, line.nouns().operation));
    let (asked, got) = (receipt::asked(line), receipt::got(line));
    known([("Little's law", law), ("asked", Some(asked)), ("got", Some(got))]).collect()
}

fn known<const N: usize>(facts: [(&'static str, Option<String>); N]) -> impl Iterator<Item = Item> {
    facts.into_iter().filter_map(|(label, text)| Some(Item::fact(label, text?)))
}

/// How the instructions of the server were counted, and of what.
fn instructions(counted: &CountedInstructions) -> [Item; 3] {
    let blocks = format!(
        "{} operations in {BLOCKS} blocks that are {} apart; nothing of the kernel",
        thousands(counted.operations),
        percent(counted.spread)
    );
    let code = match &counted.cipher_code {
        Fact::Known(names) if names.is_empty() => {
            "no function of a cipher ran 1% of them".to_owned()
        }
        Fact::Known(names) => names.join(", "),
        Fact::Unknown { not_available_here } => format!("not known: {not_available_here}"),
    };
    [("counted", blocks), ("counted by", counted.source.clone()), ("cipher", code)]
        .map(|(label, text)| Item::fact(label, text))
}

/// How late responses were noticed, where the client sleeps.
pub(super) fn coalescing(line: &TrialRecord) -> Option<String> {
    // What a quota added to a pause is no coalescing; a warning has that.
    let is_stopped =
        line.evidence().is_some_and(|evidence| evidence.quota_in_latencies().is_some());
    let late = Nanos(line.latency_ns.coalescing_max.filter(|_| !is_stopped)?);
    let beyond = match late.0 > LONGEST_PAUSE {
        true => format!(": pauses are at most {}, and then its CPU was busy", Nanos(LONGEST_PAUSE)),
        false => String::new(),
    };
    Some(format!("answers were seen up to {late} late{beyond}; --wakeups each: at once"))
}

/// How the walks of a session ended.
fn walks(WalkCounts { completed, failed }: WalkCounts) -> String {
    format!("{} walks completed, {} failed", thousands(completed), thousands(failed))
}

/// How long it was measured, and how many operations that were.
fn window(line: &TrialRecord) -> String {
    let operations = &line.operations;
    let ended = operations.completed + line.failed();
    let lacking = match line.receipt.asked.count {
        Some(Count::Operations(count)) => Some(u64::from(count.get())),
        _ => None,
    };
    let lacking = lacking.filter(|count| ended < *count && !line.interrupted);
    format!(
        "{}{}{}: {} {}s completed{}{}",
        Nanos(line.window_ns),
        line.window_awaited_ns.map_or_else(String::new, |awaited| {
            format!(", begun {} late since connections were not up", Nanos(awaited))
        }),
        if line.interrupted { " until interrupted" } else { "" },
        thousands(operations.completed),
        line.nouns().operation,
        // Other programs do not report what was in progress.
        match line.receipt.obtained.client {
            None => format!(", {} in progress at its end", thousands(operations.in_flight)),
            Some(_) => String::new(),
        },
        lacking.map_or_else(String::new, |count| {
            format!("; the time was over before {} had ended (--duration)", thousands(count))
        })
    )
}

/// What moved between processors and memory, of the whole machine.
fn memory(line: &TrialRecord) -> Option<String> {
    let text = |quantity: Quantity, value: f64| quantity.unit_for([value]).text(value);
    let rate = text(Quantity::BytesPerSecond, line.memory_bandwidth()?);
    let per_byte = line
        .memory_per_byte()
        .map(|per_byte| format!(", {} per byte of bodies", text(Quantity::Bytes, per_byte)));
    let source = line.memory?.source;
    Some(format!("{rate} between processors and memory{} ({source})", per_byte.unwrap_or_default()))
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

/// What should have started, whatever the answers were, and what became of it (see `load::Outcome::balance`).
fn arrivals_in_words(line: &TrialRecord, arrivals: Arrivals) -> String {
    let Arrivals { intended, carried, waiting, deadlines, deadline_misses } = arrivals;
    let carried = carried.filter(|carried| *carried > 0);
    let carried =
        carried.map(|carried| format!(" and {} were left from before", thousands(carried)));
    let failed = Some(line.failed()).filter(|failed| *failed > 0);
    let failed = failed.map(|failed| format!("{} failed, ", thousands(failed)));
    let mut text = format!(
        "{} {}s were due in the window{}: {} completed, {}{} in progress and {} not begun at its end",
        thousands(intended),
        line.nouns().operation,
        carried.unwrap_or_default(),
        thousands(line.operations.completed),
        failed.unwrap_or_default(),
        thousands(line.operations.in_flight),
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
fn pace(line: &TrialRecord) -> Option<String> {
    let Receipt { asked, obtained, .. } = &line.receipt;
    let rate = |bps: u64| BitsPerSecond(bps as f64);
    Some(format!(
        "{} asked, each connection every {}; {} obtained",
        rate(asked.pace_bps?),
        Nanos(asked.period_ns?),
        rate(obtained.pace_bps?)
    ))
}

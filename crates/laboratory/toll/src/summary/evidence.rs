//! What was counted beside the figures, in words.

use std::fmt::Write;

use load::Count;
use trial::{Arrivals, LEAST_OPERATIONS, LittlesLaw, Receipt, TrialRecord};
use units::{BitsPerSecond, Nanos, PerSecond, Quantity, thousands};

/// What is there of some loads only: arrivals and pace, each with its label.
pub(super) fn rows(line: &TrialRecord) -> Vec<(&'static str, String)> {
    let arrivals = line.operations.arrivals.map(|arrivals| arrivals_in_words(line, arrivals));
    let rows = [("arrivals", arrivals), ("pace", pace(line)), ("memory", memory(line))];
    rows.into_iter().filter_map(|(label, words)| Some((label, words?))).collect()
}

/// How long it was measured, and how many operations that were.
pub(super) fn window(line: &TrialRecord) -> String {
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
pub(super) fn littles_law(law: &LittlesLaw, noun: &str) -> String {
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

/// By kind, with the first of each in words.
pub(super) fn errors(line: &TrialRecord) -> Vec<String> {
    let operations = &line.operations;
    let in_words = |(kind, count): (&String, &u64)| {
        let first = operations.first_errors.get(kind).map_or("", String::as_str);
        format!("{} {kind}, the first: {first}", thousands(*count))
    };
    operations.errors.iter().map(in_words).collect()
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

#[cfg(test)]
mod tests {
    use crate::summary::testing::{line, verbose};

    #[test]
    fn a_load_that_lacks_operations_says_so() {
        let of = |count: u32| verbose(line(|v| v["receipt"]["asked"]["count"] = count.into()));
        assert!(of(1_000).contains("(--duration)"), "{}", of(1_000));
        assert!(!of(600).contains("(--duration)"), "{}", of(600));
    }

    #[test]
    fn memory_traffic_has_one_row_where_it_was_counted() {
        let memory = serde_json::json!({
            "source": "uncore_imc", "read_bytes": 1_500_000_000_u64,
            "written_bytes": 1_000_000_000_u64, "bytes": 2_500_000_000_u64
        });
        let text = verbose(line(|v| {
            v["window_ns"] = 1_000_000_000.into();
            v["bytes"]["body"] = 1_000_000_000.into();
            v["memory"] = memory;
        }));
        let words = "memory        2.50 GB/s between processors and memory, 2.50 B per byte of";
        assert!(text.contains(words) && text.contains("(uncore_imc)"), "{text}");
        assert!(!verbose(line(|_| {})).contains("\nmemory "));
    }

    #[test]
    fn littles_law_has_one_row() {
        let law = |judged: bool| {
            let law = serde_json::json!({
                "users": 64, "rate_per_s": 1000.0, "response_ns": 53_000_000,
                "think_ns": 10_000_000, "users_by_law": 63.0, "deviation": -0.015_625,
                "judged": judged
            });
            verbose(line(|v| v["littles_law"] = law))
        };
        let row =
            "\nLittle's law  1,000/s x (53ms response + 10ms think) = 63.0 of 64 users, -1.6%";
        assert!(law(true).contains(&format!("{row}\n")), "{}", law(true));
        let expected = format!("{row}; not judged: fewer than 100 operations per user\n");
        assert!(law(false).contains(&expected), "{}", law(false));
        assert!(!verbose(line(|_| {})).contains("Little"));
    }
}

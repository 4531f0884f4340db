//! Whether the figure of an answer is of full handshakes, and not of resumed sessions, of requests, or of
//! how many connections descriptors, ports and queues allow.

use load::Operation;
use trial::{ACCEPT_QUEUE_LOSS, Evidence, TrialRecord};
use units::{counted, percent, thousands};

use super::row_figure::RowFigure;

/// What the trials of these cells prove, in a sentence; `None` where not all are about connections
/// over TLS, and where toll has seen none of their handshakes.
pub(super) fn purity<'a>(entries: impl Iterator<Item = &'a RowFigure> + Clone) -> Option<String> {
    if entries.clone().any(|entry| entry.row.cell().is_none()) {
        return None;
    }
    let mut operations = entries.clone().map(|entry| entry.row.operation());
    let are_connections = operations.clone().all(|operation| {
        matches!(operation, Operation::Handshakes | Operation::OneRequestPerConnection)
    });
    let requests = match operations.next()? {
        first if operations.any(|other| other != first) => "at most one request on each",
        Operation::Handshakes => "no request on any",
        _ => "one request on each",
    };
    let measured = entries.filter(|entry| entry.figure.is_some());
    let lines = measured.flat_map(|entry| entry.row.valid());
    let lines: Vec<&TrialRecord> =
        lines.filter(|line| line.receipt.obtained.full.is_some()).collect();
    if !are_connections || lines.is_empty() {
        return None;
    }
    let parts = [
        full(&lines),
        on_each(&lines, requests),
        connections(&lines),
        descriptors(&lines),
        ports(&lines),
        accept_queue(&lines),
    ];
    let parts: Vec<PurityPart> = parts.into_iter().flatten().collect();
    let is_pure = parts.iter().all(|part| part.meaning.is_none());
    let begin = if is_pure { "These were handshakes" } else { "These were not handshakes alone" };
    let parts: Vec<String> = parts.into_iter().map(PurityPart::in_words).collect();
    Some(format!("{begin}: {}.", parts.join(", ")))
}

/// One thing that was looked at.
struct PurityPart {
    seen: String,
    /// Where it is not as it should be: what that means for the figure.
    meaning: Option<&'static str>,
}

impl PurityPart {
    fn fine(seen: impl Into<String>) -> Option<Self> {
        Some(Self { seen: seen.into(), meaning: None })
    }

    fn off(seen: String, meaning: &'static str) -> Option<Self> {
        Some(Self { seen, meaning: Some(meaning) })
    }

    fn in_words(self) -> String {
        match self.meaning {
            Some(meaning) => format!("{} ({meaning})", self.seen),
            None => self.seen,
        }
    }
}

fn sum(lines: &[&TrialRecord], of: impl Fn(&TrialRecord) -> u64) -> u64 {
    lines.iter().map(|line| of(line)).sum()
}

/// The largest of a share that some of the trials know.
fn most(lines: &[&TrialRecord], of: fn(&Evidence) -> Option<f64>) -> Option<f64> {
    lines.iter().filter_map(|line| of(line.evidence()?)).max_by(f64::total_cmp)
}

fn full(lines: &[&TrialRecord]) -> Option<PurityPart> {
    let full = sum(lines, |line| line.receipt.obtained.full.unwrap_or_default());
    let resumed = sum(lines, |line| line.receipt.obtained.resumed.unwrap_or_default());
    let share = |count: u64| count as f64 / (full + resumed) as f64;
    let seen = format!("{:.2} full handshakes per connection", share(full));
    let is_asked = |line: &&TrialRecord| line.receipt.asked.resumption_percent > Some(0);
    match resumed {
        0 => PurityPart::fine(seen),
        _ if lines.iter().all(is_asked) => PurityPart::fine(format!(
            "{:.2} full and {:.2} resumed handshakes per connection, as asked",
            share(full),
            share(resumed)
        )),
        _ => PurityPart::off(
            format!("{seen} and {} resumed", thousands(resumed)),
            "a resumed handshake costs the server less, so the figure is not one of full \
             handshakes",
        ),
    }
}

fn on_each(lines: &[&TrialRecord], requests: &str) -> Option<PurityPart> {
    match sum(lines, |line| line.receipt.obtained.kept_open.unwrap_or_default()) {
        0 => PurityPart::fine(requests),
        kept => PurityPart::off(
            format!("{requests} and {} kept open by the server after it", thousands(kept)),
            "the client waited for their close, so the figure is too low",
        ),
    }
}

fn connections(lines: &[&TrialRecord]) -> Option<PurityPart> {
    let open = lines.iter().filter_map(|line| line.receipt.obtained.connections).max()?;
    PurityPart::fine(format!("at most {} open", counted(open as u64, "connection")))
}

fn descriptors(lines: &[&TrialRecord]) -> Option<PurityPart> {
    const MEANING: &str = "the figure is what descriptors allow, not what handshakes cost";
    let lacking =
        sum(lines, |line| line.evidence().map_or(0, |evidence| evidence.descriptors_lacking));
    if lacking > 0 {
        let seen = format!("no descriptor of the client's for {} connections", thousands(lacking));
        return PurityPart::off(seen, MEANING);
    }
    match most(lines, |evidence| evidence.server_descriptors) {
        Some(used) if used < 1.0 => {
            PurityPart::fine(format!("{} of the server's descriptors used", percent(used)))
        }
        Some(_) => PurityPart::off("all of the server's descriptors used".to_owned(), MEANING),
        None => PurityPart::fine("the server's descriptors not seen"),
    }
}

fn ports(lines: &[&TrialRecord]) -> Option<PurityPart> {
    // Of trials that are counted, and not timed, nobody looked.
    lines.iter().find_map(|line| line.evidence())?;
    match sum(lines, |line| line.evidence().map_or(0, |evidence| evidence.ports_lacking)) {
        0 => PurityPart::fine("no port lacking"),
        lacking => PurityPart::off(
            format!("no port for {} connections", thousands(lacking)),
            "the figure is what ports allow, not what handshakes cost",
        ),
    }
}

/// Over QUIC there is none.
fn accept_queue(lines: &[&TrialRecord]) -> Option<PurityPart> {
    let of_tcp: Vec<&TrialRecord> =
        lines.iter().copied().filter(|line| line.receipt.obtained.quic.is_none()).collect();
    let lines = &of_tcp[..];
    lines.first()?;
    let drops = sum(lines, |line| {
        let evidence = line.evidence();
        let drops = evidence.and_then(|it| it.accept_queue_drops.or(it.connects_repeated));
        drops.unwrap_or_default()
    });
    match most(lines, |evidence| evidence.accept_queue_loss) {
        None => PurityPart::fine("the accept queue not seen"),
        Some(_) if drops == 0 => PurityPart::fine("no connection lost in the accept queue"),
        Some(loss) => {
            let seen = format!(
                "{} connections lost in the accept queue, at most {} of their time in a trial",
                thousands(drops),
                percent(loss)
            );
            match loss >= ACCEPT_QUEUE_LOSS {
                true => PurityPart::off(
                    seen,
                    "they wait a second each, so the figure is what the queue takes, not what \
                     handshakes cost",
                ),
                false => PurityPart::fine(seen),
            }
        }
    }
}

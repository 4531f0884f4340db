//! What offload to an accelerator of private keys costs, what it saves, and how much of the device's rate
//! was used.
//!
//! Inline, the device answers at once and is not waited for. So the cost of offload is the server's CPU
//! time per handshake with asynchronous offload less that inline, and the cost of the key is that without
//! an accelerator less that inline. Both are differences between trials of the same round.

use offload::Way;
use study::{Cell, Metric};
use units::{Quantity, thousands};

use super::compared::{Compared, Entry};
use super::trials::CellTrials;
use crate::figure::{Decided, Figure, difference};
use crate::label::label;
use crate::wording::{all_of, percent, quantity};

/// How a cell's server waits for its accelerator; `None` where it has none.
pub(super) fn way(cell: &Cell) -> Option<Way> {
    cell.target.accelerator().map(|device| device.way)
}

/// The cell of a comparison whose server waits like this.
pub(super) fn find<'a>(compared: &Compared<'a>, wanted: Option<Way>) -> Option<&'a CellTrials<'a>> {
    let mut trials = compared.entries.iter().map(|entry| entry.trials);
    trials.find(|trials| way(trials.cell) == wanted)
}

/// What a handshake takes of the server's CPU more than an inline one, or than one in software less.
pub(super) struct Cost<'a> {
    pub(super) of: Of,
    /// The cell that has this cost.
    pub(super) trials: &'a CellTrials<'a>,
    pub(super) ns: Decided,
    /// Of an inline handshake, or of one in software.
    pub(super) share: Decided,
}

/// What a cost is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Offload,
    Key,
}

impl<'a> Cost<'a> {
    /// Asynchronous minus inline; `ratio` is that of both.
    pub(super) fn of_offload(
        asynchronous: &'a CellTrials<'a>,
        inline: &CellTrials<'_>,
        ratio: &Decided,
    ) -> Option<Self> {
        let ns = difference(cpu(asynchronous), cpu(inline))?;
        // What is above 0 in a round has a ratio above 1.
        let ns = Decided { figure: ns, decision: ratio.decision };
        Some(Self { of: Of::Offload, trials: asynchronous, ns, share: ratio.added()? })
    }

    /// Software minus inline; `ratio` is that of inline to software.
    fn of_key(
        software: &'a CellTrials<'a>,
        inline: &CellTrials<'_>,
        ratio: &Decided,
    ) -> Option<Self> {
        let ns = difference(cpu(software), cpu(inline))?;
        let ns = Decided { figure: ns, decision: ratio.decision.opposite() };
        Some(Self { of: Of::Key, trials: software, ns, share: ratio.taken()? })
    }

    /// Those that a comparison of the server's CPU per operation shows.
    pub(super) fn all(compared: &Compared<'a>) -> Vec<Self> {
        let of = |wanted| find(compared, wanted);
        let inline = of(Some(Way::Inline));
        let Some(inline) = inline.filter(|_| compared.rule.metric == Metric::ServerCpuPerOperation)
        else {
            return Vec::new();
        };
        let offload = of(Some(Way::Asynchronous))
            .and_then(|trials| Self::of_offload(trials, inline, &compared.ratio(trials, inline)?));
        let key = of(None)
            .and_then(|trials| Self::of_key(trials, inline, &compared.ratio(inline, trials)?));
        offload.into_iter().chain(key).collect()
    }

    /// `The cost of offload, asynchronous minus inline, is 12.1 [10.0, 14.2] µs of the server's CPU per
    /// handshake, 8.1% [7.0, 9.2] of the inline one.`
    fn sentence(&self, compared: &Compared<'_>) -> String {
        let unit = Quantity::Nanos.unit_for([self.ns.median()]);
        let what = match self.of {
            Of::Offload => "offload, asynchronous minus inline,",
            Of::Key => "the key, software minus inline,",
        };
        format!(
            "The cost of {what} is {} {} of the server's CPU per {}, {} of {}.",
            quantity(&*self.ns, unit.factor),
            unit.name,
            compared.one().trim_start_matches("a "),
            percent(&*self.share),
            self.of.whole()
        )
    }
}

impl Of {
    pub(super) fn whole(self) -> &'static str {
        match self {
            Self::Offload => "the inline one",
            Self::Key => "the one in software",
        }
    }
}

pub(super) fn cpu(trials: &CellTrials<'_>) -> Vec<(u32, f64)> {
    trials.samples(Metric::ServerCpuPerOperation)
}

/// All costs of a comparison, a sentence each.
pub(super) fn costs(compared: &Compared<'_>) -> Option<String> {
    all_of(Cost::all(compared).iter().map(|cost| cost.sentence(compared)), " ")
}

/// `A lone handshake ends 158 [150, 170] µs after an inline one with asynchronous offload to a model, whose
/// latency is 100us.` Of cells with one connection.
pub(super) fn lone(compared: &Compared<'_>) -> Option<String> {
    let inline = find(compared, Some(Way::Inline))?;
    let is_lone = compared.rule.metric == Metric::ServerCpuPerOperation
        && compared.shared(|cell| cell.load.connections) == Some(1);
    let p50 = |trials: &CellTrials<'_>| trials.samples(Metric::P50);
    let later = |entry: &Entry<'_>| {
        let device = entry.trials.cell.target.accelerator()?;
        let later = difference(p50(entry.trials), p50(inline))?;
        let unit = Quantity::Nanos.unit_for([later.median()]);
        let later = format!("{} {}", quantity(&later, unit.factor), unit.name);
        let (with, latency) = (compared.with(entry), device.latency.exact());
        Some(format!("{later} after an inline one {with}, whose latency is {latency}"))
    };
    let waiting = compared.entries.iter().filter(|of| !std::ptr::eq(of.trials, inline));
    let later = all_of(waiting.filter_map(later), "; ").filter(|_| is_lone)?;
    Some(format!("A lone {} ends {later}.", compared.one().trim_start_matches("a ")))
}

/// `Of the model's set rate the server used 17.5% [17.1, 17.9] of 40,000 RSA-2048 operations/s with
/// asynchronous offload to a model.` Of a comparison of rates, which may be one of several: `at`.
pub(super) fn used(compared: &Compared<'_>, at: Option<String>) -> Option<String> {
    let at = at.map_or_else(String::new, |at| format!(" ({at})"));
    let of = |entry: &Entry<'_>| {
        let busy = entry.trials.valid().map(|line| line.verdict.evidence.accelerator_busy);
        let busy = Figure::of(busy.collect::<Option<_>>()?)?;
        let nominal = nominal(entry.trials.cell)?;
        Some(format!("{} of {nominal} {}{at}", percent(&busy), compared.with(entry)))
    };
    let of_rates = compared.entries.iter().filter(|_| compared.rule.metric == Metric::Rate);
    let used = all_of(of_rates.filter_map(of), "; ")?;
    Some(format!("Of the model's set rate the server used {used}."))
}

/// `40,000 RSA-2048 operations/s`, of all engines.
pub(super) fn nominal(cell: &Cell) -> Option<String> {
    let device = cell.target.accelerator()?;
    let key = cell.target.certificate_key;
    let rate = u64::from(device.rates.of(key)?.get()) * device.engines.get() as u64;
    let key = label("target.certificate-key", &key.to_string());
    Some(format!("{} {key} operations/s", thousands(rate)))
}

//! Beside an answer about the share that TLS takes: cells of any case that differ from one of its cells in
//! a single setting, by which the reader can see what the answer depends on.
//!
//! - A client that reads what it receives, where toll's walks: what the server does for the same bytes can
//!   depend on when they are fetched.
//! - Plain HTTP by `sendfile`, where the answer's goes through user space, as TLS in user space does.

use load::{Plan, Receive};
use study::Metric;
use study::metric::Kind;
use targets::Target;
use tls::SendMode;

use super::compared::{Compared, Entry};
use super::sentence::taken;
use super::trials::CellTrials;
use crate::figure::{Decided, Figure, Signed, paired};
use crate::label::label;
use crate::wording::{percent, times};

/// What the server's CPU time per byte is with a client that reads, over that with toll's walk.
pub(super) struct Reading {
    pub(super) sentence: String,
    /// Whether it differs by more than the interval that the figure has, so that the interval does not say
    /// all that is not known.
    pub(super) is_doubt: bool,
}

impl Reading {
    /// One for each cell of which the study has such a one.
    pub(super) fn all(compared: &Compared<'_>, trials: &[CellTrials<'_>]) -> Vec<Self> {
        let ratios = compared.shown().filter_map(|of| Some((of, ratio_of_reading(of, trials)?)));
        let ratios = Decided::decide(ratios.collect(), 1.0);
        ratios.iter().filter_map(|(entry, ratio)| Self::of(compared, entry, ratio)).collect()
    }

    fn of(compared: &Compared<'_>, entry: &Entry<'_>, ratio: &Decided) -> Option<Self> {
        let (with, context) = (compared.with(entry), compared.context());
        let reach =
            entry.trials.figure(Metric::ServerCpuPerGigabyte).as_ref().map(Figure::reach)?;
        let stated = |amount: &Figure, more: &str| Self {
            sentence: format!(
                "With a client that reads what it receives, where toll's counts records unread, the server uses \
                 {} {more} CPU per byte {with}{context}.",
                percent(amount)
            ),
            is_doubt: amount.median() > reach,
        };
        let undecided = |what: &str| Self {
            sentence: format!(
                "A client that reads what it receives {what} the server's CPU per byte {with}{context} ({}).",
                times(ratio)
            ),
            is_doubt: false,
        };
        Some(match ratio.added()?.signed() {
            Signed::Above(amount) => stated(&amount, "more"),
            Signed::Below(amount) => stated(&amount, "less"),
            Signed::NoDifference => undecided("makes no significant difference to"),
            Signed::TooFew => undecided("was measured too seldom to compare"),
        })
    }
}

/// What the server's CPU time per byte of a cell is with a client that reads, over that with toll's walk.
fn ratio_of_reading(entry: &Entry<'_>, trials: &[CellTrials<'_>]) -> Option<Figure> {
    let cell = entry.trials.cell;
    if cell.load.receive() != Receive::Walk {
        return None;
    }
    let load = Plan { receive: Some(Receive::Decrypt), ..cell.load.clone() };
    let is_it =
        |other: &&CellTrials<'_>| other.cell.target == cell.target && other.cell.load == load;
    let reads = trials.iter().find(is_it)?;
    let cost = |of: &CellTrials<'_>| of.samples(Metric::ServerCpuPerGigabyte);
    // They are received differently, which is what is asked.
    paired(cost(reads), cost(entry.trials))
}

/// `TLS takes 92% [91, 93] with AES-128-GCM of what a core of this machine could send in plain by sendfile
/// (nginx).` Where the study has that cell beside its baseline.
pub(super) fn share_of_sendfile(
    compared: &Compared<'_>,
    trials: &[CellTrials<'_>],
) -> Option<String> {
    let baseline = compared.baseline()?.trials.cell;
    let target = Target { sendfile: Some(true), ..baseline.target.clone() };
    let is_it = |other: &&CellTrials<'_>| {
        other.cell.target == target
            && other.cell.load == baseline.load
            && other.cell.target != baseline.target
    };
    let plain = trials.iter().find(is_it)?;
    let sent = |of: &CellTrials<'_>| of.samples(Metric::GoodputPerServerCpu);
    let kept = compared.shown().filter_map(|of| Some((of, paired(sent(of.trials), sent(plain))?)));
    let kept = Decided::decide(kept.collect(), 1.0);
    let shares: Vec<(&Entry<'_>, Decided)> =
        kept.into_iter().filter_map(|(entry, kept)| Some((entry, kept.taken()?))).collect();
    (!shares.is_empty()).then(|| taken(compared, &shares, " by sendfile"))
}

/// That the baseline of a share took another path than TLS does, where it did.
pub(super) fn other_path(compared: &Compared<'_>) -> Option<String> {
    let target = &compared.baseline()?.trials.cell.target;
    let is_by_sendfile = target.server.uses("sendfile")
        && target.sendfile != Some(false)
        && target.send == SendMode::User;
    (compared.kind() == Kind::Tax && is_by_sendfile).then(|| {
        format!(
            "{} sent plain HTTP by sendfile, and TLS through user space: the share has both differences. \
             target.sendfile = false makes it that of TLS alone.",
            label("target.server", target.server.name())
        )
    })
}

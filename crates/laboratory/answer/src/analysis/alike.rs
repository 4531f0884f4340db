//! Beside an answer about the share that TLS takes: cells of any case that differ from one of its cells in
//! a single setting, by which the reader can see what the answer depends on.
//!
//! - A client that reads what it receives, where toll's walks: what the server does for the same bytes can
//!   depend on when they are fetched.
//! - Plain HTTP by `sendfile`, where the answer's goes through user space, as TLS in user space does.

use std::sync::Arc;

use load::{Plan, Receive};
use stats::{Decision, Direction};
use study::metric::Kind;
use study::{Cell, Metric};
use targets::Target;
use tls::SendMode;
use units::Quantity;

use super::derived::Derived;
use super::point::Point;
use super::row::Row;
use super::row_figure::RowFigure;
use crate::comparable::ratio;
use crate::figure::{Decided, Figure, paired};
use crate::label::server_words;
use crate::wording::with_interval;

/// What the server's CPU time per byte is with a client that reads, over that with toll's walk: for each cell
/// of which the study has such a one.
pub(super) fn with_reading(point: &Point, rows: &[Arc<Row>]) -> (Vec<Derived>, Vec<String>) {
    let added = shares(point, |of| ratio_of_reading(of, rows), Decided::added);
    let doubts = added.iter().filter_map(|(entry, added)| doubt(point, entry, added)).collect();
    let derived = added.into_iter().map(|(entry, by)| {
        let name = "server CPU per byte that a client that reads what it receives adds";
        Derived::difference(name, point.with(entry), Quantity::Share, by)
    });
    (derived.collect(), doubts)
}

/// Where reading changes a figure by more than the interval that it has, so that the interval does not say all
/// that is not known.
fn doubt(point: &Point, entry: &RowFigure, added: &Decided) -> Option<String> {
    let (with, context) = (point.with(entry), point.context());
    let reach = entry.row.figure(Metric::ServerCpuPerGigabyte).as_ref().map(Figure::reach)?;
    let (amount, more) = match added.decision {
        Decision::Sure(Direction::Above) => (added.figure.clone(), "more"),
        Decision::Sure(Direction::Below) => (added.map(|share| -share)?, "less"),
        Decision::NoDifference | Decision::TooFew => return None,
    };
    (amount.median() > reach).then(|| {
        format!(
            "With a client that reads what it receives, where toll's counts records unread, the server uses \
             {} {more} CPU per byte {with}{context}.",
            with_interval(Quantity::Share, &amount)
        )
    })
}

/// What the server's CPU time per byte of a cell is with a client that reads, over that with toll's walk.
fn ratio_of_reading(entry: &RowFigure, rows: &[Arc<Row>]) -> Option<Figure> {
    let cell = entry.row.cell()?;
    if cell.load.receive() != Receive::Walk {
        return None;
    }
    let load = Plan { receive: Some(Receive::Decrypt), ..cell.load.clone() };
    let is_it = |other: &Cell| other.target == cell.target && other.load == load;
    let reads = rows.iter().find(|row| row.cell().is_some_and(is_it))?;
    // They are received differently, which is what is asked.
    let [reads, walks] = [reads, &*entry.row].map(|of| of.samples(Metric::ServerCpuPerGigabyte));
    paired(reads, walks).ok()
}

/// What TLS takes of what is sent in plain by `sendfile`, where the study has that cell beside its baseline.
pub(super) fn share_of_sendfile(point: &Point, rows: &[Arc<Row>]) -> Vec<Derived> {
    let Some(plain) = plain_by_sendfile(point, rows) else { return Vec::new() };
    let kept = |of: &RowFigure| ratio(&of.row, plain, Metric::GoodputPerServerCpu).ok();
    let taken = shares(point, kept, Decided::taken).into_iter().map(|(entry, by)| {
        let name = "what TLS takes of plain HTTP by sendfile";
        Derived::difference(name, point.with(entry), Quantity::Share, by)
    });
    taken.collect()
}

/// Shares of the cells of an answer that follow from these ratios, decided together.
fn shares(
    point: &Point,
    ratio: impl Fn(&RowFigure) -> Option<Figure>,
    share: fn(&Decided) -> Option<Decided>,
) -> Vec<(&RowFigure, Decided)> {
    let ratios = point.shown().filter_map(|of| Some((of, ratio(of)?)));
    let ratios = Decided::decide(ratios.collect(), 1.0).into_iter();
    ratios.filter_map(|(entry, ratio)| Some((entry, share(&ratio)?))).collect()
}

fn plain_by_sendfile<'a>(point: &Point, rows: &'a [Arc<Row>]) -> Option<&'a Row> {
    let baseline = point.baseline()?.row.cell()?;
    let target = Target { sendfile: Some(true), ..baseline.target.clone() };
    let is_it = |other: &Cell| {
        other.target == target && other.load == baseline.load && other.target != baseline.target
    };
    rows.iter().map(Arc::as_ref).find(|row| row.cell().is_some_and(is_it))
}

/// That the baseline of a share took another path than TLS does, where it did.
pub(super) fn other_path(point: &Point) -> Option<String> {
    let target = &point.baseline()?.row.cell()?.target;
    let is_by_sendfile = target.server.uses("sendfile")
        && target.sendfile != Some(false)
        && target.send == SendMode::User;
    (point.kind() == Kind::Tax && is_by_sendfile).then(|| {
        format!(
            "{} sent plain HTTP by sendfile, and TLS through user space: the share has both differences. \
             target.sendfile = false makes it that of TLS alone.",
            server_words(target.server)
        )
    })
}

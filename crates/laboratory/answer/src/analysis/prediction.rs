//! The gain that follows from what the cipher costs per byte, beside the one that was measured.
//!
//! Where a server reports what its cipher costs, a cell saves bytes per operation x change of the cost
//! per byte against its baseline. With D, the baseline's server CPU per operation, the rate grows by
//! D / (D - saved). That assumes that the server's CPU is the limit and that only the cipher changed.
//! Bytes are those of bodies: headers and requests are encrypted too, so a little is missing.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::Decision;
use study::Show;
use study::metric::words_of;
use tls::{Cipher, Suite};
use trial::TrialRecord;
use units::{Quantity, decimal};

use super::left_out::{LeftOut, WhyLeftOut};
use super::point::Point;
use super::row::Row;
use super::row_figure::RowFigure;
use crate::figure::{Decided, Figure};
use crate::findings::{Column, Table, TableCell};
use crate::wording::listed;

/// A gain smaller than this needs no explanation.
const NOTHING: f64 = 0.005;

/// What the cipher's cost predicts of one cell against its baseline, from pairs of trials of one round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Which of the answer's bars: `50 users`, and the compared value where there are several.
    pub label: String,
    pub cell: String,
    /// The median body of an operation.
    pub bytes_per_operation: f64,
    /// The cipher's median cost in nanoseconds per byte at the baseline, and here.
    pub ns_per_byte: [f64; 2],
    /// The server's CPU time per operation at the baseline.
    pub cpu_ns: Figure,
    /// CPU time per operation that the cipher saves.
    pub predicted_ns: Figure,
    /// CPU time per operation that was saved.
    pub saved_ns: Figure,
    /// The rate over the baseline's, as it follows from `predicted_ns`; `None` where that leaves out all rounds.
    pub predicted: Option<Figure>,
    /// The answer's ratio.
    pub measured: Decided,
    /// Rounds that both cells have.
    pub rounds: usize,
    #[serde(skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
}

/// What a trial says of its cipher.
struct CipherTime {
    cipher: Cipher,
    ns_per_byte: f64,
    bytes: f64,
    cpu_ns: f64,
}

impl CipherTime {
    /// `None` where the server reports no cost of the one cipher that was used.
    fn of(line: &TrialRecord) -> Option<Self> {
        let obtained = &line.receipt.obtained;
        let mut suites = obtained.suite.keys();
        let (Some(suite), None) = (suites.next(), suites.next()) else { return None };
        let cipher = Suite::parse(suite).ok()?.cipher;
        let name = match cipher {
            Cipher::Aes128Gcm => "AES/GCM/NoPadding",
            Cipher::Aes128Cbc => "AES/CBC/NoPadding",
            _ => return None,
        };
        Some(Self {
            cipher,
            ns_per_byte: *obtained.ns_per_byte.get(name)?,
            bytes: line.per_operation(line.bytes.body)?,
            cpu_ns: line.per_operation(line.cpu_ns.server?)?,
        })
    }

    /// Of a round of both cells.
    fn pair([theirs, ours]: [&TrialRecord; 2]) -> Result<(Self, Self), WhyLeftOut> {
        match (Self::of(theirs), Self::of(ours)) {
            (Some(theirs), Some(ours)) if theirs.cipher == ours.cipher => Ok((theirs, ours)),
            (Some(_), Some(_)) => Err(WhyLeftOut::OtherCipher),
            _ => Err(WhyLeftOut::NoCost),
        }
    }
}

/// The valid trials of a cell by their rounds.
fn by_round(row: &Row) -> BTreeMap<u32, &TrialRecord> {
    let valid = row.lines.iter().filter(|trial| trial.line.valid);
    valid.map(|trial| (trial.place.round, &trial.line)).collect()
}

impl Prediction {
    /// Of all that is compared with a baseline; `place` says where along another key that is.
    pub(super) fn all(point: &Point, place: Option<&str>) -> Vec<Self> {
        let is_shown = point.rule.shows(Show::Prediction);
        let Some(baseline) = point.baseline().filter(|_| is_shown) else { return Vec::new() };
        let label = |entry: &RowFigure| match place {
            Some(place) if point.others().count() == 1 => place.to_owned(),
            _ => place.into_iter().chain([entry.label.as_str()]).collect::<Vec<_>>().join(", "),
        };
        let of = |entry| Self::of(label(entry), entry, baseline);
        point.others().filter_map(of).collect()
    }

    fn of(label: String, entry: &RowFigure, baseline: &RowFigure) -> Option<Self> {
        let measured = entry.ratio.clone()?;
        let theirs = by_round(&baseline.row);
        let ours = by_round(&entry.row);
        let both = || ours.iter().filter_map(|(round, ours)| Some([*theirs.get(round)?, *ours]));
        let mut left_out = LeftOut::default();
        let pairs = left_out.count(both().map(CipherTime::pair));
        let figure = |of: &dyn Fn(&CipherTime, &CipherTime) -> f64| {
            Figure::of(pairs.iter().map(|(theirs, ours)| of(theirs, ours)).collect())
        };
        let median = |of| Some(figure(of)?.median());
        let saved = |theirs: &CipherTime, ours: &CipherTime| {
            theirs.bytes * (theirs.ns_per_byte - ours.ns_per_byte)
        };
        let gains = left_out.count(pairs.iter().map(|(theirs, ours)| {
            let left = theirs.cpu_ns - saved(theirs, ours);
            if left > 0.0 { Ok(theirs.cpu_ns / left) } else { Err(WhyLeftOut::MoreThanTheServer) }
        }));
        Some(Self {
            label,
            cell: entry.row.name.clone(),
            bytes_per_operation: median(&|theirs, _| theirs.bytes)?,
            ns_per_byte: [
                median(&|theirs, _| theirs.ns_per_byte)?,
                median(&|_, ours| ours.ns_per_byte)?,
            ],
            cpu_ns: figure(&|theirs, _| theirs.cpu_ns)?,
            predicted_ns: figure(&saved)?,
            saved_ns: figure(&|theirs, ours| theirs.cpu_ns - ours.cpu_ns)?,
            predicted: Figure::of(gains),
            measured,
            rounds: both().count(),
            left_out,
        })
    }

    /// Whether what was measured is beyond the interval of what was predicted.
    fn is_contradicted(&self) -> bool {
        let Some(predicted) = &self.predicted else { return false };
        let off = stats::ratio_of_medians(&self.measured.samples, &predicted.samples);
        off.is_ok_and(|off| Decision::of_interval(&off, 1.0).is_sure())
    }

    fn explains_nothing(&self) -> bool {
        self.predicted.as_ref().is_some_and(|of| (of.median() - 1.0).abs() < NOTHING)
    }

    /// The rounds that are not in the prediction, in a sentence.
    fn without(&self) -> Option<String> {
        self.left_out.sentence(&format!("The prediction of {}", self.label), self.rounds)
    }
}

/// Where what was measured is not what the cipher's cost predicts.
pub(super) fn doubt(predictions: &[Prediction]) -> Option<String> {
    let contradicted: Vec<&Prediction> =
        predictions.iter().filter(|of| of.is_contradicted()).collect();
    let at = listed(contradicted.iter().map(|of| of.label.clone()))?;
    let at = if predictions.len() == 1 { String::new() } else { format!(" ({at})") };
    Some(match contradicted.iter().all(|of| of.explains_nothing()) {
        true => format!(
            "The cipher costs the same per byte in both, so it does not explain the difference{at}."
        ),
        false => format!(
            "What the cipher's cost predicts and what was measured differ beyond their intervals{at}, so more \
             than the cipher's cost changed, or the server's CPU was not the limit."
        ),
    })
}

/// Those of an answer, and what was measured; `first` is one of its points. `None` where there are none.
pub(super) fn table(first: &Point, all: &[Prediction]) -> Option<Table> {
    let title = [first.rule.case.clone(), first.rule.metric.row().words.to_owned()].into_iter();
    let title = title.chain(first.common_in_words());
    let words = |text| words_of(first.operation(), text);
    let name = |of: &Prediction| TableCell::about(&of.cell, of.label.clone());
    let numbers = |name: &str, unit, of: &dyn Fn(&Prediction) -> f64| {
        let cell = |of_it: &Prediction| (decimal(of(of_it), 2), of(of_it));
        Column::numbers(name, unit, all.iter().map(cell))
    };
    type PredictionFigure = fn(&Prediction) -> &Figure;
    let times: [(&str, PredictionFigure); 3] = [
        ("server CPU per operation, baseline", |of| &of.cpu_ns),
        ("less, predicted", |of| &of.predicted_ns),
        ("less, measured", |of| &of.saved_ns),
    ];
    let figures = all.iter().flat_map(|of| [&of.cpu_ns, &of.predicted_ns, &of.saved_ns]);
    let unit = Quantity::Nanos.unit_for(figures.map(Figure::median));
    let times = times.map(|(name, of)| {
        let cell = |prediction: &Prediction| TableCell::figure(of(prediction), &unit);
        Column::numbers(&words(name), unit.name, all.iter().map(cell))
    });
    let predicted =
        |of: &Prediction| of.predicted.as_ref().map(TableCell::ratio).unwrap_or_default();
    let measured = |of: &Prediction| TableCell::ratio(&of.measured.figure);
    let ratios = [
        Column::numbers("predicted", "", all.iter().map(predicted)),
        Column::numbers("measured", "", all.iter().map(measured)),
    ];
    let facts = vec![
        Column::words("", all.iter().map(name)),
        numbers(&words("body per operation"), "KiB", &|of| of.bytes_per_operation / 1024.0),
        numbers("cipher, baseline", "ns/byte", &|of| of.ns_per_byte[0]),
        numbers("cipher", "ns/byte", &|of| of.ns_per_byte[1]),
    ];
    (!all.is_empty()).then(|| Table {
        title: title.collect::<Vec<_>>().join(", "),
        columns: facts.into_iter().chain(times).chain(ratios).collect(),
        notes: all.iter().filter_map(Prediction::without).collect(),
        ..Table::default()
    })
}

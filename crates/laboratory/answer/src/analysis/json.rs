//! Rows and answers as programs get them.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use study::{Metric, Params, Published};

use super::answer::Answer;
use super::bill::Bill;
use super::bounds::LittlesLawBounds;
use super::cpu_use::CpuUse;
use super::crossover::Crossover;
use super::cycles::Cycles;
use super::derived::Derived;
use super::loopback::Loopback;
use super::point::Point;
use super::prediction::Prediction;
use super::row::Row;
use super::row_figure::{Projected, RowFigure};
use crate::caveat::Caveat;
use crate::circumstance::Circumstance;
use crate::costs::PublishedCost;
use crate::figure::{Decided, Figure};
use crate::findings::Headline;
use crate::mark::Mark;
use crate::measured::MeasuredRow;
use crate::wording::list_of;

/// Every metric is a field with its unit in the name, `null` where it was not measured.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let MeasuredRow { name, case, label, params, library, trials, .. } = &self.measured;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cell", name)?;
        map.serialize_entry("case", case)?;
        map.serialize_entry("label", label)?;
        map.serialize_entry("params", params)?;
        if let Some(library) = library {
            map.serialize_entry("library", library)?;
        }
        map.serialize_entry("trials", trials)?;
        for metric in Metric::of_rows() {
            map.serialize_entry(metric.row().json, &self.figure(metric))?;
        }
        map.serialize_entry("limits", &self.limits)?;
        map.serialize_entry("mark", &self.mark)?;
        if let Some(congestion) = self.circumstances.get(&Circumstance::Congestion) {
            map.serialize_entry("congestion", congestion)?;
        }
        map.serialize_entry("search", &self.search)?;
        map.serialize_entry("cpus", &CpuUse::of(self.valid()))?;
        if let Some(cycles) = Cycles::of(self) {
            map.serialize_entry("cycles", &cycles)?;
        }
        map.end()
    }
}

pub(super) fn cells<S: Serializer>(rows: &[Arc<Row>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(Arc::as_ref))
}

/// What [`Answer`] is as JSON.
#[derive(Serialize)]
struct AnswerFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    question: &'a Option<String>,
    headline: &'a Option<Headline>,
    notes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    derived: &'a [Derived],
    purity: &'a Option<String>,
    caveats: &'a [Caveat],
    case: &'a str,
    metric: Metric,
    compare: &'a str,
    common: Params,
    bars: Vec<BarFields<'a>>,
    published: &'a [Published],
    predictions: &'a [Prediction],
    #[serde(skip_serializing_if = "Option::is_none")]
    bill: &'a Option<Bill>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loopback: &'a Option<Loopback>,
    curve: Option<CurveFields<'a>>,
}

#[derive(Serialize)]
struct BarFields<'a> {
    label: String,
    cell: &'a str,
    is_baseline: bool,
    figure: &'a Option<Figure>,
    ratio: &'a Option<Decided>,
    mark: Option<Mark>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    published: &'a [PublishedCost],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    projected: &'a [Projected],
    infeasible: Option<String>,
}

#[derive(Serialize)]
struct CurveFields<'a> {
    along: &'a str,
    points: Vec<PointFields<'a>>,
    bounds: &'a [LittlesLawBounds],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    crossovers: &'a [Crossover],
}

#[derive(Serialize)]
struct PointFields<'a> {
    label: String,
    bars: Vec<BarFields<'a>>,
    /// For each bar, the share of its CPUs that the server used meanwhile.
    busy: Vec<Option<Figure>>,
}

impl<'a> BarFields<'a> {
    /// Those of a point whose `place` is named where there are several.
    fn all(place: &str, point: &'a Point) -> Vec<Self> {
        let of = |of: &'a RowFigure| Self {
            label: list_of([place, of.label.as_str()]),
            cell: &of.row.name,
            is_baseline: of.is_baseline,
            figure: &of.figure,
            ratio: &of.ratio,
            mark: of.mark,
            published: of.row.published(),
            projected: &of.projected,
            infeasible: of.row.infeasible(),
        };
        point.shown().map(of).collect()
    }
}

impl<'a> PointFields<'a> {
    fn of(label: String, point: &'a Point) -> Self {
        let busy = point.shown().map(|of| of.row.figure(Metric::ServerBusy));
        Self { label, bars: BarFields::all("", point), busy: busy.collect() }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = |point: &Point| point.value_along().unwrap_or_default();
        let fields = AnswerFields {
            question: &self.rule().question,
            headline: &self.headline,
            notes: &self.notes,
            derived: &self.derived,
            purity: &self.purity,
            caveats: &self.caveats,
            case: &self.rule().case,
            metric: self.rule().metric,
            compare: &self.rule().compare,
            common: self.common(),
            bars: self
                .points
                .iter()
                .flat_map(|point| BarFields::all(&place(point), point))
                .collect(),
            published: &self.rule().published,
            predictions: &self.predictions,
            bill: &self.bill,
            loopback: &self.loopback,
            curve: self.rule().along.as_ref().map(|along| CurveFields {
                along,
                points: self
                    .points
                    .iter()
                    .map(|point| PointFields::of(place(point), point))
                    .collect(),
                bounds: &self.bounds,
                crossovers: &self.crossovers,
            }),
        };
        fields.serialize(serializer)
    }
}

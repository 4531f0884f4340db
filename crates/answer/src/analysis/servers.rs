//! Servers beside each other: where the cells of an answer are of several servers, each value that is
//! compared is also compared between them.

use std::collections::BTreeMap;

use serde::Serialize;
use study::metric::Kind;
use study::{AnswerRule, Metric};

use super::compared::{Compared, Entry};
use super::selection::Selection;
use super::trials::CellTrials;
use crate::figure::Figure;
use crate::wording::{grouped, unique};

const SERVER: &str = "target.server";

/// The servers of the cells of one answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Servers {
    pub case: String,
    pub metric: Metric,
    /// What the columns are, in words: `AES-128-GCM`.
    pub values: Vec<String>,
    /// What all cells have in common, in words.
    pub common: Vec<String>,
    /// In the study's order.
    pub rows: Vec<ServerRow>,
}

/// One of the servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerRow {
    /// In words: `toll's own server`.
    pub server: String,
    /// One for each value; `None` where it was not measured.
    pub figures: Vec<Option<ServerFigure>>,
}

/// The figure of one server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerFigure {
    pub figure: Figure,
    /// Over the best server's with the same value, from pairs of trials of one round; that one has
    /// none.
    pub ratio: Option<Figure>,
    /// Whether the two are shown to differ.
    pub is_different: bool,
}

impl Servers {
    /// One for each question about at least two servers. What TLS takes is shown as the goodput that
    /// it is taken from.
    pub(super) fn all(rules: &[AnswerRule], cells: &[CellTrials<'_>]) -> Vec<Self> {
        let of_several = rules.iter().filter(|rule| rule.along.is_none() && rule.compare != SERVER);
        unique(of_several.flat_map(|rule| {
            let of_servers = grouped(Compared::all(rule, cells).into_iter().map(|of| {
                let mut common = of.common.clone();
                common.remove(SERVER);
                (common, of)
            }));
            of_servers.into_iter().filter_map(|(common, of)| Self::of(&common, &of))
        }))
    }

    fn of(common: &BTreeMap<String, String>, compared: &[Compared<'_>]) -> Option<Self> {
        let first = compared.first()?;
        let metric = match first.kind() {
            Kind::Tax => Metric::GoodputPerServerCpu,
            _ => first.rule.metric,
        };
        let of_servers: Vec<(&Compared<'_>, String)> = compared
            .iter()
            .filter_map(|of| Some((of, of.label(SERVER, of.common.get(SERVER)?))))
            .collect();
        if of_servers.len() < 2 {
            return None;
        }
        let row =
            |(_, server): &(_, String)| ServerRow { server: server.clone(), figures: Vec::new() };
        let mut rows: Vec<ServerRow> = of_servers.iter().map(row).collect();
        for value in first.entries.iter().map(|entry| entry.value) {
            let entries: Vec<Option<&Entry<'_>>> =
                of_servers.iter().map(|(of, _)| of.entry(value)).collect();
            for (row, figure) in rows.iter_mut().zip(column(metric, &entries)) {
                row.figures.push(figure);
            }
        }
        let values = first.entries.iter();
        Some(Self {
            case: first.rule.case.clone(),
            metric,
            values: values.map(|entry| first.label(&first.rule.compare, entry.value)).collect(),
            common: common.iter().map(|(key, value)| first.label(key, value)).collect(),
            rows,
        })
    }
}

/// The figures of one value, a server each.
fn column(metric: Metric, entries: &[Option<&Entry<'_>>]) -> Vec<Option<ServerFigure>> {
    let figure = |entry: &Entry<'_>| entry.trials.figure(metric);
    let measured: Vec<&Entry<'_>> =
        entries.iter().flatten().copied().filter(|entry| figure(entry).is_some()).collect();
    let median = |entry: &Entry<'_>| figure(entry).map_or(0.0, |of| of.median());
    let by_median = |a: &&Entry<'_>, b: &&Entry<'_>| median(a).total_cmp(&median(b));
    let all = measured.iter().copied();
    let best =
        if metric.is_higher_better() { all.max_by(by_median) } else { all.min_by(by_median) };
    let selection = Selection::of(metric, &measured);
    let of_entry = |entry: &Entry<'_>| {
        let best = best.filter(|best| best.trials.cell.name != entry.trials.cell.name);
        Some(ServerFigure {
            figure: figure(entry)?,
            ratio: best.and_then(|best| entry.trials.ratio(best.trials, metric)),
            is_different: best.is_some_and(|best| {
                selection.gain(best, entry).or(selection.gain(entry, best)).is_some()
            }),
        })
    };
    entries.iter().map(|entry| entry.and_then(of_entry)).collect()
}

//! Servers beside each other: where the cells of an answer are of several servers, each value that is
//! compared is also compared between them.

use keys::full;
use serde::Serialize;
use study::metric::Kind;
use study::{Metric, Params};

use super::best::best;
use super::decisions::Decisions;
use super::point::Point;
use super::row::Row;
use crate::figure::{Decided, Figure};
use crate::wording::{grouped, unique};

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
    /// In words: `embedded`.
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
    pub ratio: Option<Decided>,
}

impl Servers {
    /// One for each question about at least two servers. What TLS takes is shown as the goodput that
    /// it is taken from.
    pub(super) fn all(compared: &[Vec<Point>]) -> Vec<Self> {
        let is_of_several =
            |of: &&Point| of.rule.along.is_none() && of.rule.compare != full::SERVER;
        unique(compared.iter().flat_map(|of_rule| {
            let of_several = of_rule.iter().filter(is_of_several);
            let of_servers = of_several.map(|of| (of.common.without([full::SERVER]), of));
            grouped(of_servers).into_iter().filter_map(|(common, of)| Self::of(&common, &of))
        }))
    }

    fn of(common: &Params, compared: &[&Point]) -> Option<Self> {
        let first = compared.first()?;
        let metric = match first.kind() {
            Kind::Tax => Metric::GoodputPerServerCpu,
            _ => first.rule.metric,
        };
        let server = |of: &Point| Some(of.label(full::SERVER, of.common.get(full::SERVER)?));
        let servers: Vec<(&Point, String)> =
            compared.iter().filter_map(|of| Some((*of, server(of)?))).collect();
        if servers.len() < 2 {
            return None;
        }
        // A server may lack some values: those of all, in the order in which they come.
        let values = servers.iter().flat_map(|(of, _)| {
            of.figures.iter().map(move |entry| (&entry.value, entry.label.clone()))
        });
        let values = grouped(values);
        let column =
            |value| servers.iter().map(|(of, _)| Some(&*of.figure_of(value)?.row)).collect();
        let columns: Vec<Vec<Option<&Row>>> =
            values.iter().map(|(value, _)| column(value)).collect();
        let rows = columns.iter().map(|column| column.iter().copied().flatten().collect());
        let decisions = Decisions::of_columns(metric, rows);
        let figure = |column: &Vec<Option<&Row>>, place: usize| {
            let row = column[place]?;
            let best = best(metric, column.iter().copied().flatten());
            let ratio = best.and_then(|best| decisions.ratio(0, metric, [row, best]));
            Some(ServerFigure { figure: row.figure(metric)?, ratio })
        };
        let row = |(place, (_, server)): (usize, &(&Point, String))| ServerRow {
            server: server.clone(),
            figures: columns.iter().map(|column| figure(column, place)).collect(),
        };
        Some(Self {
            case: first.rule.case.clone(),
            metric,
            rows: servers.iter().enumerate().map(row).collect(),
            values: values.into_iter().filter_map(|(_, names)| names.into_iter().next()).collect(),
            common: common.iter().map(|(key, value)| first.label(key, value)).collect(),
        })
    }
}

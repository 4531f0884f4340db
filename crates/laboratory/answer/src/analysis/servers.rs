//! Servers beside each other: where the cells of an answer are of several servers, each value that is
//! compared is also compared between them; and all of them as one table.

use keys::full;
use serde::Serialize;
use study::metric::Kind;
use study::{Metric, Params};
use units::Quantity;

use super::best::best;
use super::decisions::Decisions;
use super::point::Point;
use super::row::Row;
use crate::figure::{Decided, Figure};
use crate::findings::{Column, SmallPrint, Table, TableCell};
use crate::wording::{NO_DIFFERENCE, brief_beside, grouped, ratio_in_short, sign, unique};

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

/// A row for each value that is compared, a column for each server; `None` where there are not two.
pub(super) fn table(all: &[Servers]) -> Option<Table> {
    let rows: Vec<(&Servers, usize)> =
        all.iter().flat_map(|of| (0..of.values.len()).map(move |place| (of, place))).collect();
    let cell = |row: &(&Servers, usize), server: &str| {
        let (of, place) = *row;
        let own = of.rows.iter().find(|row| row.server == server);
        let own = own.and_then(|row| row.figures[place].as_ref());
        let first = of.rows.iter().find_map(|row| row.figures[place].as_ref());
        let quantity = of.metric.row().quantity;
        own.zip(first).map(|(own, first)| cell(quantity, own, first)).unwrap_or_default()
    };
    let label = |(of, place): &(&Servers, usize)| {
        let parts = std::iter::once(&of.case).chain(&of.common).chain([&of.values[*place]]);
        parts.cloned().collect::<Vec<_>>().join(", ")
    };
    let metric = |(of, _): &(&Servers, usize)| of.metric.row().words.to_owned();
    let servers =
        unique(all.iter().flat_map(|of| &of.rows).map(|row: &ServerRow| row.server.as_str()));
    let columns = servers
        .iter()
        .map(|server| Column::numbers(server, "", rows.iter().map(|row| cell(row, server))));
    let named =
        [Column::words("", rows.iter().map(label)), Column::words("", rows.iter().map(metric))];
    (servers.len() > 1).then(|| Table {
        title: "Servers compared".to_owned(),
        about: format!(
            "Beside a figure is its ratio to the best server of the row; ≈ is {NO_DIFFERENCE} from it, ? too few \
             trials to compare."
        ),
        columns: named.into_iter().chain(columns).collect(),
        ..Table::default()
    })
}

/// In the unit of the row's first figure.
fn cell(quantity: Quantity, of: &ServerFigure, first: &ServerFigure) -> TableCell {
    let beside = |ratio: &Decided| format!("{}{}", sign(ratio.decision), ratio_in_short(ratio));
    let small_print = of.ratio.as_ref().map(beside).map(SmallPrint::Remark);
    let median = of.figure.median();
    let text = brief_beside(quantity, median, first.figure.median());
    TableCell { small_print, ..(text, median).into() }
}

//! Servers beside each other, as one table.

use units::Quantity;

use crate::analysis::{ServerFigure, ServerRow, Servers};
use crate::figure::Decided;
use crate::findings::{Column, SmallPrint, Table, TableCell};
use crate::wording::{NO_DIFFERENCE, brief_beside, ratio_in_short, sign, unique};

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

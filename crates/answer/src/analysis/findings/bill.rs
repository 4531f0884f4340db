//! The bill of a handshake as a stacked bar for each cell.

use stats::Estimate;
use units::Quantity;

use crate::analysis::{Answer, Bill, Figure, Parts};
use crate::findings::{Bar, BarRow, Bars, Series};

/// `None` where no cell has its parts.
pub(super) fn chart(answer: &Answer, bill: &Bill) -> Option<Bars> {
    let cells: Vec<(&str, &Parts)> =
        bill.cells.iter().filter_map(|cell| Some((&*cell.label, cell.parts.as_ref()?))).collect();
    let wholes = cells.iter().map(|(_, parts)| parts.whole_ns.median());
    let unit = Quantity::Nanos.unit_for(wholes);
    let row = |(cell, parts): &(&str, &Parts)| {
        let bar = |(series, name, estimate): (Series, &str, Estimate)| Bar {
            name: name.to_owned(),
            series,
            figure: Some(Figure { estimate, samples: Vec::new() }),
            ..Bar::default()
        };
        let bars = [
            (Series::PrivateKey, "private key", parts.private_key_ns.estimate),
            (Series::Tls, "rest of TLS", parts.tls_ns),
            (Series::Rest, "kernel, sockets and server", parts.rest_ns),
        ];
        BarRow { label: (*cell).to_owned(), bars: bars.map(bar).to_vec(), lacking: None }
    };
    (!cells.is_empty()).then(|| Bars {
        title: "What a full handshake is made of".to_owned(),
        subtitle: answer.subtitle(),
        axis: format!("{} of the server's CPU time per full handshake; lower is better", unit.name),
        unit,
        is_stacked: true,
        rows: cells.iter().map(row).collect(),
        ..Bars::default()
    })
}

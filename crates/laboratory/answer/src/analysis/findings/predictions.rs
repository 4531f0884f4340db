//! What the cost of ciphers predicts, beside what was measured.

use study::metric::words_of;
use units::{Quantity, decimal};

use crate::analysis::{Answer, Figure, Prediction};
use crate::findings::{Column, Table, TableCell};

/// A table for each answer that has predictions.
pub(super) fn tables(answers: &[Answer]) -> Vec<Table> {
    answers.iter().filter(|answer| !answer.predictions.is_empty()).map(table).collect()
}

fn table(answer: &Answer) -> Table {
    let all = &answer.predictions;
    let title =
        [answer.rule().case.clone(), answer.rule().metric.row().words.to_owned()].into_iter();
    let title = title.chain(answer.common_in_words());
    let words = |text| words_of(answer.operation(), text);
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
    Table {
        title: title.collect::<Vec<_>>().join(", "),
        columns: facts.into_iter().chain(times).chain(ratios).collect(),
        notes: all.iter().filter_map(Prediction::without).collect(),
        ..Table::default()
    }
}

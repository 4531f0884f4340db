//! One answer as a report shows it: its headline, a table of its figures, what follows from them, and charts.

use keys::full;
use study::Metric;
use study::metric::{Kind, words_of};
use units::{Quantity, thousands};

use super::bars::{self, combinations, subtitle};
use super::headline::{Shown, of_figures};
use super::overview::limits;
use super::{curves, published};
use crate::analysis::caveats::said_once;
use crate::analysis::{
    Analysis, Answer, Bill, Derived, Figure, Point, Projection, RowFigure, bill, crossover,
};
use crate::caveat::Caveat;
use crate::figure::Decided;
use crate::findings::{Chart, Column, Headline, ShownAnswer, Table, TableCell};
use crate::label::without_what_is_common;
use crate::wording::{
    brief, capitalized, interval, list_of, ratio_in_short, ratio_interval, sign, unique,
};

/// What the combinations of one answer show together.
pub(super) fn answer(analysis: &Analysis, answers: &[&Answer]) -> Option<ShownAnswer> {
    let first = answers.first()?;
    let of_rule = |of: &&Projection| of.rule == first.place();
    let tables = [Some(figures(answers)), derived(answers), bill::table(&bills(answers))];
    let projections = analysis.projections.iter().filter(of_rule).map(Projection::table);
    let loopback =
        answers.iter().filter_map(|answer| Some(answer.loopback.as_ref()?.sentence.clone()));
    // What several answers have in common is said with the first.
    let is_mentioned = |of: &&String| {
        let mut before = analysis.answers.iter().take_while(|other| other.place() < first.place());
        before.any(|other| other.purity.as_ref() == Some(*of))
    };
    let purity = answers.iter().filter_map(|answer| answer.purity.as_ref());
    let purity = purity.filter(|of| !is_mentioned(of)).cloned();
    let mut figures = answers.iter().flat_map(|answer| answer.shown());
    let is_projected = figures.any(|of| !of.projected.is_empty());
    let published: Vec<String> = match first.rule().metric.row().kind {
        Kind::Cycles => first
            .rule()
            .published
            .iter()
            .map(|of| format!("Published: {}: {}.", of.what, of.says))
            .collect(),
        _ => Vec::new(),
    };
    let notes = answers.iter().flat_map(|answer| answer.notes.clone());
    let notes = notes.chain(published).chain(is_projected.then(|| PROJECTED.to_owned()));
    Some(ShownAnswer {
        title: title(first),
        headline: first.headline.clone().or_else(|| headline(answers)),
        tables: tables.into_iter().flatten().chain(projections).collect(),
        charts: charts(answers),
        notes: unique(notes.chain(loopback).chain(purity)),
        doubts: doubts(answers),
        ..ShownAnswer::default()
    })
}

/// Its figures, where no author put them into words.
fn headline(answers: &[&Answer]) -> Option<Headline> {
    let rows: Vec<_> = answers.iter().flat_map(|answer| rows(answer)).collect();
    let labels: Vec<Vec<String>> = rows.iter().map(|(label, _)| label.clone()).collect();
    let shown =
        without_what_is_common(&labels).into_iter().zip(&rows).filter_map(|(label, (_, bar))| {
            let median = bar.figure.as_ref()?.median();
            Some(Shown { label, median, mark: bar.mark, ratio: bar.ratio.as_ref() })
        });
    of_figures(answers[0].rule().metric, answers[0].operation(), shown.collect())
}

/// Answers whose titles are the same have that of their case besides.
pub(super) fn told_apart(answers: Vec<(String, ShownAnswer)>) -> Vec<ShownAnswer> {
    let titles: Vec<String> = answers.iter().map(|(_, answer)| answer.title.clone()).collect();
    let is_one_of_several =
        |answer: &ShownAnswer| titles.iter().filter(|title| **title == answer.title).count() > 1;
    let told_apart = |(case, answer): (String, ShownAnswer)| match is_one_of_several(&answer) {
        true => ShownAnswer { title: format!("{} ({case})", answer.title), ..answer },
        false => answer,
    };
    answers.into_iter().map(told_apart).collect()
}

const PROJECTED: &str = "Projected, not measured: the rate of one core at the measured frequency, times the cores. \
    Many busy cores run at lower frequencies and share memory and caches, and two hyperthreads share one core.";

/// `Rate of one core, by certificate key along cores`.
fn title(answer: &Answer) -> String {
    if let Some(question) = &answer.rule().question {
        return question.clone();
    }
    let words = |key: &str| full::name(key).replace('-', " ");
    let metric = capitalized(&words_of(answer.operation(), answer.rule().metric.row().words));
    let along = answer.rule().along.as_ref().map(|along| format!(" along {}", words(along)));
    format!("{metric}, by {}{}", words(&answer.rule().compare), along.unwrap_or_default())
}

/// A row for each cell.
fn figures(answers: &[&Answer]) -> Table {
    let rows: Vec<(Vec<String>, &RowFigure)> =
        answers.iter().flat_map(|answer| rows(answer)).collect();
    let labels: Vec<Vec<String>> = rows.iter().map(|(label, _)| label.clone()).collect();
    let labels = without_what_is_common(&labels);
    let (first, rule) = (answers[0], answers[0].rule());
    let figures = rows.iter().filter_map(|(_, bar)| bar.figure.as_ref());
    let unit = rule.metric.row().quantity.unit_for(figures.map(Figure::median));
    let bars = || rows.iter().map(|(_, bar)| *bar);
    let label = |(label, bar): (String, &RowFigure)| TableCell::about(&bar.row.name, label);
    let number = |bar: &RowFigure| match (&bar.figure, bar.row.infeasible()) {
        (Some(figure), _) => (unit.number(figure.median()), figure.median()).into(),
        (None, Some(infeasible)) => TableCell::from(infeasible),
        (None, None) => TableCell::default(),
    };
    let ends =
        |bar: &RowFigure| bar.figure.as_ref().map(|of| interval(of, &unit)).unwrap_or_default();
    let baseline = bars().find(|bar| bar.is_baseline).map(|bar| bar.label.clone());
    let baseline = match rule.metric.row().kind {
        Kind::Tax => "plain HTTP".to_owned(),
        _ => baseline.unwrap_or_default(),
    };
    let ratio = |bar: &RowFigure| bar.ratio.as_ref().map(ratio).unwrap_or_default();
    let ratio_ends = |bar: &RowFigure| bar.ratio.as_ref().map(ratio_interval).unwrap_or_default();
    let says = |bar: &RowFigure| {
        let of = published::beside(&rule.published, bar);
        let of = of.filter(|of| published::band(of, rule.metric, Some(bar)).is_some());
        let of = of.map(|of| of.says.clone());
        let own =
            bar.row.published().iter().map(|of| format!("{} {}", of.label, of.cycles_per_byte));
        list_of(of.into_iter().chain(own))
    };
    let cores = unique(bars().flat_map(|bar| &bar.projected).map(|of| of.cores));
    let projected = cores.into_iter().map(|cores| {
        let rate = |bar: &RowFigure| {
            let of = bar.projected.iter().find(|of| of.cores == cores);
            let quantity = match rule.metric {
                Metric::CyclesPerByte => Quantity::BytesPerSecond,
                _ => Quantity::PerSecond,
            };
            of.map(|of| (brief(quantity, of.per_s), of.per_s).into()).unwrap_or_default()
        };
        let name = format!("{} cores", thousands(cores.into()));
        Column::numbers::<TableCell>(&name, "projected", bars().map(rate)).yields_to(2)
    });
    let metric = words_of(first.operation(), rule.metric.row().words);
    Table {
        columns: vec![
            Column::words("", labels.into_iter().zip(bars()).map(label)),
            Column::words(
                "",
                bars().map(|bar| bar.mark.map_or("", |mark| mark.symbol()).to_owned()),
            ),
            Column::numbers(&metric, unit.name, bars().map(number)),
            Column::numbers("interval", unit.name, bars().map(ends)).yields_to(2),
            Column::numbers("ratio", &format!("to {baseline}"), bars().map(ratio)),
            Column::numbers("interval", "", bars().map(ratio_ends)).yields_to(3),
            Column::words("limit", bars().map(|bar| limits(&bar.row))).yields_to(4),
            Column::words("published", bars().map(says)).yields_to(1),
        ]
        .into_iter()
        .chain(projected)
        .collect(),
        marks: bars().map(|bar| bar.mark).collect(),
        ..Table::default()
    }
}

/// The cells of an answer with the parts of their labels.
fn rows<'a>(answer: &'a Answer) -> Vec<(Vec<String>, &'a RowFigure)> {
    let common = answer.common_in_words();
    let of_point = |point: &'a Point| {
        let place = point.value_along();
        let label =
            |of: &RowFigure| common.iter().chain(&place).chain([&of.label]).cloned().collect();
        point.shown().map(|of| (label(of), of)).collect::<Vec<_>>()
    };
    answer.points.iter().filter(|point| point.is_compared()).flat_map(of_point).collect()
}

/// A ratio, and whether there is no difference or too few trials to say.
fn ratio(of: &Decided) -> TableCell {
    (format!("{}{}", sign(of.decision), ratio_in_short(of)), of.median()).into()
}

/// What tells each of several answers from the others, in words; of one answer nothing.
fn distinctions(answers: &[&Answer]) -> Vec<String> {
    match answers {
        [_] => vec![String::new()],
        several => combinations(several),
    }
}

/// The bills that there are, each with what tells its answer from the others.
fn bills<'a>(answers: &[&'a Answer]) -> Vec<(String, &'a Bill)> {
    let all = distinctions(answers).into_iter().zip(answers);
    all.filter_map(|(combination, answer)| Some((combination, answer.bill.as_ref()?))).collect()
}

/// What follows from the figures, a row each.
fn derived(answers: &[&Answer]) -> Option<Table> {
    let rows: Vec<(String, &Derived)> = distinctions(answers)
        .into_iter()
        .zip(answers)
        .flat_map(|(combination, answer)| {
            let label = move |of| list_of([combination.as_str(), of]);
            answer.derived.iter().map(move |of| (label(of.of.as_str()), of))
        })
        .collect();
    let unit = |of: &Derived| {
        let alike = rows.iter().filter(|(_, other)| other.name == of.name);
        of.quantity.unit_for(alike.map(|(_, other)| other.figure.median()))
    };
    let figure = |(_, of): &(String, &Derived)| {
        let median = of.figure.median();
        let sign = of.decision.map_or("", sign);
        TableCell::from((format!("{sign}{}", unit(of).text(median)), median))
    };
    (!rows.is_empty()).then(|| Table {
        title: "What follows".to_owned(),
        columns: vec![
            Column::words("", rows.iter().map(|(_, of)| capitalized(&of.name))),
            Column::words("", rows.iter().map(|(of, _)| of.clone())),
            Column::numbers("figure", "", rows.iter().map(figure)),
            Column::numbers(
                "interval",
                "",
                rows.iter().map(|(_, of)| interval(&of.figure, &unit(of))),
            )
            .yields_to(1),
        ],
        ..Table::default()
    })
}

/// One chart of the figures; along users, and where one thing gets ahead of another, one of lines for each
/// combination.
fn charts(answers: &[&Answer]) -> Vec<Chart> {
    let lines: Vec<Chart> =
        answers.iter().filter_map(|of| Some(Chart::Curve(curves::chart(of)?))).collect();
    let bars = match &answers[0].rule().along {
        Some(_) if !lines.is_empty() => Vec::new(),
        Some(_) => bars::along(answers),
        None => bars::side_by_side(answers).into_iter().collect(),
    };
    let crossovers = answers.iter().filter_map(|of| crossover::chart(&of.points, &of.crossovers));
    let stack = bill::chart(&bills(answers), subtitle(answers)).into_iter().map(Chart::Bars);
    let bars = bars.into_iter().map(Chart::Bars);
    lines.into_iter().chain(bars).chain(stack).chain(crossovers.map(Chart::Curve)).collect()
}

fn doubts(answers: &[&Answer]) -> Vec<Caveat> {
    let each = combinations(answers).into_iter().zip(answers).flat_map(|(combination, answer)| {
        answer.caveats.iter().map(move |caveat| (caveat.clone(), combination.clone()))
    });
    said_once(each, answers.len())
}

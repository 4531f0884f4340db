//! How well the figures of the answers hold: how wide their intervals are, and in how many trials
//! other work took the CPUs. Some runs measure until intervals are narrow.

use std::sync::Arc;

use journal::Entries;
use stats::rounds_to_decide;
use study::metric::Kind;
use study::{Metric, Study};
use trial::{Limit, TrialRecord, WarningKind};

use super::decisions::Decisions;
use super::point::Point;
use super::row::{Row, of_cells};
use super::row_figure::RowFigure;
use crate::figure::Figure;
use crate::findings::Quality;
use crate::label::trials;
use crate::wording::plain_percent;
use units::counted;

/// An interval that reaches further from its median than this part of it leaves too much open.
const MOST_WIDTH: f64 = 0.1;

/// With other work in more than this part of the trials, medians suffer too.
const MOST_NOISY: f64 = 0.25;

/// `None` where no answer has a figure.
pub(super) fn quality(points: &[Vec<Point>], rows: &[Arc<Row>]) -> Option<Quality> {
    let points: Vec<&Point> = points.iter().flatten().collect();
    let of_one =
        |of: &&Point| Some((stated(of).into_iter().map(|f| f.estimate.n).min()?, of.samples()));
    let (fewest, samples) = points.iter().filter_map(of_one).min()?;
    let figures: Vec<Figure> = points.iter().flat_map(|of| stated(of)).collect();
    // Of a median of 0 there is no share.
    let shares = figures.iter().filter(|figure| figure.median() != 0.0);
    let widest = shares.map(Figure::reach).fold(0.0, f64::max);
    let valid: Vec<&TrialRecord> = rows.iter().flat_map(|row| row.valid()).collect();
    let noisy = valid.iter().filter(|line| is_noisy(line)).count();
    let largest = points.iter().map(|of| of.family()).max().unwrap_or_default();
    let enough = rounds_to_decide(largest);
    let has_too_few = !figures.iter().all(|of| of.estimate.has_enough_samples())
        || points.iter().any(|of| of.has_too_few());
    let within = plain_percent(round(widest));
    let (is_good, sentence) = if noisy as f64 > MOST_NOISY * valid.len() as f64 {
        let of = format!("{noisy} of {} shared their CPUs", trials(valid.len()));
        (false, format!("Noisy: {of} with other work; rerun with other programs stopped."))
    } else if has_too_few {
        let one = samples.trim_end_matches('s');
        let of = counted(fewest as u64, one);
        (false, format!("Too few {samples}: {of} for some figures; rerun with at least {enough}."))
    } else if widest > MOST_WIDTH {
        let reach = format!("intervals reach up to {within} from their medians");
        (false, format!("Wide: {reach}; rerun with more or longer trials."))
    } else {
        (true, format!("Good: intervals within {within}."))
    };
    Some(Quality { is_good, sentence })
}

/// What the sentences state: ratios, and figures where there is no ratio.
fn stated(point: &Point) -> Vec<Figure> {
    let ratios: Vec<Figure> =
        point.figures.iter().filter_map(|entry| Some(entry.ratio.clone()?.figure)).collect();
    match ratios.is_empty() && point.kind() != Kind::Tax {
        true => point.measured().into_iter().map(|(_, figure)| figure.clone()).collect(),
        false => ratios,
    }
}

/// To whole percents, up.
fn round(share: f64) -> f64 {
    (share * 100.0 - 1e-9).ceil().max(1.0) / 100.0
}

fn is_noisy(line: &TrialRecord) -> bool {
    use WarningKind::{BusySibling, ForeignWork, Steal};
    let is_disturbed = line
        .warnings
        .iter()
        .any(|warning| matches!(warning.kind, BusySibling | ForeignWork | Steal));
    is_disturbed || line.limit() == Some(Limit::Noise)
}

/// The farthest that an interval of the answers reaches from its median, as a share of the median:
/// of their figures and ratios, or where the study has no answers, of the cells' rates. A tax is
/// judged by the share that is left, as a tax near zero has no meaningful share. Infinite where an
/// interval does not cover 95%; 0 where nothing has a figure.
pub fn widest_interval(study: &Study, entries: &Entries) -> f64 {
    let rows = of_cells(study, entries, &[]);
    let decisions = Arc::new(Decisions::of(&study.answers, &rows));
    let points: Vec<Point> = Point::all(study, &rows, &decisions).into_iter().flatten().collect();
    if points.is_empty() {
        let rates = rows.iter().filter_map(|cell| cell.figure(Metric::Rate));
        return rates.map(|rate| width(&rate)).fold(0.0, f64::max);
    }
    let widths = points.iter().flat_map(|point| {
        let is_tax = point.kind() == Kind::Tax;
        let of = |entry: &RowFigure| {
            let figure = entry.figure.as_ref().filter(|_| !is_tax);
            let widths = figure.into_iter().chain(entry.ratio.as_deref()).map(width);
            widths.fold(0.0, f64::max)
        };
        point.figures.iter().map(of).collect::<Vec<_>>()
    });
    widths.fold(0.0, f64::max)
}

fn width(figure: &Figure) -> f64 {
    if figure.estimate.has_enough_samples() { figure.reach() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::scene::Scene;

    fn widest(scene: &Scene) -> f64 {
        widest_interval(&scene.study, &scene.entries())
    }

    #[test]
    fn it_is_that_of_the_widest_figure_or_ratio_of_any_answer() {
        let mut scene = Scene::handshakes();
        let analysis = scene.analysis();
        let bars = analysis.answers.iter().flat_map(|answer| answer.shown());
        let figures = bars.flat_map(|bar| bar.figure.iter().chain(bar.ratio.as_deref()));
        let expected = figures.map(width).fold(0.0, f64::max);
        assert!(expected > 0.0299 && (widest(&scene) - expected).abs() < 1e-9, "{expected}");
        scene.trial(1, 3).scale_rate(2.0);
        scene.trial(1, 3).operations.completed *= 2;
        assert!(widest(&scene) > 0.9, "{}", widest(&scene));
    }

    #[test]
    fn too_few_trials_are_never_narrow_and_nothing_measured_is() {
        let mut scene = Scene::handshakes();
        scene.keep(|_, round| round < 5);
        assert!(widest(&scene).is_infinite());
        scene.keep(|_, _| false);
        assert!(widest(&scene) <= 0.0);
    }

    #[test]
    fn without_answers_it_is_that_of_the_rates() {
        let mut scene = Scene::handshakes();
        scene.study.answers.clear();
        assert!((widest(&scene) - 0.03).abs() < 0.001, "{}", widest(&scene));
    }
}

//! How narrow the intervals of a study's answers are, for a run that measures until they are.

use journal::Entries;
use study::metric::Kind;
use study::{Metric, Study};

use super::compared::Compared;
use super::decisions::Decisions;
use super::row;
use crate::figure::Figure;

/// The farthest that an interval of the answers reaches from its median, as a share of the median:
/// of their figures and ratios, or where the study has no answers, of the cells' rates. A tax is
/// judged by the share that is left, as a tax near zero has no meaningful share. Infinite where an
/// interval does not cover 95%; 0 where nothing has a figure.
pub fn widest_interval(study: &Study, entries: &Entries) -> f64 {
    let rows = row::of_cells(study, entries, &[]);
    let decisions = Decisions::of(&study.answers, &rows);
    let compared: Vec<Compared<'_>> =
        Compared::all(study, &rows, &decisions).into_iter().flatten().collect();
    if compared.is_empty() {
        let rates = rows.iter().filter_map(|cell| cell.figure(Metric::Rate));
        return rates.map(|rate| width(&rate)).fold(0.0, f64::max);
    }
    let widths = compared.iter().flat_map(|compared| {
        let is_tax = compared.kind() == Kind::Tax;
        let of = |entry: &super::compared::Entry<'_>| {
            let figure = entry.figure.as_ref().filter(|_| !is_tax);
            let widths = figure.into_iter().chain(entry.ratio.as_deref()).map(width);
            widths.fold(0.0, f64::max)
        };
        compared.entries.iter().map(of).collect::<Vec<_>>()
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
        let bars = analysis.answers.iter().flat_map(|answer| &answer.bars);
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

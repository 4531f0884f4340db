//! How well the figures of the answers hold: how wide their intervals are, and in how many trials
//! other work took the CPUs.

use stats::rounds_to_decide;
use study::metric::Kind;
use trial::{Limit, TrialRecord, WarningKind};

use super::compared::Compared;
use super::row::AnalysedRow;
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
pub(super) fn quality(compared: &[Vec<Compared<'_>>], rows: &[AnalysedRow<'_>]) -> Option<Quality> {
    let compared: Vec<&Compared<'_>> = compared.iter().flatten().collect();
    let of_one = |of: &&Compared<'_>| {
        Some((stated(of).into_iter().map(|f| f.estimate.n).min()?, of.samples()))
    };
    let (fewest, samples) = compared.iter().filter_map(of_one).min()?;
    let figures: Vec<Figure> = compared.iter().flat_map(|of| stated(of)).collect();
    // Of a median of 0 there is no share.
    let shares = figures.iter().filter(|figure| figure.median() != 0.0);
    let widest = shares.map(Figure::reach).fold(0.0, f64::max);
    let valid: Vec<&TrialRecord> = rows.iter().flat_map(AnalysedRow::valid).collect();
    let noisy = valid.iter().filter(|line| is_noisy(line)).count();
    let largest = compared.iter().map(|of| of.family()).max().unwrap_or_default();
    let enough = rounds_to_decide(largest);
    let has_too_few = !figures.iter().all(|of| of.estimate.has_enough_samples())
        || compared.iter().any(|of| of.has_too_few());
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
fn stated(compared: &Compared<'_>) -> Vec<Figure> {
    let ratios: Vec<Figure> =
        compared.entries.iter().filter_map(|entry| Some(entry.ratio.clone()?.figure)).collect();
    match ratios.is_empty() && compared.kind() != Kind::Tax {
        true => compared.measured().into_iter().map(|(_, figure)| figure.clone()).collect(),
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

//! Published claims, each judged by the rows of a run: whether it holds here.
//!
//! The interval decides, never the median: a claim holds where the whole interval lies in the published range,
//! and differs where all of it lies outside, with all claims of a paper decided together. Of one published figure, which no interval lies in, it holds where the
//! two do not differ significantly, if the interval is narrow enough to say so.

#[cfg(test)]
mod tests;

use serde::Serialize;
use stats::{Decision, Direction};
use study::headline::RowOf;
use study::metric::Kind;
use study::{Claim, ClaimedFigure, ClaimedRange, Cut, Metric, Study};

use crate::comparable::ratio;
use crate::figure::{Figure, decisions, paired, ratios_by_round};
use crate::limits::in_words;
use crate::mark::Mark;
use crate::measured::{IS_A_MAXIMUM, MeasuredRow, is_more_than_a_tenth};
use crate::wording::{times, with_interval};
use trial::Limit;
use units::Hertz;

/// An interval that is wider than this part of its median agrees with too much.
const WIDEST: f64 = 0.25;

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedClaim {
    /// The published figure's name.
    pub claim: String,
    /// What is claimed of what.
    pub what: String,
    /// What was published, in words.
    pub published: String,
    /// What was measured, in the metric's unit or a ratio; `None` where nothing was.
    pub figure: Option<Figure>,
    /// The same in words, with its interval.
    pub here: String,
    pub result: ClaimResult,
    /// Why it does not hold, is not decided or cannot be measured.
    pub why: Option<String>,
}

/// The claims of one published measurement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PaperClaims {
    /// The study that repeats it.
    pub study: String,
    /// Whose it is and where it was published.
    pub source: String,
    pub claims: Vec<JudgedClaim>,
}

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimResult {
    Holds,
    /// What was measured is less than what was published.
    DiffersLess,
    /// It is more.
    DiffersMore,
    /// The interval reaches over an end of what was published, or is too wide.
    NotDecided,
    TooFewTrials,
    NotMeasurable,
}

impl ClaimResult {
    /// In a table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DiffersLess => "differs (less)",
            Self::DiffersMore => "differs (more)",
            Self::NotDecided => "not decided",
            Self::TooFewTrials => "too few trials",
            Self::NotMeasurable => "not measurable here",
        }
    }
}

/// Judges claims by the rows of a run, of whose study this was cut. A table has all of them, so they are decided
/// together.
pub fn judge(claims: &[Claim], rows: &[&MeasuredRow], cut: &[Cut]) -> Vec<JudgedClaim> {
    let asked: Vec<_> = claims.iter().map(|claim| Asked::of(claim, rows, cut)).collect();
    let ends = |of: &Asked<'_>| of.ends().into_iter().flatten();
    let family = asked.iter().flatten().flat_map(|of| ends(of).map(|end| (&of.figure, end)));
    let mut decisions = decisions(family).into_iter();
    let judged = |(claim, of): (&Claim, &Result<Asked<'_>, Option<String>>)| match of {
        Ok(of) => of.judged(of.ends().map(|end| end.and_then(|_| decisions.next()))),
        Err(why) => JudgedClaim::not_measured(claim, why.clone()),
    };
    claims.iter().zip(&asked).map(judged).collect()
}

impl PaperClaims {
    /// The claims of a study of which nothing was measured, for one reason; `None` where it has none.
    pub fn not_measured(study: &Study, why: &str) -> Option<Self> {
        let source = study.claims.first()?.published.source.clone();
        let of_claim = |claim| JudgedClaim::not_measured(claim, Some(why.to_owned()));
        let claims = study.claims.iter().map(of_claim).collect();
        Some(Self { study: study.name.clone(), source, claims })
    }
}

/// The rows that decide a claim.
#[derive(Clone, Copy)]
struct Rows<'a> {
    of: &'a MeasuredRow,
    over: Option<&'a MeasuredRow>,
    than: Option<[&'a MeasuredRow; 2]>,
}

/// A claim whose figure was measured.
struct Asked<'a> {
    claim: &'a Claim,
    measured: &'a ClaimedFigure,
    rows: Rows<'a>,
    figure: Figure,
}

impl<'a> Asked<'a> {
    /// # Errors
    /// Why it has no figure, where that is known.
    fn of(claim: &'a Claim, rows: &[&'a MeasuredRow], cut: &[Cut]) -> Result<Self, Option<String>> {
        let measured = claim.measured.as_ref().ok_or_else(|| claim.why.clone())?;
        let choices = choices(measured, rows);
        let with_figure =
            choices.iter().find_map(|rows| Some((*rows, rows.figure(measured.metric)?)));
        let (rows, figure) = with_figure.ok_or_else(|| {
            Some(match choices.first() {
                Some(rows) => rows.lacking(measured.metric),
                None => absent(measured, rows, cut),
            })
        })?;
        Ok(Self { claim, measured, rows, figure })
    }

    /// What the client limited says nothing of the server.
    fn is_of_client(&self) -> bool {
        self.measured.metric.row().kind == Kind::Throughput && self.rows.has(Mark::ClientBound)
    }

    /// Those of the published range that the figure is to be compared with.
    fn ends(&self) -> [Option<f64>; 2] {
        let ClaimedRange { low, high } = self.claim.range(self.measured.metric);
        [low, high].map(|end| end.filter(|_| !self.is_of_client()))
    }

    /// By what the figure shows beside the ends.
    fn judged(&self, beside: [Option<Decision>; 2]) -> JudgedClaim {
        let Self { claim, measured, rows, figure } = self;
        let result = self.result(beside);
        let limited = rows.limited();
        let (result, why) = match (result, rows.disturbed()) {
            _ if self.is_of_client() => (ClaimResult::NotMeasurable, limited),
            (ClaimResult::TooFewTrials, _) => (result, None),
            // An interval does not cover what disturbs all trials alike.
            (_, Some(why)) => (ClaimResult::NotDecided, Some(why)),
            (ClaimResult::Holds, None) => (result, None),
            (_, None) => {
                let why: Vec<String> = claim.why.clone().into_iter().chain(limited).collect();
                (result, (!why.is_empty()).then(|| why.join("; ")))
            }
        };
        let here = rows.in_words(measured, figure);
        JudgedClaim { here, figure: Some(figure.clone()), ..JudgedClaim::new(claim, result, why) }
    }

    fn result(&self, beside: [Option<Decision>; 2]) -> ClaimResult {
        use Decision::{Sure, TooFew};
        use Direction::{Above, Below};
        let [low, high] = self.ends();
        let interval = self.figure.estimate.interval;
        let is_narrow = interval.high - interval.low <= WIDEST * self.figure.median().abs();
        match beside {
            [Some(TooFew), _] | [_, Some(TooFew)] => ClaimResult::TooFewTrials,
            [Some(Sure(Below)), _] => ClaimResult::DiffersLess,
            [_, Some(Sure(Above))] => ClaimResult::DiffersMore,
            [None | Some(Sure(Above)), None | Some(Sure(Below))] => ClaimResult::Holds,
            _ if low == high && is_narrow => ClaimResult::Holds,
            _ => ClaimResult::NotDecided,
        }
    }
}

impl JudgedClaim {
    fn not_measured(claim: &Claim, why: Option<String>) -> Self {
        Self::new(claim, ClaimResult::NotMeasurable, why)
    }

    fn new(claim: &Claim, result: ClaimResult, why: Option<String>) -> Self {
        Self {
            claim: claim.published.name.clone(),
            what: claim.published.what.clone(),
            published: match &claim.published.place {
                Some(place) => format!("{} ({place})", claim.published.says),
                None => claim.published.says.clone(),
            },
            figure: None,
            here: String::new(),
            result,
            why,
        }
    }
}

/// The rows that are meant, in the study's order; what `over` leaves open is as in `of`.
fn choices<'a>(measured: &ClaimedFigure, rows: &[&'a MeasuredRow]) -> Vec<Rows<'a>> {
    let is = |row: &MeasuredRow, of: &RowOf| of.is(&row.case, &row.params);
    let pair = |of: &'a MeasuredRow| {
        let other = |named: &RowOf| {
            let is_open = |key: &str| !named.params.contains_key(key);
            let agrees = |row: &MeasuredRow| {
                let mut open = row.params.iter().filter(|(key, _)| is_open(key));
                open.all(|(key, value)| of.params.get(key).is_none_or(|own| own == value))
            };
            rows.iter().copied().find(|row| is(row, named) && agrees(row))
        };
        let over = match &measured.over {
            Some(named) => Some(other(named)?),
            None => None,
        };
        let than = match &measured.than {
            Some((one, two)) => Some([other(one)?, other(two)?]),
            None => None,
        };
        Some(Rows { of, over, than })
    };
    rows.iter().copied().filter(|row| is(row, &measured.of)).filter_map(pair).collect()
}

/// Why no row is meant.
fn absent(
    ClaimedFigure { of, over, than, .. }: &ClaimedFigure,
    rows: &[&MeasuredRow],
    cut: &[Cut],
) -> String {
    let because = |case: &str, key: Option<&str>| {
        let cut = cut.iter().find(|cut| cut.explains(case, key));
        cut.map(|cut| format!(" ({})", cut.what)).unwrap_or_default()
    };
    let than = than.iter().flat_map(|(one, two)| [one, two]);
    for RowOf { case, params, .. } in std::iter::once(of).chain(over).chain(than) {
        let of_case: Vec<&&MeasuredRow> = rows.iter().filter(|row| row.case == *case).collect();
        if of_case.is_empty() {
            return format!("{case} was not measured{}", because(case, None));
        }
        let is_nowhere =
            |key: &str, value| !of_case.iter().any(|row| row.params.get(key) == Some(value));
        if let Some((key, value)) = params.iter().find(|(key, value)| is_nowhere(key, value)) {
            return format!("{key} = {value} was not measured{}", because(case, Some(key)));
        }
    }
    "no such row was measured".to_owned()
}

impl<'a> Rows<'a> {
    fn all(self) -> impl Iterator<Item = &'a MeasuredRow> {
        std::iter::once(self.of).chain(self.over).chain(self.than.into_iter().flatten())
    }

    fn figure(self, metric: Metric) -> Option<Figure> {
        match (self.over, self.than) {
            (Some(over), None) if self.is_beside_algorithm() => {
                paired(self.of.samples(metric), over.samples(Metric::Rate)).ok()
            }
            (Some(over), None) => ratio(self.of, over, metric).ok(),
            (Some(over), Some([than, than_over])) => {
                ratio(self.of, over, metric).ok()?;
                ratio(than, than_over, metric).ok()?;
                let ratios = [(self.of, over), (than, than_over)].map(|(one, other)| {
                    let (over, under) = metric.ratio(one, other);
                    ratios_by_round(over.samples(metric), under.samples(metric))
                });
                paired(&ratios[0], &ratios[1]).ok()
            }
            (None, _) => self.of.whole_figure(metric),
        }
    }

    /// Whether a cell is divided by an algorithm.
    fn is_beside_algorithm(self) -> bool {
        self.of.library.is_none() && self.over.is_some_and(|over| over.library.is_some())
    }

    fn lacking(self, metric: Metric) -> String {
        let own = || match self.over {
            Some(_) if self.is_beside_algorithm() => None,
            Some(over) => {
                let why = ratio(self.of, over, metric).err()?;
                let called = [self.of, over].map(|row| format!("with {}", row.label));
                Some(why.in_words(called.each_ref().map(String::as_str)))
            }
            None => Some(self.of.fell_behind(metric)?.in_words()),
        };
        let why = self.all().find_map(|row| row.lacking.clone()).or_else(own);
        why.unwrap_or_else(|| "the figure is not known here".to_owned())
    }

    fn has(self, mark: Mark) -> bool {
        self.all().any(|row| row.mark == Some(mark))
    }

    /// What keeps a figure from being the server's, in a clause.
    fn limited(self) -> Option<String> {
        let row = self.all().find(|row| row.mark.is_some_and(Mark::is_not_a_maximum))?;
        let others = row.limits.iter().filter(|(limit, _)| !IS_A_MAXIMUM.contains(limit));
        let (limit, count) = others.max_by_key(|(_, count)| **count)?;
        let words = in_words(*limit);
        Some(format!("{words} in {count} of {} trials ({})", row.trials.valid, row.label))
    }

    /// That other work disturbed more than a tenth of the trials, or an algorithm's samples, in a clause.
    fn disturbed(self) -> Option<String> {
        let noise = |row: &MeasuredRow| row.limits.get(&Limit::Noise).copied().unwrap_or_default();
        let is_disturbed = |row: &&MeasuredRow| {
            row.mark == Some(Mark::Disturbed) || is_more_than_a_tenth(noise(row), row.trials.valid)
        };
        let row = self.all().find(is_disturbed)?;
        Some(format!("disturbed by other work on the CPUs ({})", row.label))
    }

    fn in_words(self, measured: &ClaimedFigure, figure: &Figure) -> String {
        let text = match measured.over {
            Some(_) => times(figure),
            None => with_interval(measured.metric.row().quantity, figure),
        };
        let clock = self.of.core_hz.filter(|_| measured.over.is_none());
        let clock = clock.map(|hz| format!(" at {}", Hertz(hz)));
        format!("{text}{}", clock.unwrap_or_default())
    }
}

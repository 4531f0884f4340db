//! The headline that a study's author wrote, with the figures of the cells that it names.

use std::collections::{BTreeMap, BTreeSet};

use stats::Decision;
use study::headline::{Comparing, RowOf, Said, Template, Written};
use study::metric::words_of;
use study::{AnswerRule, Cell, Metric};

use super::compared::{CLIENT, Compared};
use super::headline::{limited, undecided};
use super::offered::behind;
use super::trials::CellTrials;
use crate::figure::{Decided, Figure, difference, paired};
use crate::findings::Headline;
use crate::label::label_in;
use crate::wording::{brief, factor};

/// The cells by the names that the author gave them.
type Rows<'a> = BTreeMap<&'a str, &'a CellTrials<'a>>;

/// Two rows, one beside the other.
type Pair = (Metric, [String; 2]);

/// The author's words, of the first cells with all the figures; `None` where there are none, or too few
/// trials of them to decide: then toll words the answer.
pub(super) fn headline<'a>(
    rule: &'a AnswerRule,
    compared: &[Compared<'a>],
    trials: &'a [CellTrials<'a>],
) -> Option<Headline> {
    let written = rule.written.as_ref()?;
    choices(written, trials).find_map(|rows| Spoken { rule, written, rows }.said(compared, trials))
}

/// What a row leaves open is the same for all: one choice for each cell that the first row can be.
fn choices<'a>(
    written: &'a Written,
    trials: &'a [CellTrials<'a>],
) -> impl Iterator<Item = Rows<'a>> {
    let first = written.rows.first_key_value().into_iter();
    let firsts = first.flat_map(move |(_, first)| {
        trials.iter().filter(|of| first.is(of.cell)).map(move |of| open(first, of.cell))
    });
    firsts.filter_map(move |chosen| {
        let row = |row: &RowOf| {
            let agrees = |cell| {
                open(row, cell)
                    .iter()
                    .all(|(key, value)| *chosen.get(key).unwrap_or(value) == *value)
            };
            trials.iter().find(|of| row.is(of.cell) && agrees(of.cell))
        };
        written.rows.iter().map(|(name, of)| Some((name.as_str(), row(of)?))).collect()
    })
}

/// The swept keys of a cell that a row does not name.
fn open<'a>(row: &RowOf, cell: &'a Cell) -> BTreeMap<&'a str, &'a str> {
    let params = cell.params.iter().filter(|(key, _)| !row.params.contains_key(*key));
    params.map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

struct Spoken<'a> {
    rule: &'a AnswerRule,
    written: &'a Written,
    rows: Rows<'a>,
}

impl<'a> Spoken<'a> {
    fn said(&self, compared: &[Compared<'a>], trials: &[CellTrials<'_>]) -> Option<Headline> {
        let decided = self.decided(compared);
        let decision = match &self.written.decides {
            Some(rows) => Some(decided.get(&(self.rule.metric, rows.clone()))?.decision),
            None => None,
        };
        let (template, advice) = match decision {
            Some(Decision::TooFew) => return None,
            Some(Decision::NoDifference) => (self.written.same.as_ref()?, None),
            Some(Decision::Sure(_)) | None => {
                (&self.written.headline, self.written.advice.as_ref())
            }
        };
        let first = template.asks().ok()?.into_iter().next();
        let (value, unit) = match (decision, first) {
            (Some(Decision::NoDifference), _) => undecided(false),
            (_, Some(said)) => {
                let (Said::Figure(metric, row) | Said::Compared(_, metric, [row, _])) = &said;
                let unit =
                    words_of(self.rows.get(row.as_str())?.cell.load.operation, metric.row().words);
                (self.text(&said, &decided)?, unit.into_owned())
            }
            (_, None) => (String::new(), String::new()),
        };
        let sentence = self.filled(template, &decided)?;
        let context = self.context(trials).map(|of| format!(" ({of})")).unwrap_or_default();
        Some(Headline {
            sentence: format!(
                "{}{context}.{}",
                sentence.strip_suffix('.').unwrap_or(&sentence),
                limited(compared)
            ),
            advice: match advice {
                Some(advice) => Some(self.filled(advice, &decided)?),
                None => None,
            },
            value,
            unit,
        })
    }

    fn templates(&self) -> impl Iterator<Item = &'a Template> {
        let Written { headline, same, advice, .. } = self.written;
        std::iter::once(headline).chain(same).chain(advice)
    }

    /// How the rows that it speaks of compare. What the answer compares anyway is decided there; the
    /// others are decided together with it.
    fn decided(&self, compared: &[Compared<'a>]) -> BTreeMap<Pair, Decided> {
        let asked = self.templates().filter_map(|template| template.asks().ok()).flatten();
        let asked = asked.filter_map(|said| match said {
            Said::Compared(_, metric, rows) => Some((metric, rows)),
            Said::Figure(..) => None,
        });
        let decides = self.written.decides.iter().map(|rows| (self.rule.metric, rows.clone()));
        let pairs: BTreeSet<Pair> = asked.chain(decides).collect();
        let mut decided = BTreeMap::new();
        let mut family = Vec::new();
        for (metric, rows) in pairs {
            let cells = rows.each_ref().map(|row| self.rows.get(row.as_str()));
            let [Some(one), Some(other)] = cells else { continue };
            let known = compared.iter().filter(|of| of.rule.metric == metric);
            match { known }.find_map(|of| of.ratio(one, other)) {
                Some(known) => drop(decided.insert((metric, rows), known)),
                None => {
                    let ratio = self.ratio(one, other, metric);
                    family.extend(ratio.map(|ratio| (Some((metric, rows)), ratio)));
                }
            }
        }
        if !family.is_empty() {
            let others = compared.iter().flat_map(Compared::ratios);
            family.extend(others.map(|ratio| (None, ratio.figure.clone())));
        }
        let of_family = Decided::decide(family, 1.0).into_iter();
        decided.extend(of_family.filter_map(|(pair, ratio)| Some((pair?, ratio))));
        decided
    }

    fn ratio(
        &self,
        one: &CellTrials<'_>,
        other: &CellTrials<'_>,
        metric: Metric,
    ) -> Option<Figure> {
        match self.rule.compare == CLIENT {
            true => paired(one.samples(metric), other.samples(metric)),
            false => one.ratio(other, metric),
        }
    }

    fn filled(&self, template: &Template, decided: &BTreeMap<Pair, Decided>) -> Option<String> {
        let texts = template.asks().ok()?.into_iter().map(|said| {
            let text = self.text(&said, decided)?;
            Some((said, text))
        });
        let texts: BTreeMap<Said, String> = texts.collect::<Option<_>>()?;
        template.fill(move |said| texts.get(said).cloned().unwrap_or_default()).ok()
    }

    fn text(&self, said: &Said, decided: &BTreeMap<Pair, Decided>) -> Option<String> {
        match said {
            Said::Figure(metric, row) => {
                let trials = self.rows.get(row.as_str())?;
                let figure =
                    trials.figure(*metric).filter(|_| behind(trials, *metric).is_none())?;
                Some(brief(metric.row().quantity, figure.median()))
            }
            Said::Compared(how, metric, rows) => {
                let ratio = decided.get(&(*metric, rows.clone()))?;
                match ratio.decision {
                    Decision::TooFew => None,
                    Decision::NoDifference => Some(no_difference(*how).to_owned()),
                    Decision::Sure(_) => self.amount(*how, *metric, rows, ratio.median()),
                }
            }
        }
    }

    fn amount(
        &self,
        how: Comparing,
        metric: Metric,
        rows: &[String; 2],
        ratio: f64,
    ) -> Option<String> {
        let signed =
            |amount: f64, text: String| if amount < 0.0 { format!("−{text}") } else { text };
        match how {
            Comparing::Times => Some(factor(ratio)),
            Comparing::PercentMoreThan => {
                let more = ratio - 1.0;
                Some(signed(more, brief(units::Quantity::Share, more.abs())))
            }
            Comparing::MoreThan => {
                let [one, other] = rows.each_ref().map(|row| self.rows.get(row.as_str()));
                let more = difference(one?.samples(metric), other?.samples(metric))?.median();
                Some(signed(more, brief(metric.row().quantity, more.abs())))
            }
        }
    }

    /// Which of several cells the rows are, where they leave that open: `nginx, 1 core`.
    fn context(&self, trials: &[CellTrials<'_>]) -> Option<String> {
        let (name, row) = self.written.rows.first_key_value()?;
        let cell = self.rows.get(name.as_str())?.cell;
        let ran = || trials.iter().filter(|of| of.cell.case == cell.case && !of.lines.is_empty());
        let is_one_of_several = |(key, value): &(&str, &str)| {
            ran().any(|of| of.cell.params.get(*key).is_some_and(|other| other != value))
        };
        let open = open(row, cell).into_iter().filter(is_one_of_several);
        let words: Vec<String> =
            open.map(|(key, value)| label_in(cell.load.operation, key, value)).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

fn no_difference(how: Comparing) -> &'static str {
    match how {
        Comparing::Times => "about as much",
        Comparing::MoreThan | Comparing::PercentMoreThan => "nothing significant",
    }
}

//! The sentences that a study's author wrote, with the figures of the rows that they speak of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stats::{Decision, Direction};
use study::headline::{BestOf, Comparing, Decides, HeadlineTemplates, RowOf, Slot, Template};
use study::{AnswerRule, Metric, Param, Params};
use units::Quantity;

use super::best::best;
use super::row::{Row, groups};
use crate::figure::{Decided, difference};
use crate::findings::Headline;
use crate::wording::{NO_DIFFERENCE, brief, brief_beside, factor, sure_factor};

/// The rows by the names that the author gave them.
pub(super) type Rows<'a> = BTreeMap<&'a str, &'a Row>;

/// Two rows, one beside the other.
pub(super) type RowPair = (Metric, [String; 2]);

/// What an author wrote, and what is known of its rows.
pub(super) struct Authored<'a> {
    pub(super) rule: &'a AnswerRule,
    pub(super) written: &'a HeadlineTemplates,
    pub(super) rows: Rows<'a>,
    /// How the rows compare that the sentences speak of: ratios.
    pub(super) decided: BTreeMap<RowPair, Decided>,
}

/// Whether the rows have what the sentences say of them: rows of other cases need not have the answer's own metric.
fn has_figures(rule: &AnswerRule, written: &HeadlineTemplates, rows: &Rows<'_>) -> bool {
    let has = |metric: Metric, row: &String| {
        rows.get(row.as_str()).is_some_and(|row| row.figure(metric).is_some())
    };
    let mut slots = written.templates().flat_map(Template::asks);
    let mut decides = written.decides.iter().flat_map(|of| &of.rows);
    decides.all(|row| has(rule.metric, row))
        && slots.all(|slot| match slot {
            Slot::Name(_) => true,
            Slot::Figure(metric, row) => has(*metric, row),
            Slot::Comparison(_, metric, rows) => rows.iter().all(|row| has(*metric, row)),
        })
}

/// The first rows that all have figures. They are taken whatever they show: to go on until some show a difference would
/// find one by chance.
pub(super) fn authored<'a>(rule: &'a AnswerRule, all: &'a [Arc<Row>]) -> Option<Authored<'a>> {
    let written = rule.written.as_ref()?;
    let rows = choices(rule, written, all).find(|rows| has_figures(rule, written, rows))?;
    Some(Authored { rule, written, rows, decided: BTreeMap::new() })
}

/// What the sentences of an answer compare: in a metric one row with another, and the best with those that it was
/// chosen among.
pub(super) fn compared<'a>(
    rule: &'a AnswerRule,
    all: &'a [Arc<Row>],
) -> Vec<(Metric, [&'a Row; 2])> {
    let Some(authored) = authored(rule, all) else { return Vec::new() };
    let named = authored.named().into_iter().map(|((metric, _), rows)| (metric, rows));
    let best = authored.best();
    let rivals = best.into_iter().flat_map(|(best, of)| {
        let is_best = |row: &Row| row.name == best.name;
        let groups = groups(rule, all).into_iter();
        let own = groups.filter(|(_, rows)| rows.iter().any(|row| is_best(row)));
        let rows = own.flat_map(|(_, rows)| rows).map(Arc::as_ref);
        let rivals: Vec<_> = rows.filter(|row| !is_best(row) && of.has(&row.params)).collect();
        rivals.into_iter().map(move |row| (rule.metric, [best, row]))
    });
    named.chain(rivals).collect()
}

/// What a row leaves open is the same for all: one choice for each cell that the first row can be.
fn choices<'a>(
    rule: &'a AnswerRule,
    written: &'a HeadlineTemplates,
    all: &'a [Arc<Row>],
) -> impl Iterator<Item = Rows<'a>> {
    let first = written.rows.first_key_value().into_iter();
    let firsts = first.flat_map(move |(_, first)| {
        let firsts = all.iter().filter(|of| first.is(&of.case, &of.params));
        firsts.map(move |of| open(rule, first, &of.params))
    });
    firsts.filter_map(move |chosen| {
        let row = |row: &RowOf| {
            let agrees = |params| {
                let mut open = open(rule, row, params).into_iter();
                open.all(|(key, value)| *chosen.get(key).unwrap_or(&value) == value)
            };
            let rows = all.iter().map(Arc::as_ref);
            let mut rows = rows.filter(|of| row.is(&of.case, &of.params) && agrees(&of.params));
            match &row.best {
                Some(of) => best(rule.metric, rows.filter(|row| of.has(&row.params))),
                None => rows.next(),
            }
        };
        written.rows.iter().map(|(name, of)| Some((name.as_str(), row(of)?))).collect()
    })
}

/// The keys that a row does not name, with the values here; the best has any value of what is compared.
pub(super) fn open<'a>(
    rule: &AnswerRule,
    row: &RowOf,
    params: &'a Params,
) -> BTreeMap<&'a str, &'a Param> {
    let is_open = |key: &String| {
        !(row.params.contains_key(key) || row.best.is_some() && *key == rule.compare)
    };
    let params = params.iter().filter(|(key, _)| is_open(key));
    params.map(|(key, value)| (key.as_str(), value)).collect()
}

impl<'a> Authored<'a> {
    /// The rows that its sentences compare. One stands over the other's figures, whichever of them answers divide.
    pub(super) fn named(&self) -> Vec<(RowPair, [&'a Row; 2])> {
        let decides = self.written.decides.iter().map(|of| (self.rule.metric, of.rows.clone()));
        let pairs: BTreeSet<RowPair> = self.written.compared().into_iter().chain(decides).collect();
        let named = pairs.into_iter().filter_map(|(metric, names)| {
            let [one, other] = names.each_ref().map(|row| self.rows.get(row.as_str()));
            let (one, other) = metric.ratio(*one?, *other?);
            Some(((metric, names), [one, other]))
        });
        named.collect()
    }

    /// What the author calls the best, and of which rows.
    pub(super) fn best_of(&self) -> Option<(&'a String, &'a BestOf)> {
        self.written.rows.iter().find_map(|(name, row)| Some((name, row.best.as_ref()?)))
    }

    pub(super) fn best(&self) -> Option<(&'a Row, &'a BestOf)> {
        self.best_of().and_then(|(name, of)| Some((*self.rows.get(name.as_str())?, of)))
    }

    /// The headline with the places of its sentence; `None` where a figure is lacking, or there are too few
    /// samples to decide.
    pub(super) fn headline(&self) -> Option<(Headline, Vec<&Slot>)> {
        let (template, advice, is_same) = match &self.written.decides {
            None => (&self.written.headline, None, false),
            Some(Decides { rows, same, advice }) => {
                match self.decided.get(&(self.rule.metric, rows.clone()))?.decision {
                    Decision::TooFew => return None,
                    Decision::NoDifference => (same, None, true),
                    Decision::Sure(direction) => {
                        let is_more = direction == Direction::Above;
                        let metric = self.rule.metric;
                        // What answers divide, a sentence may have the other way round.
                        let (is_above, _) = metric.ratio(is_more, !is_more);
                        let is_better = is_above == metric.is_higher_ratio_better();
                        let advice = advice.as_ref().filter(|_| is_better);
                        (&self.written.headline, advice, false)
                    }
                }
            }
        };
        let slots: Vec<&Slot> = template.asks().collect();
        let (value, unit) = match slots.iter().find(|slot| !matches!(slot, Slot::Name(_))) {
            _ if is_same => ("≈".to_owned(), NO_DIFFERENCE.to_owned()),
            Some(first) => (self.text(first, template)?, self.unit(first)?),
            None => (String::new(), String::new()),
        };
        let advice = match advice {
            Some(advice) => Some(self.filled(advice)?),
            None => None,
        };
        Some((Headline { value, unit, sentence: self.filled(template)?, advice }, slots))
    }

    /// A sentence, which says once what the sign of its undecided comparisons means.
    fn filled(&self, template: &Template) -> Option<String> {
        let text = template.fill(|slot| self.text(slot, template))?;
        if !template.asks().any(|slot| self.is_undecided(slot)) {
            return Some(text);
        }
        let (start, end) = text.strip_suffix('.').map_or((&*text, ""), |start| (start, "."));
        Some(format!("{start} (≈: {NO_DIFFERENCE}){end}"))
    }

    fn is_undecided(&self, slot: &Slot) -> bool {
        let Slot::Comparison(_, metric, rows) = slot else { return false };
        let ratio = self.decided.get(&(*metric, rows.clone()));
        ratio.is_some_and(|ratio| ratio.decision == Decision::NoDifference)
    }

    /// What stands at one of a sentence's places.
    fn text(&self, slot: &Slot, template: &Template) -> Option<String> {
        match slot {
            Slot::Name(row) => Some(self.rows.get(row.as_str())?.label(&self.rule.compare)),
            Slot::Figure(metric, row) => {
                // In the unit of the first of its kind in the sentence.
                let first = template.asks().find_map(|slot| match slot {
                    Slot::Figure(of, row) if of == metric => self.median(*of, row),
                    _ => None,
                });
                let median = self.median(*metric, row)?;
                Some(brief_beside(metric.row().quantity, median, first.unwrap_or(median)))
            }
            Slot::Comparison(how, metric, rows) => {
                let ratio = self.decided.get(&(*metric, rows.clone()))?;
                let amount = self.amount(*how, *metric, rows, ratio)?;
                match ratio.decision {
                    Decision::TooFew => None,
                    Decision::NoDifference => Some(format!("≈ {amount}")),
                    Decision::Sure(_) => Some(amount),
                }
            }
        }
    }

    fn median(&self, metric: Metric, row: &str) -> Option<f64> {
        Some(self.rows.get(row)?.whole_figure(metric)?.median())
    }

    fn amount(
        &self,
        how: Comparing,
        metric: Metric,
        rows: &[String; 2],
        ratio: &Decided,
    ) -> Option<String> {
        let signed =
            |amount: f64, text: String| if amount < 0.0 { format!("−{text}") } else { text };
        match how {
            Comparing::Times if ratio.decision.is_sure() => Some(sure_factor(ratio.median())),
            Comparing::Times => Some(factor(ratio.median())),
            Comparing::PercentMoreThan => {
                let more = ratio.median() - 1.0;
                Some(signed(more, brief(Quantity::Share, more.abs())))
            }
            Comparing::MoreThan => {
                let [one, other] = rows.each_ref().map(|row| self.rows.get(row.as_str()));
                let more = difference(one?.samples(metric), other?.samples(metric))?.median();
                Some(signed(more, brief(metric.row().quantity, more.abs())))
            }
        }
    }

    /// What a figure counts.
    fn unit(&self, slot: &Slot) -> Option<String> {
        let (Slot::Figure(metric, row) | Slot::Comparison(_, metric, [row, _])) = slot else {
            return None;
        };
        Some(self.rows.get(row.as_str())?.counted(*metric))
    }
}

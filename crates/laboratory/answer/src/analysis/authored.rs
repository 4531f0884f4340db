//! The sentences that a study's author wrote, with the figures of the rows that they speak of.

use std::collections::BTreeMap;

use stats::{Decision, Direction};
use study::headline::{Comparing, Decides, HeadlineTemplates, Slot, Template};
use study::{AnswerRule, Metric};
use units::Quantity;

use super::row::AnalysedRow;
use crate::figure::{Decided, difference};
use crate::findings::Headline;
use crate::wording::{NO_DIFFERENCE, brief, brief_beside, factor};

/// The rows by the names that the author gave them.
pub(super) type Rows<'a> = BTreeMap<&'a str, &'a AnalysedRow<'a>>;

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

impl Authored<'_> {
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

    fn filled(&self, template: &Template) -> Option<String> {
        template.fill(|slot| self.text(slot, template))
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
            Slot::Compared(how, metric, rows) => {
                let ratio = self.decided.get(&(*metric, rows.clone()))?;
                let amount = self.amount(*how, *metric, rows, ratio.median());
                match ratio.decision {
                    Decision::TooFew => None,
                    Decision::NoDifference => Some(format!("{} ({NO_DIFFERENCE})", amount?)),
                    Decision::Sure(_) => amount,
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
        ratio: f64,
    ) -> Option<String> {
        let signed =
            |amount: f64, text: String| if amount < 0.0 { format!("−{text}") } else { text };
        match how {
            Comparing::Times => Some(factor(ratio)),
            Comparing::PercentMoreThan => {
                let more = ratio - 1.0;
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
        let (Slot::Figure(metric, row) | Slot::Compared(_, metric, [row, _])) = slot else {
            return None;
        };
        Some(self.rows.get(row.as_str())?.counted(*metric))
    }
}

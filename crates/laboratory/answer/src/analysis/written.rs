//! The headline that a study's author wrote, with the figures of the rows that it names.

use std::sync::Arc;

use study::Param;
use study::headline::Slot;
use study::metric::Kind;

use super::authored::{Authored, authored, open};
use super::best::Rivals;
use super::point::Point;
use super::row::Row;
use super::row_figure::RowFigure;
use crate::findings::Headline;
use crate::mark::Mark;

/// That a rate is not the server's maximum, in a sentence after a space.
const LIMITED: &str = " Something other than the server was the limit in some trials.";

/// The author's words, of the first rows that all have figures; `None` where there are none, or too few
/// trials of them to decide.
pub(super) fn headline(points: &[Point], all: &[Arc<Row>]) -> Option<Headline> {
    let first = points.first()?;
    let mut authored = authored(&first.rule, all)?;
    let named = authored.named().into_iter();
    let decided =
        named.filter_map(|(pair, rows)| Some((pair.clone(), first.between(pair.0, rows)?)));
    authored.decided = decided.collect();
    let (headline, slots) = authored.headline()?;
    let sentence = headline.sentence.strip_suffix('.').unwrap_or(&headline.sentence);
    let context = authored.context(all).map(|of| format!(" ({of})")).unwrap_or_default();
    let limited = if authored.is_limited(&slots) { LIMITED } else { "" };
    let is_named = |name: &String| slots.contains(&&Slot::Name(name.clone()));
    let is_named = authored.best_of().is_some_and(|(name, _)| is_named(name));
    let rivals = authored.rivals(points).in_words(first.samples(), is_named);
    Some(Headline { sentence: format!("{sentence}{context}.{rivals}{limited}"), ..headline })
}

impl<'a> Authored<'a> {
    /// What the best is beside each other that it was chosen among and that has a figure.
    fn rivals(&self, points: &[Point]) -> Rivals {
        let mut rivals = Rivals::default();
        let Some((best, of)) = self.best() else { return rivals };
        let is_best = |entry: &RowFigure| entry.row.name == best.name;
        let own = points.iter().filter(|of| of.figures.iter().any(is_best));
        for (point, entry) in own.flat_map(|own| own.figures.iter().map(move |of| (own, of))) {
            if entry.figure.is_some() && !is_best(entry) && of.has(&entry.row.params) {
                let ratio = point.ratio(best, &entry.row);
                let name = entry.row.label(&self.rule.compare);
                rivals.add(self.rule.metric, (name, entry.figure.as_ref()), ratio.as_ref());
            }
        }
        rivals
    }

    /// Whether a rate in the sentence is not the server's maximum.
    fn is_limited(&self, slots: &[&Slot]) -> bool {
        let is_no_maximum = |row: &String| {
            self.rows.get(row.as_str()).and_then(|row| row.mark).is_some_and(Mark::is_not_a_maximum)
        };
        slots.iter().any(|slot| {
            let (metric, rows) = match slot {
                Slot::Name(_) => return false,
                Slot::Figure(metric, row) => (metric, std::slice::from_ref(row)),
                Slot::Comparison(_, metric, rows) => (metric, &rows[..]),
            };
            metric.row().kind == Kind::Throughput && rows.iter().any(is_no_maximum)
        })
    }

    /// Which of several cells the rows are, where they leave that open: `nginx, 1 core`.
    fn context(&self, all: &[Arc<Row>]) -> Option<String> {
        let (name, row) = self.written.rows.first_key_value()?;
        let own = self.rows.get(name.as_str())?;
        let ran = || all.iter().filter(|of| of.case == own.case && of.trials.done > 0);
        let is_one_of_several = |(key, value): &(&str, &Param)| {
            ran().any(|of| of.params.get(*key).is_some_and(|other| other != *value))
        };
        let open = open(self.rule, row, &own.params).into_iter().filter(is_one_of_several);
        let words: Vec<String> = open.map(|(key, _)| own.label(key)).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

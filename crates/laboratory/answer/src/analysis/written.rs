//! The headline that a study's author wrote, with the figures of the rows that it names.

use std::collections::{BTreeMap, BTreeSet};

use study::headline::{BestOf, HeadlineTemplates, RowOf, Slot};
use study::metric::Kind;
use study::{AnswerRule, Param, Params};

use super::authored::{Authored, RowPair, Rows};
use super::best::{Rivals, best};
use super::compared::{Compared, Entry};
use super::row::AnalysedRow;
use crate::comparable::ratio;
use crate::figure::Decided;
use crate::findings::Headline;
use crate::mark::Mark;

/// That a rate is not the server's maximum, in a sentence after a space.
const LIMITED: &str = " Something other than the server was the limit in some trials.";

/// The author's words, of the first rows that all have figures; `None` where there are none, or too few
/// trials of them to decide.
pub(super) fn headline<'a>(
    rule: &'a AnswerRule,
    compared: &[Compared<'a>],
    all: &'a [AnalysedRow<'a>],
) -> Option<Headline> {
    let written = rule.written.as_ref()?;
    // The first is taken whatever it shows: to go on until one shows a difference would find one by chance.
    let has_figures = |rows: &Rows<'_>| rows.values().all(|of| of.figure(rule.metric).is_some());
    let rows = choices(rule, written, all).find(has_figures)?;
    let mut authored = Authored { rule, written, rows, decided: BTreeMap::new() };
    let (decided, rivals) = authored.decided(compared);
    authored.decided = decided;
    let (headline, slots) = authored.headline()?;
    let sentence = headline.sentence.strip_suffix('.').unwrap_or(&headline.sentence);
    let context = authored.context(all).map(|of| format!(" ({of})")).unwrap_or_default();
    let limited = if authored.is_limited(&slots) { LIMITED } else { "" };
    let is_named = |name: &String| slots.contains(&&Slot::Name(name.clone()));
    let is_named = authored.best_of().is_some_and(|(name, _)| is_named(name));
    let samples = compared.first().map_or("trials", Compared::samples);
    let rivals = rivals.in_words(samples, is_named);
    Some(Headline { sentence: format!("{sentence}{context}.{rivals}{limited}"), ..headline })
}

/// What a row leaves open is the same for all: one choice for each cell that the first row can be.
fn choices<'a>(
    rule: &'a AnswerRule,
    written: &'a HeadlineTemplates,
    all: &'a [AnalysedRow<'a>],
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
            let mut rows =
                all.iter().filter(|of| row.is(&of.case, &of.params) && agrees(&of.params));
            match &row.best {
                Some(of) => best(rule.metric, rows.filter(|row| of.has(&row.params))),
                None => rows.next(),
            }
        };
        written.rows.iter().map(|(name, of)| Some((name.as_str(), row(of)?))).collect()
    })
}

/// The keys that a row does not name, with the values here; the best has any value of what is compared.
fn open<'a>(rule: &AnswerRule, row: &RowOf, params: &'a Params) -> BTreeMap<&'a str, &'a Param> {
    let is_open = |key: &String| {
        !(row.params.contains_key(key) || row.best.is_some() && *key == rule.compare)
    };
    let params = params.iter().filter(|(key, _)| is_open(key));
    params.map(|(key, value)| (key.as_str(), value)).collect()
}

/// Two rows that are compared.
enum Pair<'b, 'a> {
    Named(RowPair),
    WithBest(&'b Entry<'a>),
}

impl<'a> Authored<'a> {
    /// How the rows that it speaks of compare, and the best of several with the others. What the answer compares
    /// anyway is decided there; the rest is decided together with that answer.
    fn decided(&self, compared: &[Compared<'a>]) -> (BTreeMap<RowPair, Decided>, Rivals) {
        let decides = self.written.decides.iter().map(|of| (self.rule.metric, of.rows.clone()));
        let pairs: BTreeSet<RowPair> = self.written.compared().into_iter().chain(decides).collect();
        let named = pairs.into_iter().filter_map(|(metric, names)| {
            let [one, other] = names.each_ref().map(|row| self.rows.get(row.as_str()));
            // A sentence has the figures of one over the other's, whichever of them answers divide.
            Some((Pair::Named((metric, names)), metric, metric.ratio(*one?, *other?)))
        });
        let rivals = self
            .rivals(compared)
            .map(|(best, entry)| (Pair::WithBest(entry), self.rule.metric, (best, entry.row)));
        let mut decided = Vec::new();
        let mut family = Vec::new();
        for (pair, metric, (one, other)) in named.chain(rivals) {
            let known = compared.iter().filter(|of| of.rule.metric == metric);
            match { known }.find_map(|of| of.ratio(one, other)) {
                Some(known) => decided.push((pair, Some(known))),
                None => match ratio(one, other, metric) {
                    Ok(ratio) => family.push((Some(pair), ratio)),
                    Err(_) => decided.push((pair, None)),
                },
            }
        }
        if !family.is_empty() {
            let others = self.of_one_answer(compared).flat_map(Compared::ratios);
            family.extend(others.map(|ratio| (None, ratio.figure.clone())));
        }
        let of_family = Decided::decide(family, 1.0).into_iter();
        decided.extend(of_family.filter_map(|(pair, ratio)| Some((pair?, Some(ratio)))));
        let mut named = BTreeMap::new();
        let mut rivals = Rivals::default();
        for (pair, ratio) in decided {
            match pair {
                Pair::Named(pair) => named.extend(ratio.map(|ratio| (pair, ratio))),
                Pair::WithBest(Entry { row, figure, .. }) => {
                    let name = row.label(&self.rule.compare);
                    rivals.add(self.rule.metric, (name, figure.as_ref()), ratio.as_ref());
                }
            }
        }
        (named, rivals)
    }

    /// What the author calls the best, and of which rows.
    fn best_of(&self) -> Option<(&'a String, &'a BestOf)> {
        self.written.rows.iter().find_map(|(name, row)| Some((name, row.best.as_ref()?)))
    }

    /// The best with each other that it was chosen among and that has a figure.
    fn rivals<'b>(
        &self,
        compared: &'b [Compared<'a>],
    ) -> impl Iterator<Item = (&'a AnalysedRow<'a>, &'b Entry<'a>)> {
        let best_of =
            self.best_of().and_then(|(name, of)| Some((*self.rows.get(name.as_str())?, of)));
        let rivals = best_of.and_then(|(best, of)| {
            let is_best = move |entry: &Entry<'_>| entry.row.name == best.name;
            let compared = compared.iter().find(|of| of.entries.iter().any(is_best))?;
            let is_rival = move |entry: &&Entry<'_>| {
                entry.figure.is_some() && !is_best(entry) && of.has(&entry.row.params)
            };
            Some(compared.entries.iter().filter(is_rival).map(move |entry| (best, entry)))
        });
        rivals.into_iter().flatten()
    }

    /// What belongs to one answer with the rows: along a key all of its values.
    fn of_one_answer<'b>(
        &self,
        compared: &'b [Compared<'a>],
    ) -> impl Iterator<Item = &'b Compared<'a>> {
        let common = |of: &Compared<'_>| {
            let along = |key: &String| self.rule.along.as_ref() == Some(key);
            let common = of.common.iter().filter(|(key, _)| !along(key));
            common.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
        };
        let has_row = |of: &&Compared<'_>| {
            let is_row = |name: &str| self.rows.values().any(|row| row.name == name);
            of.entries.iter().any(|entry| is_row(&entry.row.name))
        };
        let own: Vec<_> = compared.iter().filter(has_row).map(common).collect();
        compared.iter().filter(move |of| own.contains(&common(of))).collect::<Vec<_>>().into_iter()
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
                Slot::Compared(_, metric, rows) => (metric, &rows[..]),
            };
            metric.row().kind == Kind::Throughput && rows.iter().any(is_no_maximum)
        })
    }

    /// Which of several cells the rows are, where they leave that open: `nginx, 1 core`.
    fn context(&self, all: &[AnalysedRow<'_>]) -> Option<String> {
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

//! The headline that a study's author wrote, with the figures of the rows that it names.

use std::collections::{BTreeMap, BTreeSet};

use study::headline::{HeadlineTemplates, RowOf, Slot};
use study::metric::Kind;
use study::{AnswerRule, Metric, Param, Params};

use super::authored::{Authored, RowPair, Rows};
use super::compared::{Compared, Entry};
use super::headline::LIMITED;
use super::row::Row;
use crate::comparable::ratio;
use crate::figure::Decided;
use crate::findings::Headline;
use crate::mark::Mark;
use crate::wording::list;

/// The author's words, of the first rows that all have figures; `None` where there are none, or too few
/// trials of them to decide: then toll words the answer.
pub(super) fn headline<'a>(
    rule: &'a AnswerRule,
    compared: &[Compared<'a>],
    all: &'a [Row<'a>],
) -> Option<Headline> {
    let written = rule.written.as_ref()?;
    // The first is taken whatever it shows: to go on until one shows a difference would find one by chance.
    let has_figures = |rows: &Rows<'_>| rows.values().all(|of| of.figure(rule.metric).is_some());
    let rows = choices(rule, written, all).find(has_figures)?;
    let named = Named { rule, written, rows };
    let decided = named.decided(compared);
    let (metric, compare, rows) = (rule.metric, rule.compare.as_str(), &named.rows);
    let (headline, slots) = Authored { written, metric, compare, rows, decided }.headline()?;
    let sentence = headline.sentence.strip_suffix('.').unwrap_or(&headline.sentence);
    let context = named.context(all).map(|of| format!(" ({of})")).unwrap_or_default();
    let limited = if named.is_limited(&slots) { LIMITED } else { "" };
    let equals = named.as_good(compared, &slots).unwrap_or_default();
    Some(Headline { sentence: format!("{sentence}{context}.{equals}{limited}"), ..headline })
}

/// What a row leaves open is the same for all: one choice for each cell that the first row can be.
fn choices<'a>(
    rule: &'a AnswerRule,
    written: &'a HeadlineTemplates,
    all: &'a [Row<'a>],
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

fn best<'a>(metric: Metric, rows: impl Iterator<Item = &'a Row<'a>>) -> Option<&'a Row<'a>> {
    let sign = if metric.is_higher_better() { 1.0 } else { -1.0 };
    let figures = rows.filter_map(|of| Some((of, sign * of.figure(metric)?.median())));
    figures.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(of, _)| of)
}

/// The keys that a row does not name, with the values here; the best has any value of what is compared.
fn open<'a>(rule: &AnswerRule, row: &RowOf, params: &'a Params) -> BTreeMap<&'a str, &'a Param> {
    let is_open = |key: &String| {
        !(row.params.contains_key(key) || row.best.is_some() && *key == rule.compare)
    };
    let params = params.iter().filter(|(key, _)| is_open(key));
    params.map(|(key, value)| (key.as_str(), value)).collect()
}

struct Named<'a> {
    rule: &'a AnswerRule,
    written: &'a HeadlineTemplates,
    rows: Rows<'a>,
}

impl<'a> Named<'a> {
    /// How the rows that it speaks of compare. What the answer compares anyway is decided there; the
    /// others are decided together with that answer.
    fn decided(&self, compared: &[Compared<'a>]) -> BTreeMap<RowPair, Decided> {
        let decides = self.written.decides.iter().map(|of| (self.rule.metric, of.rows.clone()));
        let pairs: BTreeSet<RowPair> = self.written.compared().into_iter().chain(decides).collect();
        let mut decided = BTreeMap::new();
        let mut family = Vec::new();
        for (metric, rows) in pairs {
            let cells = rows.each_ref().map(|row| self.rows.get(row.as_str()));
            let [Some(one), Some(other)] = cells else { continue };
            // A sentence has the figures of one over the other's, whichever of them answers divide.
            let (own, its) = metric.ratio(one, other);
            let known = compared.iter().filter(|of| of.rule.metric == metric);
            match { known }.find_map(|of| of.ratio(own, its)) {
                Some(known) => drop(decided.insert((metric, rows), known)),
                None => {
                    let ratio = ratio(own, its, metric);
                    family.extend(ratio.map(|ratio| (Some((metric, rows)), ratio)));
                }
            }
        }
        if !family.is_empty() {
            let others = self.of_one_answer(compared).flat_map(Compared::ratios);
            family.extend(others.map(|ratio| (None, ratio.figure.clone())));
        }
        let of_family = Decided::decide(family, 1.0).into_iter();
        decided.extend(of_family.filter_map(|(pair, ratio)| Some((pair?, ratio))));
        decided
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

    /// Those that are not shown to be worse than the best, where that is named.
    fn as_good(&self, compared: &[Compared<'_>], slots: &[Slot]) -> Option<String> {
        let mut rows = self.written.rows.iter();
        let (name, best_of) = rows.find_map(|(name, row)| Some((name, row.best.as_ref()?)))?;
        let own =
            self.rows.get(name.as_str()).filter(|_| slots.contains(&Slot::Name(name.clone())))?;
        let is_own = |entry: &Entry<'_>| entry.row.name == own.name;
        let compared = compared.iter().find(|of| of.entries.iter().any(is_own))?;
        let is_rival = |of: &&Entry<'_>| of.figure.is_some() && best_of.has(&of.row.params);
        let rivals: Vec<&Entry<'_>> = compared.entries.iter().filter(is_rival).collect();
        let others = compared.best(&rivals).into_iter().filter(|of| !is_own(of));
        let others: Vec<String> = others.map(|of| of.row.label(&self.rule.compare)).collect();
        (!others.is_empty()).then(|| format!(" Not shown to be worse: {}.", list(others)))
    }

    /// Whether a rate in the sentence is not the server's maximum.
    fn is_limited(&self, slots: &[Slot]) -> bool {
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
    fn context(&self, all: &[Row<'_>]) -> Option<String> {
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

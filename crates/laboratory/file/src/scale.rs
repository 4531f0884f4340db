//! `[scale.NAME]`: another size of the same study, such as a shorter one, for `toll run --scale NAME`.
//!
//! What it says takes the place of what the study says, wherever that stands: `trials`, keys of
//! target, load and find, and the values of sweeps. What it says of one case, as
//! `case.NAME.load.duration`, comes before what it says of all. What was changed is noted, so that a report can
//! say that it is of another size.

use super::about::Cases;
use super::case::{Case, MOST_CELLS, Sweep, Swept, sweep};
use super::document::Trials;
use super::draft::Draft;
use super::error::Flaw;
use super::fields::Field;
use super::keys::{KeyTable, StudyKey};
use super::merged::Level;
use super::primitives;
use super::up_to::UpTo;
use ::keys::did_you_mean;
use study::{AnswerRule, Cut, LostRows, primitive};

/// A scale of a file.
pub(super) struct Scale<'a>(Field<'a>);

const CASES: &str = "cases";
const CASE: &str = "case";

impl<'a> Scale<'a> {
    /// The scale that is wanted, if one is.
    pub(super) fn find(fields: Field<'a>, wanted: Option<&str>) -> Result<Option<Self>, Flaw> {
        let Some(wanted) = wanted else { return Ok(None) };
        let scales: Vec<Field<'a>> =
            fields.get("scale").into_iter().flat_map(Field::iter).collect();
        if let Some(scale) = scales.iter().find(|scale| scale.key == wanted) {
            return Ok(Some(Self(*scale)));
        }
        let hint = match scales.is_empty() {
            true => "; the study has none, so leave --scale out".to_owned(),
            false => did_you_mean(wanted, "there are:", scales.iter().map(|scale| scale.key)),
        };
        Err(Flaw::lacking(format!("`{wanted}` is not a scale of this study{hint}")))
    }

    /// Which of all cases are those of this scale. The others are added to `cut`.
    pub(super) fn has(&self, all: &[Case<'_>], cut: &mut Vec<Cut>) -> Result<Vec<bool>, Flaw> {
        let Some(field) = self.0.get(CASES) else { return Ok(vec![true; all.len()]) };
        let mut has = vec![false; all.len()];
        for field in field.one_or_more() {
            let name = field.text()?;
            let Some(index) = all.iter().position(|case| case.name == name) else {
                let names = all.iter().map(|case| case.name.as_str());
                let hint = did_you_mean(name, "its cases are", names);
                return Err(field.wrong(&format!("is not a case of this study{hint}")));
            };
            has[index] = true;
        }
        let mut note = self.note(cut);
        for (case, _) in all.iter().zip(&has).filter(|(_, has)| !**has) {
            let of_case = Cut::new("fewer cases", format!("without case {}", case.name));
            note(of_case.losing(LostRows::Of(vec![case.name.clone()])));
        }
        Ok(has)
    }

    /// Leaves out answers to whose baseline the scale has left nothing to compare. They are added to
    /// `cut`.
    pub(super) fn drop_answers(
        &self,
        cases: &Cases<'_>,
        answers: &mut Vec<AnswerRule>,
        cut: &mut Vec<Cut>,
    ) {
        let mut note = self.note(cut);
        answers.retain(|rule| {
            let sweep = cases.get(&*rule.case).and_then(|(case, _)| case.sweep(&rule.compare));
            let named = |values: &[Swept<'_>]| {
                let texts = values.iter().map(|value| value.text.clone());
                texts.filter(|text| rule.names(text)).collect::<Vec<String>>()
            };
            let has_more =
                rule.along.is_some() || !rule.published.is_empty() || !rule.gates.is_empty();
            let is_empty = sweep.is_some_and(|of| {
                named(&of.values) == [&*rule.baseline] && named(&of.written).len() > 1
            });
            if is_empty && !has_more {
                let what = format!(
                    "without the answer over {} of case {}, which has one value",
                    rule.compare, rule.case
                );
                note(Cut::new("fewer answers", what));
            }
            !is_empty || has_more
        });
    }

    /// Adds what was changed to `cut`, each change once.
    fn note<'c>(&self, cut: &'c mut Vec<Cut>) -> impl FnMut(Cut) + use<'c> {
        let scale = self.0.key.to_owned();
        move |of: Cut| {
            let what = format!("scale {scale}: {}", of.what);
            let clause = Cut { what, scale: Some(scale.clone()), ..of };
            if !cut.contains(&clause) {
                cut.push(clause);
            }
        }
    }

    /// Changes the tables of primitives. What was changed is added to `cut`.
    pub(super) fn apply_to_tables(
        &self,
        tables: &mut [primitive::AlgorithmTable],
        cut: &mut Vec<Cut>,
    ) -> Result<(), Flaw> {
        let mut note = self.note(cut);
        match self.0.get(primitives::NAME) {
            Some(field) => primitives::scale(field, tables, &mut note),
            None => Ok(()),
        }
    }

    /// Changes the cases; the number of trials that holds now. What was changed is added to `cut`.
    pub(super) fn apply(
        &self,
        trials: u32,
        cases: &mut [Case<'a>],
        cut: &mut Vec<Cut>,
    ) -> Result<u32, Flaw> {
        let mut note = self.note(cut);
        set(self.0, cases, &mut note)?;
        for field in self.0.get(CASE).into_iter().flat_map(Field::iter) {
            let Some(index) = cases.iter().position(|case| case.name == field.key) else {
                let names = cases.iter().map(|case| case.name.as_str());
                let hint = did_you_mean(field.key, "there are:", names);
                return Err(field.flaw(&format!("is not a case of this scale{hint}")));
            };
            let mut note =
                |of: Cut| note(Cut { what: format!("{} in case {}", of.what, field.key), ..of });
            set(field, &mut cases[index..=index], &mut note)?;
        }
        if let Some(field) = self.0.get("sweep") {
            for field in field.iter() {
                set_sweep(field, cases, &mut note)?;
            }
        }
        match self.0.get("trials") {
            None => Ok(trials),
            Some(field) => {
                let UpTo(shorter) = field.read::<Trials>()?;
                if shorter != trials {
                    note(Cut::of_key("trials", format!("trials = {shorter} instead of {trials}")));
                }
                Ok(shorter)
            }
        }
    }
}

/// Puts what is written in `[target]`, `[load]` and `[find]` into these cases; a search into those that have one.
fn set<'a>(
    written: Field<'a>,
    cases: &mut [Case<'a>],
    note: &mut impl FnMut(Cut),
) -> Result<(), Flaw> {
    for table in KeyTable::ALL {
        let Some(fields) = written.get(table.name()) else { continue };
        for field in fields.iter() {
            let is_own = |key: StudyKey| key.table == table && key.name == field.key;
            let is_swept = |case: &&Case<'_>| case.sweeps.iter().any(|sweep| is_own(sweep.key));
            if let Some(case) = cases.iter().find(is_swept) {
                return Err(field.flaw(&format!(
                    "is swept by case {}; write sweep.\"{}\" = [...] in the scale",
                    case.name,
                    field.name()
                )));
            }
        }
        let has_table = |draft: &Draft<'_>| table != KeyTable::Find || draft.find_line.is_some();
        for case in cases.iter_mut().filter(|case| has_table(&case.draft)) {
            let before = case.draft.values(table)?;
            case.draft.table_mut(table).apply(fields, Level::File);
            for (key, now) in case.draft.values(table)? {
                let old = before.iter().find(|(other, _)| *other == key).map(|(_, value)| value);
                if old != Some(&now) {
                    let old = old.map(|old| format!(" instead of {old}")).unwrap_or_default();
                    note(Cut::of_key(&key, format!("{}.{key} = {now}{old}", table.name())));
                }
            }
        }
    }
    Ok(())
}

fn set_sweep<'a>(
    field: Field<'a>,
    cases: &mut [Case<'a>],
    note: &mut impl FnMut(Cut),
) -> Result<(), Flaw> {
    if field.len().is_some_and(|len| len > MOST_CELLS) {
        let what = format!("has more than {MOST_CELLS} values; sweep fewer");
        return Err(field.flaw(&what));
    }
    let shorter = sweep(field)?;
    let key = shorter.key;
    let in_words = |sweep: &Sweep<'_>| {
        sweep.values.iter().map(|value| value.text.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut is_swept = false;
    for case in &mut *cases {
        for sweep in case.sweeps.iter_mut().filter(|sweep| sweep.key == key) {
            let plural = if key.name.ends_with('s') { "" } else { "s" };
            let what = format!("{key} = {} instead of {}", in_words(&shorter), in_words(sweep));
            let kind = format!("fewer {}{plural}", key.name.replace('-', " "));
            let lost = LostRows::ByKey { key: key.to_string(), case: None };
            note(Cut::new(&kind, what).losing(lost));
            sweep.values.clone_from(&shorter.values);
            is_swept = true;
        }
    }
    if !is_swept {
        return Err(field.flaw("is swept by no case of this study; leave it out of the scale"));
    }
    cases.iter().try_fold(0, |size, case| case.size_with(size)).map(drop)
}

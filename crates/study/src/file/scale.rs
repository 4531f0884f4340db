//! `[scale.NAME]`: another size of the same study, such as a shorter one, for `toll run --scale NAME`.
//!
//! What it says takes the place of what the study says, wherever that stands: `trials`, keys of
//! target, load and find, and the values of sweeps. What was changed is told, so that a report can
//! say that it is of another size.

use super::case::{Case, Sweep, sweep};
use super::draft::Origin;
use super::error::Flaw;
use super::fields::{Field, Fields, Source};
use super::find;
use super::keys::{Key, Table};
use super::primitives;
use super::suggest::did_you_mean;
use crate::primitive;

/// A scale of a file.
pub(super) struct Scale<'a> {
    name: &'a str,
    fields: Fields<'a>,
}

const KEYS: [&str; 6] = ["trials", "target", "load", find::NAME, "sweep", primitives::NAME];

impl<'a> Scale<'a> {
    /// The scale that is wanted, if one is.
    pub(super) fn find(
        source: Source<'a>,
        fields: &Fields<'a>,
        wanted: Option<&str>,
    ) -> Result<Option<Self>, Flaw> {
        let scales = match fields.get("scale") {
            Some(field) => Fields::all(source, field.table()?, "scale."),
            None => Fields::none(),
        };
        let mut found = None;
        for scale in scales.iter() {
            let fields = Fields::all(source, scale.table()?, &format!("{}.", scale.name));
            fields.check_known("a scale", &KEYS)?;
            if wanted == Some(scale.key) {
                found = Some(Self { name: scale.key, fields });
            }
        }
        match (wanted, &found) {
            (Some(wanted), None) => {
                let names: Vec<_> = scales.iter().map(|scale| scale.key).collect();
                let hint = match names.is_empty() {
                    true => "; the study has none, so leave --scale out".to_owned(),
                    false => did_you_mean(wanted, "there are:", names.iter().copied()),
                };
                Err(Flaw::lacking(format!("`{wanted}` is no scale of this study{hint}")))
            }
            _ => Ok(found),
        }
    }

    /// Changes the tables of primitives. What was changed is added to `cut`.
    pub(super) fn apply_to_tables(
        &self,
        source: Source<'_>,
        tables: &mut [primitive::Table],
        cut: &mut Vec<String>,
    ) -> Result<(), Flaw> {
        let mut told = |what: String| {
            let clause = format!("scale {}: {what}", self.name);
            if !cut.contains(&clause) {
                cut.push(clause);
            }
        };
        match self.fields.get(primitives::NAME) {
            Some(field) => primitives::scale(source, field, tables, &mut told),
            None => Ok(()),
        }
    }

    /// Changes the cases; the number of trials that holds now. What was changed is added to `cut`.
    pub(super) fn apply(
        &self,
        source: Source<'_>,
        trials: u32,
        cases: &mut [Case],
        cut: &mut Vec<String>,
    ) -> Result<u32, Flaw> {
        let mut told = |what: String| {
            let clause = format!("scale {}: {what}", self.name);
            if !cut.contains(&clause) {
                cut.push(clause);
            }
        };
        for table in Table::ALL {
            if let Some(field) = self.fields.get(table.name()) {
                set(source, field, table, cases, &mut told)?;
            }
        }
        if let Some(field) = self.fields.get(find::NAME) {
            set_find(source, field, cases, &mut told)?;
        }
        if let Some(field) = self.fields.get("sweep") {
            for field in Fields::all(source, field.table()?, "").iter() {
                set_sweep(field, cases, &mut told)?;
            }
        }
        match self.fields.get("trials") {
            None => Ok(trials),
            Some(field) => {
                let shorter = super::trials(field)?;
                told(format!("trials = {shorter} instead of {trials}"));
                Ok(shorter)
            }
        }
    }
}

fn set(
    source: Source<'_>,
    field: &Field<'_>,
    table: Table,
    cases: &mut [Case],
    told: &mut impl FnMut(String),
) -> Result<(), Flaw> {
    let fields = Fields::all(source, field.table()?, &format!("{}.", table.name()));
    let names: Vec<_> = table.keys().map(|key| key.name).collect();
    fields.check_known(&format!("a {}", table.name()), &names)?;
    for field in fields.iter() {
        let Some(key) = table.keys().find(|key| key.name == field.key) else { continue };
        if let Some(case) = cases.iter().find(|case| case.sweep(key.full).is_some()) {
            return Err(field.flaw(&format!(
                "is swept by case {}; write sweep.\"{}\" = [...] in the scale",
                case.name, key.full
            )));
        }
        for case in &mut *cases {
            let before = key.show(&case.draft);
            key.read(field, &mut case.draft, Origin::file(field.line))?;
            told(instead(key, key.show(&case.draft), before));
        }
    }
    Ok(())
}

fn instead(key: &Key, now: Option<String>, before: Option<String>) -> String {
    let now = now.unwrap_or_default();
    match before {
        Some(before) => format!("{} = {now} instead of {before}", key.full),
        None => format!("{} = {now}", key.full),
    }
}

fn set_find(
    source: Source<'_>,
    field: &Field<'_>,
    cases: &mut [Case],
    told: &mut impl FnMut(String),
) -> Result<(), Flaw> {
    for case in cases.iter_mut().filter(|case| case.draft.find.is_said()) {
        let before = case.draft.find.toml();
        case.draft.find.apply(source, field, Origin::file)?;
        for (key, now) in case.draft.find.toml() {
            let old = before.iter().find(|(other, _)| *other == key).map(|(_, value)| value);
            if old != Some(&now) {
                let old = old.map(|old| format!(" instead of {old}")).unwrap_or_default();
                told(format!("find.{key} = {now}{old}").replace('"', ""));
            }
        }
    }
    Ok(())
}

fn set_sweep(
    field: &Field<'_>,
    cases: &mut [Case],
    told: &mut impl FnMut(String),
) -> Result<(), Flaw> {
    let shorter = sweep(field)?;
    let key = shorter.key;
    let in_words = |sweep: &Sweep| {
        sweep.values.iter().map(|value| value.text.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut is_swept = false;
    for case in cases {
        for sweep in case.sweeps.iter_mut().filter(|sweep| sweep.key.full == key.full) {
            told(format!("{} = {} instead of {}", key.full, in_words(&shorter), in_words(sweep)));
            sweep.values.clone_from(&shorter.values);
            is_swept = true;
        }
    }
    match is_swept {
        true => Ok(()),
        false => Err(field.flaw("is swept by no case of this study; leave it out of the scale")),
    }
}

//! A study as a file that leaves nothing to be guessed.

use std::collections::BTreeSet;

use super::SCHEMA;
use super::draft::Draft;
use super::find::FindDraft;
use super::keys::{KEYS, Key, Table, toml_text};
use super::{primitive_answer, primitives};
use crate::study::{AnswerRule, Cell, Study};

impl Study {
    /// The study as a file with every key and every unit written out, the CPUs among them. Reading it
    /// gives an equal study, on any machine that has these CPUs.
    #[must_use]
    pub fn resolved(&self) -> String {
        let cases: Vec<_> = self.cells.chunk_by(|a, b| a.case == b.case).map(Case::of).collect();
        let shared: Vec<_> =
            KEYS.iter().filter_map(|key| Some((key, shared_by_all(key, &cases)?))).collect();
        let is_shared = |key: &Key| shared.iter().any(|(shared, _)| shared.full == key.full);

        let mut text = format!(
            "# A study with everything written out, as it was run.\n\n\
             schema = {SCHEMA}\nname = {}\nquestion = {}\nseed = {}\ntrials = {}\n",
            toml_text(&self.name),
            toml_text(&self.question),
            self.seed,
            self.trials
        );
        if let Some(reference) = &self.reference {
            text.push_str(&format!("reference = {}\n", toml_text(reference)));
        }
        if !self.cut.is_empty() {
            let cut: Vec<_> = self.cut.iter().map(|cut| toml_text(cut)).collect();
            text.push_str(&format!("cut = [{}]\n", cut.join(", ")));
        }
        for table in Table::ALL {
            let lines = shared
                .iter()
                .filter(|(key, _)| key.table == table)
                .map(|(key, value)| format!("{} = {}\n", key.name, key.toml(value)));
            push(&mut text, &format!("[{}]", table.name()), lines);
        }
        for case in &cases {
            let name = format!("name = {}\n", toml_text(case.name));
            let fixed = case
                .fixed
                .iter()
                .filter(|(key, _)| !is_shared(key))
                .map(|(key, value)| format!("{} = {}\n", key.full, key.toml(value)));
            let find = case.find.iter().map(|(key, value)| format!("find.{key} = {value}\n"));
            let sweeps = case.sweeps.iter().map(|(key, values)| {
                let values: Vec<_> = values.iter().map(|value| key.toml(value)).collect();
                format!("sweep.\"{}\" = [{}]\n", key.full, values.join(", "))
            });
            push(
                &mut text,
                "[[case]]",
                std::iter::once(name).chain(fixed).chain(find).chain(sweeps),
            );
        }
        for table in &self.primitives.tables {
            push(&mut text, "[[primitives]]", primitives::toml(table).into_iter());
        }
        for rule in &self.answers {
            let AnswerRule { case, metric, compare, baseline, along, published, project } = rule;
            let baseline =
                Key::swept(compare).map_or_else(|_| toml_text(baseline), |key| key.toml(baseline));
            let lines = [
                format!("case = {}\n", toml_text(case)),
                format!("metric = {}\n", toml_text(metric.name())),
                format!("compare = {}\n", toml_text(compare)),
                format!("baseline = {baseline}\n"),
            ];
            let name = |key: &str, name: &str| format!("{key} = {}\n", toml_text(name));
            let along = along.iter().map(|along| name("along", along));
            let published = published.iter().map(|figure| name("published", &figure.name));
            let project = (!project.is_empty()).then(|| format!("project = {project:?}\n"));
            let lines = lines.into_iter().chain(along).chain(published).chain(project);
            push(&mut text, "[[answer]]", lines);
        }
        for rule in &self.primitives.answers {
            push(&mut text, "[[answer]]", primitive_answer::toml(rule).into_iter());
        }
        text
    }
}

impl Cell {
    /// Every key of the cell's server and load with its value, as a study file has them; without those
    /// that are left open.
    #[must_use]
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let draft = Draft::from(self);
        KEYS.iter().filter_map(|key| Some((key.full, key.show(&draft)?))).collect()
    }
}

fn push(text: &mut String, header: &str, lines: impl Iterator<Item = String>) {
    text.push('\n');
    text.push_str(header);
    text.push('\n');
    text.extend(lines);
}

/// What a case says by itself, and what it sweeps, found again from its cells.
struct Case<'a> {
    name: &'a str,
    fixed: Vec<(&'static Key, String)>,
    /// What is searched for.
    find: Vec<(&'static str, String)>,
    /// In the order in which they were swept.
    sweeps: Vec<(&'static Key, Vec<&'a str>)>,
}

impl<'a> Case<'a> {
    fn of(cells: &'a [Cell]) -> Self {
        let swept = |key: &Key| cells.iter().any(|cell| cell.params.contains_key(key.full));
        let drafts: Vec<_> = cells.iter().map(Draft::from).collect();
        let fixed = KEYS.iter().filter(|key| !swept(key));
        let fixed = fixed.filter_map(|key| Some((key, only_value(key, &drafts)?))).collect();
        let mut sweeps: Vec<_> = KEYS.iter().filter(|key| swept(key)).collect();
        // The faster a key changes, the later it was swept.
        sweeps.sort_by_key(|key| std::cmp::Reverse(run_length(key, cells)));
        let sweeps = sweeps.into_iter().map(|key| (key, values(key, cells))).collect();
        let find = find(cells);
        Self { find, name: cells.first().map_or("", |cell| &cell.case), fixed, sweeps }
    }
}

/// What all cells search for. Where they hold it for different times, those are their durations.
fn find(cells: &[Cell]) -> Vec<(&'static str, String)> {
    let Some(find) = cells.first().and_then(|cell| cell.find) else { return Vec::new() };
    let has_one_hold =
        cells.iter().all(|cell| cell.find.is_some_and(|other| other.hold == find.hold));
    let draft = FindDraft::from(&find);
    if has_one_hold { draft.toml() } else { draft.without_hold().toml() }
}

/// The value that all cells have which have any. Where they differ, though the key is not swept, it
/// follows from one that is, as a version does from suites.
fn only_value(key: &Key, drafts: &[Draft]) -> Option<String> {
    let values: BTreeSet<_> = drafts.iter().filter_map(|draft| key.show(draft)).collect();
    match values.len() {
        1 => values.into_iter().next(),
        _ => None,
    }
}

/// How many cells have the first value of a key before the next value comes.
fn run_length(key: &Key, cells: &[Cell]) -> usize {
    let value = |cell: &'_ Cell| cell.params.get(key.full).cloned();
    let first = cells.first().and_then(value);
    cells.iter().take_while(|cell| value(cell) == first).count()
}

/// The values of a swept key, in the order in which they come.
fn values<'a>(key: &Key, cells: &'a [Cell]) -> Vec<&'a str> {
    let mut values: Vec<&str> = Vec::new();
    for value in cells.iter().filter_map(|cell| cell.params.get(key.full)) {
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
    }
    values
}

/// The value that every case says by itself, if it is one.
fn shared_by_all(key: &Key, cases: &[Case<'_>]) -> Option<String> {
    let value = |case: &Case<'_>| {
        case.fixed.iter().find(|(fixed, _)| fixed.full == key.full).map(|(_, value)| value.clone())
    };
    let first = cases.first().and_then(value)?;
    cases.iter().all(|case| value(case).as_ref() == Some(&first)).then_some(first)
}

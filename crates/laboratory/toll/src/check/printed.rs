//! What was found, for a person: the sentence first, then the evidence.

use std::fmt::Write;
use std::path::Path;

use check::settings_file::Setting;
use check::{Fix, Item, Judgement, Stage};
use observe::tuning::Made;
use report::wrapped;

use crate::screen;

/// Longer lines of words are hard to read.
const MOST_WORDS: usize = 110;
/// Of the items' names, with a space.
const NAME: usize = 17;
/// Of the states, with a space.
const STATE: usize = 9;

/// What is done now.
pub(super) fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Siblings => "measuring which CPUs share a core",
        Stage::Programs => "asking programs for their versions",
        Stage::Background => "watching other programs",
    }
}

pub(super) fn of(items: &[Item], is_set: bool) -> String {
    let mut text = format!("{}\n", sentence(items));
    if is_set {
        text += "Settings that toll made are in force; `toll check --restore` restores the former values.\n";
    }
    let (troubled, rest): (Vec<_>, Vec<_>) = items.iter().partition(|i| i.trouble().is_some());
    for items in [troubled, rest].into_iter().filter(|items| !items.is_empty()) {
        text += "\n";
        text.extend(items.into_iter().map(one));
    }
    text
}

fn sentence(items: &[Item]) -> String {
    let spoiling = items.iter().filter(|item| item.trouble().is_some()).count();
    let settable = items.iter().filter(|item| !item.changes().is_empty()).count();
    let things = match spoiling {
        0 => return "Nothing here would spoil a measurement.".to_owned(),
        1 => "1 thing spoils measurements here".to_owned(),
        n => format!("{n} things spoil measurements here"),
    };
    let set = match (settable, spoiling) {
        (0, _) => "no setting fixes it".to_owned(),
        (1, 1) => "`toll check --apply` can set it, as root".to_owned(),
        (n, all) if n == all => "`toll check --apply` can set all, as root".to_owned(),
        (n, _) => format!("`toll check --apply` can set {n} of them, as root"),
    };
    format!("{things}; {set}.")
}

fn one(item: &Item) -> String {
    let (state, seen) = match &item.judgement {
        Judgement::Ok => ("ok", item.seen.clone()),
        Judgement::Warning(_) => ("warning", item.seen.clone()),
        Judgement::Bad(_) => ("BAD", item.seen.clone()),
        Judgement::NotAvailable { why } => ("-", format!("not available here: {why}")),
    };
    let label = format!("{state:<STATE$}{:<NAME$}", item.name);
    let Some(trouble) = item.trouble() else { return paragraph(&label, &seen) };
    let indent = " ".repeat(STATE + NAME);
    let mut text = paragraph(&label, &seen);
    text += &paragraph(&format!("{indent}why:  "), &trouble.why);
    let label = format!("{indent}fix:  ");
    text += &match &trouble.fix {
        // On one line, however long, so that it can be copied.
        Fix::Setting { command, .. } | Fix::Command(command) => format!("{label}{command}\n"),
        Fix::Advice(advice) => paragraph(&label, advice),
    };
    text
}

/// The settings of a file that differ here, and what those do that do less than they promise.
pub(super) fn compared(settings: &[Setting], file: &Path) -> String {
    let (same, other): (Vec<_>, Vec<_>) = settings.iter().partition(|it| it.is_the_same());
    let mut text = format!(
        "{} of the {} settings of {} are the same here.\n",
        same.len(),
        settings.len(),
        file.display()
    );
    let noted = same.into_iter().filter(|setting| setting.note.is_some());
    let shown: Vec<&Setting> = other.into_iter().chain(noted).collect();
    let width = shown.iter().map(|setting| setting.name.len() + 2).max().unwrap_or_default();
    for Setting { name, here, there, note } in shown {
        let here = here.known().map_or("not", String::as_str);
        let note = note.map(|note| format!("; {note}")).unwrap_or_default();
        text +=
            &paragraph(&format!("{name:<width$}"), &format!("{here} here, {there} there{note}"));
    }
    text
}

pub(super) fn applied(made: &[Made], items: usize) -> String {
    let set = made.iter().filter(|made| made.refused.is_none()).count();
    let sentence = match (set, made.len()) {
        (0, 0) => format!("Nothing to set: none of the {items} items needs another setting."),
        (0, _) => "Nothing was set.".to_owned(),
        (1, _) => "1 setting was made; `toll check --restore` restores it.".to_owned(),
        (n, _) => format!("{n} settings were made; `toll check --restore` restores them."),
    };
    changes(&sentence, made)
}

pub(super) fn restored(made: &[Made]) -> String {
    let set = made.iter().filter(|made| made.refused.is_none()).count();
    let sentence = match (set, made.len()) {
        (0, 0) => "All settings already have their former values.".to_owned(),
        (0, _) => "Nothing was restored.".to_owned(),
        (1, _) => "1 setting was restored.".to_owned(),
        (n, _) => format!("{n} settings were restored."),
    };
    changes(&sentence, made)
}

fn changes(sentence: &str, made: &[Made]) -> String {
    let mut text = format!("{sentence}\n");
    for Made { file, from, to, refused } in made {
        // Writing to a string cannot fail.
        let _ = match refused {
            None => writeln!(text, "  {file}: {from} -> {to}"),
            Some(why) => writeln!(text, "  {file}: {from}, not {to}: {why}"),
        };
    }
    text
}

fn paragraph(label: &str, words: &str) -> String {
    let lines = wrapped(label, words, screen::width().min(MOST_WORDS));
    lines.into_iter().map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use check::Trouble;
    use observe::tuning::Change;

    fn item(name: &'static str, fix: Option<Fix>) -> Item {
        let judgement = match fix {
            Some(fix) => Judgement::Warning(Trouble { why: "it matters".to_owned(), fix }),
            None => Judgement::Ok,
        };
        Item { name, seen: "this and that".to_owned(), judgement }
    }

    fn setting() -> Option<Fix> {
        let change = Change { file: "/proc/sys/x".to_owned(), to: "1".to_owned() };
        Some(Fix::Setting { command: "sysctl -w x=1".to_owned(), changes: vec![change] })
    }

    fn advice() -> Option<Fix> {
        Some(Fix::Advice("wait".to_owned()))
    }

    #[test]
    fn items_and_the_sentence_that_counts_them() {
        let said = |fixes: &[Option<Fix>]| {
            let items: Vec<Item> = fixes.iter().map(|fix| item("ports", fix.clone())).collect();
            sentence(&items)
        };
        support::assert_golden!([
            ("nothing", said(&[None])),
            ("advice", said(&[None, advice()])),
            ("advice and two settings", said(&[advice(), None, setting(), setting()])),
            ("a setting", said(&[setting()])),
            ("an item", one(&item("ports", None))),
            ("an item with a setting", one(&item("ports", setting()))),
        ]);
    }

    #[test]
    fn refused_changes_are_reported_beside_made_ones() {
        let made = |refused: Option<&str>| Made {
            file: "/proc/sys/x".to_owned(),
            from: "0".to_owned(),
            to: "1".to_owned(),
            refused: refused.map(str::to_owned),
        };
        support::assert_golden!([
            ("applied", applied(&[made(None), made(Some("it needs root"))], 21)),
            ("restored", restored(&[])),
        ]);
    }
}

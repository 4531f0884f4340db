//! Words for the releases that `make systems` has made, so that a study finds them and none lists them: in a sweep of
//! `target.system` `"made"` is all of them, `"newest"` is one; an answer about them compares with the `"oldest"`, or
//! stands for each step from an `"older"` to a `"newer"` one of the same distribution.

use std::borrow::Cow;
use std::cmp::Ordering;

use keys::full::SYSTEM;
use toml::Spanned;
use toml::de::{DeArray, DeValue};

const HERE: &str = "here";
/// Those that a study asks for where none is made, whose cells are left out with what makes them.
const USUAL: [&str; 2] = ["debian-12", "debian-13"];

/// Words with the names that they stand for.
type Words<'w> = [(&'w str, &'w str)];

/// Writes the names of the releases in place of their words.
pub(super) fn name(root: &mut DeValue<'_>, mut made: Vec<String>) {
    made.sort_by(|one, other| age(one).partial_cmp(&age(other)).unwrap_or(Ordering::Equal));
    let newest = made.last().map_or(HERE, String::as_str);
    let steps: Vec<&str> = match &made[..] {
        [] => USUAL.into(),
        [only] => vec![HERE, only],
        several => several.iter().map(String::as_str).collect(),
    };
    let mut all = steps.clone();
    if made.len() > 1 {
        all.push(HERE);
    }
    let is_step = |pair: &&[&str]| pair[0] == HERE || age(pair[0]).0 == age(pair[1]).0;
    let pairs: Vec<&[&str]> = steps.windows(2).filter(is_step).collect();
    if let Some(answers) = entry(root, "answer").and_then(elements) {
        *answers = answers.iter().flat_map(|answer| repeated(answer, &pairs)).collect();
    }
    replace(root, &all, &[("newest", newest), ("oldest", steps[0])]);
}

/// An answer, or one for each step where it is about steps.
fn repeated<'i>(answer: &Spanned<DeValue<'i>>, steps: &[&[&str]]) -> Vec<Spanned<DeValue<'i>>> {
    let mut own = answer.clone();
    let is_of_steps = text(own.get_mut(), "compare").is_some_and(|key| key == SYSTEM)
        && text(own.get_mut(), "baseline").is_some_and(|baseline| baseline == "older");
    if !is_of_steps {
        return vec![own];
    }
    let of_step = |step: &&[&str]| {
        let mut own = answer.clone();
        replace(own.get_mut(), &[], &[("older", step[0]), ("newer", step[1])]);
        own
    };
    steps.iter().map(of_step).collect()
}

/// In the values of the keys that have the name of a release.
fn replace(value: &mut DeValue<'_>, all: &[&str], words: &Words<'_>) {
    if let Some(array) = elements(value) {
        array.iter_mut().for_each(|of| replace(of.get_mut(), all, words));
    }
    let DeValue::Table(table) = value else { return };
    for (key, value) in table.iter_mut() {
        let span = value.span();
        match (key.get_ref().as_ref(), value.get_mut()) {
            (SYSTEM, DeValue::String(text)) if *text == "made" && !all.is_empty() => {
                let name = |name: &&str| {
                    Spanned::new(span.clone(), DeValue::String((*name).to_owned().into()))
                };
                *value.get_mut() = DeValue::Array(all.iter().map(name).collect());
            }
            (SYSTEM | "system" | "baseline", DeValue::String(text)) => {
                if let Some((_, name)) = words.iter().find(|(word, _)| word == text) {
                    *text = Cow::Owned((*name).to_owned());
                }
            }
            (_, inner) => replace(inner, all, words),
        }
    }
}

fn entry<'t, 'i>(value: &'t mut DeValue<'i>, key: &str) -> Option<&'t mut DeValue<'i>> {
    let DeValue::Table(table) = value else { return None };
    table.get_mut(key).map(Spanned::get_mut)
}

fn elements<'t, 'i>(value: &'t mut DeValue<'i>) -> Option<&'t mut DeArray<'i>> {
    if let DeValue::Array(array) = value { Some(array) } else { None }
}

fn text<'t>(value: &'t mut DeValue<'_>, key: &str) -> Option<&'t str> {
    match entry(value, key)? {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

/// What orders releases: those of a distribution by their number, then what is to become one.
fn age(name: &str) -> (&str, f64) {
    let (distribution, release) = name.split_once('-').unwrap_or((name, ""));
    let number = match release {
        "testing" => f64::MAX,
        "unstable" => f64::INFINITY,
        number => number.parse().unwrap_or(f64::INFINITY),
    };
    (distribution, number)
}

#[cfg(test)]
mod tests {
    use cpus::{CpuList, Topology};
    use study::Study;

    use crate::read;

    const TEXT: &str = "schema = 1\nquestion = \"?\"\n[target]\nserver = \"nginx\"\n[[case]]\nname = \"c\"\nsweep.\"target.system\" = \"made\"\n\
        [[case]]\nname = \"n\"\ntarget.system = \"newest\"\n[[answer]]\ncase = \"c\"\nmetric = \"rate\"\n\
        compare = \"target.system\"\nbaseline = \"oldest\"\n[[answer]]\ncase = \"c\"\nmetric = \"rate\"\n\
        compare = \"target.system\"\nbaseline = \"older\"\nrows.old = { \"target.system\" = \"older\" }\n\
        rows.new = { \"target.system\" = \"newer\" }\n\
        headline = \"{{ new.rate | times(old.rate) }} from {{ old.name }}.\"\n";

    fn study(made: &[&str]) -> Study {
        let machine = Topology::from("0-1".parse::<CpuList>().unwrap());
        let made = made.iter().map(|name| (*name).to_owned()).collect();
        read("s.toml", TEXT, &machine, None, made).unwrap_or_else(|flaw| panic!("{}", flaw.what))
    }

    /// The systems of its cells, and the baselines of its answers with the rows of their sentences.
    fn found(made: &[&str]) -> (String, String) {
        let study = study(made);
        let systems = study.cells.iter().map(|cell| cell.target.system.to_string());
        let rows = |rule: &study::AnswerRule| {
            let rows = rule.written.iter().flat_map(|written| written.rows.values());
            let rows =
                rows.map(|row| row.params.values().map(ToString::to_string).collect::<String>());
            std::iter::once(rule.baseline.clone()).chain(rows).collect::<Vec<_>>().join(" ")
        };
        let answers = study.answers.iter().map(rows).collect::<Vec<_>>();
        (systems.collect::<Vec<_>>().join(" "), answers.join("; "))
    }

    #[test]
    fn releases_are_found_and_ordered_by_their_age() {
        let (cells, answers) = found(&["debian-testing", "debian-9", "debian-12"]);
        assert_eq!(cells, "debian-9 debian-12 debian-testing here debian-testing");
        let steps = "debian-9; debian-9 debian-12 debian-9; debian-12 debian-testing debian-12";
        assert_eq!(answers, steps);
    }

    #[test]
    fn no_step_leads_to_another_distribution() {
        let (_, answers) = found(&["debian-13", "ubuntu-24.04", "debian-12"]);
        assert_eq!(answers, "debian-12; debian-12 debian-13 debian-12");
    }

    #[test]
    fn a_single_release_is_compared_with_this_machines_own() {
        let (cells, answers) = found(&["debian-13"]);
        assert_eq!(cells, "here debian-13 debian-13");
        assert_eq!(answers, "here; here debian-13 here");
    }

    /// Their cells are left out with the line that makes them.
    #[test]
    fn where_none_is_made_the_usual_ones_are_asked_for() {
        let (cells, answers) = found(&[]);
        assert_eq!(cells, "debian-12 debian-13 here");
        assert_eq!(answers, "debian-12; debian-12 debian-13 debian-12");
    }
}

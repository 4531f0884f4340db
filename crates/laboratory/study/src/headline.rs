//! What an answer says first, in the words of the study's author: sentences with figures in them.
//!
//! A sentence is a minijinja template in which `{{ rsa2048.rate }}` is a metric of a row that the author
//! named, and `{{ get.server_cpu_per_operation | more_than(rsa2048.server_cpu_per_operation) }}` how two of
//! them compare. What a figure is, and whether a difference is sure, is known when there are trials; here is
//! what a sentence asks for, and where an author asks for what does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use keys::did_you_mean;
use minijinja::value::Object;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::{Metric, Params};

/// What the author of a study writes of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadlineTemplates {
    /// What the sentences speak of, by the names that they have there.
    pub rows: BTreeMap<String, RowOf>,
    /// What it says where nothing is to be decided, or the difference that decides is sure.
    pub headline: Template,
    /// What decides whether that holds; absent, its figures are all that it says.
    pub decides: Option<Decides>,
}

/// A comparison that decides which sentence is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decides {
    /// Two rows, which are compared in the answer's metric.
    pub rows: [String; 2],
    /// Where there is no significant difference.
    pub same: Template,
    /// What to do where the first is surely the better one.
    pub advice: Option<Template>,
}

impl HeadlineTemplates {
    /// All of its sentences.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let others = self
            .decides
            .iter()
            .flat_map(|decides| std::iter::once(&decides.same).chain(&decides.advice));
        std::iter::once(&self.headline).chain(others)
    }

    /// The pairs of rows that its sentences compare, each in a metric.
    pub fn compared(&self) -> BTreeSet<(Metric, [String; 2])> {
        let slots = self.templates().flat_map(Template::asks);
        let pair = |slot: &Slot| match slot {
            Slot::Comparison(_, metric, rows) => Some((*metric, rows.clone())),
            Slot::Figure(..) | Slot::Name(_) => None,
        };
        slots.filter_map(pair).collect()
    }
}

/// Which cell a row is: its case, and the values of those swept keys that tell it from others. Of a table of
/// primitives: its name, and the values of its lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOf {
    pub case: String,
    /// As they are written in a study file.
    pub params: Params,
    /// Of cells that differ in what the answer compares, which of them the row is the best of.
    #[serde(default)]
    pub best: Option<BestOf>,
}

/// The cells of which a row is the best.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BestOf {
    All,
    /// Those with these values of what the answer compares.
    These(Vec<Params>),
}

impl BestOf {
    /// Whether a cell with these parameters is one of them.
    pub fn has(&self, params: &Params) -> bool {
        match self {
            Self::All => true,
            Self::These(these) => these.iter().any(|of| of.is_part_of(params)),
        }
    }
}

impl RowOf {
    /// Whether it is the row of this case with these parameters. Of several, which differ in other keys, the
    /// first is meant.
    pub fn is(&self, case: &str, params: &Params) -> bool {
        self.case == case && self.params.is_part_of(params)
    }
}

/// What is not a metric of a row: what its value of the compared key is called.
const NAME: &str = "name";

/// A sentence with figures in it, which is read once: what cannot be filled is refused with the study.
#[derive(Debug, Clone, PartialEq, Eq)]
#[derive(serde_with::DeserializeFromStr, serde_with::SerializeDisplay)]
pub struct Template {
    text: String,
    begin: String,
    /// Each with what follows it.
    slots: Vec<(Slot, String)>,
}

/// How one figure compares with another.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::VariantArray,
    strum::IntoStaticStr
)]
#[strum(serialize_all = "snake_case")]
pub enum Comparing {
    /// How many times the other it is: `2.5x`.
    Times,
    /// What it has more, in the metric's unit; with a minus where it is less.
    MoreThan,
    /// The same as a share of the other, in percent.
    PercentMoreThan,
}

/// What is filled in at one place of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// What a row's value of the compared key is called.
    Name(String),
    /// A metric of a row.
    Figure(Metric, String),
    /// That of the first beside that of the second.
    Comparison(Comparing, Metric, [String; 2]),
}

impl Template {
    /// A sentence about rows of these names, which have these metrics.
    ///
    /// # Errors
    /// It is no template, names what is none of `rows` or of `metrics`, or compares what does not compare.
    pub fn new(text: &str, rows: &[&str], metrics: &[Metric]) -> Result<Self, String> {
        check_names(text, rows, metrics)?;
        text.parse()
    }

    /// What it needs, in the order in which it says it.
    pub fn asks(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().map(|(slot, _)| slot)
    }

    /// The sentence with what `say` gives for each place; `None` where it gives nothing for one.
    pub fn fill(&self, say: impl Fn(&Slot) -> Option<String>) -> Option<String> {
        let slots = self.slots.iter().map(|(slot, after)| Some(say(slot)? + after));
        std::iter::once(Some(self.begin.clone())).chain(slots).collect()
    }
}

/// What stands for a slot while a sentence is read.
const MARK: &str = "\0";

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("{%") || text.contains(MARK) {
            return Err("is no template that can be filled: it has more than {{ }}".to_owned());
        }
        let (ask, asked) = mpsc::channel();
        let mut environment = environment();
        for how in Comparing::VARIANTS {
            let ask = ask.clone();
            environment.add_filter(<&str>::from(*how), move |one: Value, other: Value| {
                compared(*how, &one, &other, &ask)
            });
        }
        let template = environment.template_from_str(text).map_err(in_words)?;
        let rows = template.undeclared_variables(false).into_iter();
        let rows: BTreeMap<String, Value> =
            rows.map(|row| (row.clone(), attributes(&row, &ask))).collect();
        let rendered = template.render(rows).map_err(in_words)?;
        let mut texts = rendered.split(MARK).map(str::to_owned);
        let begin = texts.next().unwrap_or_default();
        let slots = asked.try_iter().zip(texts).collect();
        Ok(Self { text: text.to_owned(), begin, slots })
    }
}

fn check_names(text: &str, rows: &[&str], metrics: &[Metric]) -> Result<(), String> {
    let environment = environment();
    let template = environment.template_from_str(text).map_err(in_words)?;
    for name in template.undeclared_variables(true) {
        let (row, metric) = name.split_once('.').unwrap_or((&name, ""));
        if !rows.contains(&row) {
            let hint = did_you_mean(row, "rows has", rows.iter().copied());
            return Err(format!("names `{row}`, which is none of its rows{hint}"));
        }
        let is_known = |metric| metrics.contains(&metric);
        if metric != NAME && !metric_of(metric).is_some_and(is_known) {
            let known: Vec<String> = metrics.iter().copied().map(attribute).collect();
            let hint = did_you_mean(metric, "metrics are", known.iter().map(String::as_str));
            return Err(format!("names `{name}`, and `{metric}` is no metric{hint}"));
        }
    }
    Ok(())
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn environment<'a>() -> Environment<'a> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
}

/// What minijinja complains of, in one line.
#[allow(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
fn in_words(error: Error) -> String {
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    format!("is no template that can be filled: {what}")
}

/// `server_cpu_per_operation`: in templates a hyphen is a minus.
fn attribute(metric: Metric) -> String {
    metric.name().replace('-', "_")
}

fn metric_of(attribute: &str) -> Option<Metric> {
    Metric::of_rows().find(|metric| self::attribute(*metric) == attribute)
}

/// Its name and its metrics.
fn attributes(row: &str, ask: &Sender<Slot>) -> Value {
    let filled = |slot| Value::from_object(Filled { slot, ask: ask.clone() });
    let metrics =
        Metric::of_rows().map(|of| (attribute(of), filled(Slot::Figure(of, row.to_owned()))));
    metrics.chain([(NAME.to_owned(), filled(Slot::Name(row.to_owned())))]).collect()
}

/// A place of the sentence.
#[derive(Debug)]
struct Filled {
    slot: Slot,
    ask: Sender<Slot>,
}

impl Object for Filled {
    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The other end is there while it is read.
        let _ = self.ask.send(self.slot.clone());
        f.write_str(MARK)
    }
}

fn compared(
    how: Comparing,
    one: &Value,
    other: &Value,
    ask: &Sender<Slot>,
) -> Result<Value, Error> {
    let figure =
        |value: &Value| match value.downcast_object_ref::<Filled>().map(|filled| &filled.slot) {
            Some(Slot::Figure(metric, row)) => Ok((*metric, row.clone())),
            _ => Err(refused(how, "compares two figures, such as a.rate and b.rate")),
        };
    let ((metric, one), (of_other, other)) = (figure(one)?, figure(other)?);
    if metric != of_other {
        return Err(refused(how, "compares figures of one metric"));
    }
    let slot = Slot::Comparison(how, metric, [one, other]);
    Ok(Value::from_object(Filled { slot, ask: ask.clone() }))
}

fn refused(how: Comparing, why: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("{} {why}", <&str>::from(how)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [&str; 2] = ["rsa", "ecdsa"];

    fn template(text: &str) -> Result<Template, String> {
        Template::new(text, &ROWS, &Metric::of_cells().collect::<Vec<_>>())
    }

    #[test]
    fn a_sentence_asks_for_what_it_says_in_its_order() {
        let text = "{{ rsa.rate }}; {{ ecdsa.rate | times(rsa.rate) }} with {{ ecdsa.name }}.";
        let template = template(text).unwrap();
        let rsa = Slot::Figure(Metric::Rate, "rsa".to_owned());
        let times =
            Slot::Comparison(Comparing::Times, Metric::Rate, ["ecdsa", "rsa"].map(str::to_owned));
        let name = Slot::Name("ecdsa".to_owned());
        assert_eq!(template.asks().cloned().collect::<Vec<_>>(), [rsa, times, name.clone()]);
        let say = |slot: &Slot| match slot {
            Slot::Name(_) => "P-256".to_owned(),
            Slot::Figure(..) => "7/s".to_owned(),
            Slot::Comparison(..) => "2x".to_owned(),
        };
        assert_eq!(template.fill(|slot| Some(say(slot))).unwrap(), "7/s; 2x with P-256.");
        assert_eq!(template.fill(|slot| (*slot != name).then(|| say(slot))), None);
    }

    /// As it is in the cells of a run.
    #[test]
    fn a_sentence_that_cannot_be_filled_is_no_part_of_a_study() {
        let read = |text: &str| serde_json::from_value::<Template>(text.into());
        let text = "{{ rsa.rate }} here";
        assert_eq!(serde_json::to_value(read(text).unwrap()).unwrap(), text);
        for (text, word) in [
            ("{{ rsa.rat }}", "undefined"),
            ("{{ rsa.rate | twice }}", "twice"),
            ("{{ rsa.rate", "template"),
            ("{{ rsa.rate }}\0", "more than"),
            ("{% set x = rsa.rate ~ '' %}{{ x }}", "more than"),
        ] {
            let refused = read(text).unwrap_err().to_string();
            assert!(refused.contains(word), "{text}: {refused}");
        }
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        for (text, word) in [
            ("{{ rsa2048.rate }}", "rsa2048"),
            ("{{ rsa.rat }}", "rate"),
            ("{{ rsa.cycles_per_byte }}", "metric"),
            ("{{ rsa }}", "metric"),
            ("{{ rsa.rate | time(ecdsa.rate) }}", "time"),
            ("{{ rsa.name | times(ecdsa.name) }}", "two figures"),
            ("{{ rsa.rate | times }}", "argument"),
            ("{{ rsa.rate | times(ecdsa.p99) }}", "one metric"),
            ("{{ rsa.rate | times(2) }}", "two figures"),
            ("{{ rsa.rate ", "template"),
            ("{% include 'other' %}", "template"),
        ] {
            let refused = template(text).unwrap_err();
            assert!(refused.contains(word) && refused.lines().count() == 1, "{text}: {refused}");
        }
    }
}

//! An `[[answer]]`: one figure of the cells of a case, over the values of one swept key.

use load::Operation;
use toml::de::DeTable;

use super::case::{Case, Sweep};
use super::error::Flaw;
use super::fields::{Field, Fields, Source};
use super::suggest::did_you_mean;
use crate::study::{AnswerRule, Cell, Metric};

const KEYS: [&str; 4] = ["case", "metric", "compare", "baseline"];

/// The keys whose value `none` is plain HTTP.
const PLAIN: [&str; 2] = ["load.tls", "load.suite"];

/// Reads an answer about one of `cases`, whose cells are among `cells`.
pub(super) fn read(
    source: Source<'_>,
    line: usize,
    table: &DeTable<'_>,
    cases: &[Case],
    cells: &[Cell],
) -> Result<AnswerRule, Flaw> {
    let fields = Fields::all(source, table, "");
    fields.check_known("an answer", &KEYS)?;
    let get = |key: &str| {
        let lacking = || Flaw::at(line, format!("an answer has no {key}; write {key} = \"...\""));
        fields.get(key).ok_or_else(lacking)
    };
    let case = case(get("case")?, cases)?;
    let field = get("metric")?;
    let metric = metric(field)?;
    if metric.is_of_bodies() && is_of_handshakes(&case.name, cells) {
        return Err(field.wrong(&format!(
            "is about bodies, but case {} makes handshakes only; take rate or rate-per-server-cpu",
            case.name
        )));
    }
    let sweep = compared(get("compare")?, case)?;
    let rule = AnswerRule {
        case: case.name.clone(),
        metric,
        compare: sweep.key.full.to_owned(),
        baseline: baseline(get("baseline")?, sweep)?,
    };
    if metric == Metric::TlsTax && !(PLAIN.contains(&&*rule.compare) && rule.baseline == "none") {
        return Err(field.wrong(
            "is what TLS costs; write compare = \"load.suite\" or \"load.tls\" and baseline = \
             \"none\", which is plain HTTP",
        ));
    }
    Ok(rule)
}

fn case<'a>(field: &Field<'_>, cases: &'a [Case]) -> Result<&'a Case, Flaw> {
    let text = field.text()?;
    cases.iter().find(|case| case.name == text).ok_or_else(|| {
        let names = cases.iter().map(|case| case.name.as_str());
        field.wrong(&format!(
            "is no case of this study{}",
            did_you_mean(text, "its cases are", names)
        ))
    })
}

fn metric(field: &Field<'_>) -> Result<Metric, Flaw> {
    field.text()?.parse().map_err(|why: String| field.flaw(&format!("is wrong: {why}")))
}

fn is_of_handshakes(case: &str, cells: &[Cell]) -> bool {
    cells.iter().any(|cell| cell.case == case && cell.load.operation == Operation::Handshakes)
}

fn compared<'a>(field: &Field<'_>, case: &'a Case) -> Result<&'a Sweep, Flaw> {
    let text = field.text()?;
    case.sweep(text).ok_or_else(|| {
        let hint = match case.swept().next() {
            Some(_) => did_you_mean(text, "it sweeps", case.swept()),
            None => "; it sweeps nothing".to_owned(),
        };
        field.wrong(&format!("is not swept by case {}{hint}", case.name))
    })
}

fn baseline(field: &Field<'_>, sweep: &Sweep) -> Result<String, Flaw> {
    let text = sweep.key.canonical(field)?;
    if sweep.values.iter().any(|value| value.text == text) {
        return Ok(text);
    }
    let values = sweep.values.iter().map(|value| value.text.as_str());
    let hint = did_you_mean(&text, "these are", values);
    Err(field.wrong(&format!("is no value of the sweep of {}{hint}", sweep.key.full)))
}

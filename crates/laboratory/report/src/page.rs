//! `report.html`: one file with everything in it; it loads nothing from elsewhere.
//!
//! Texts can come from a server that means harm, so no text becomes markup: the engine escapes
//! whatever a template prints, and no template marks anything as safe. A Content-Security-Policy
//! forbids the page every request, should a browser be led to one all the same.

mod flames;
mod machine;
mod questions;
mod trials;

use answer::Mark;
use answer::findings::{Findings, Listing};
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, Output, State, context, escape_formatter};
use observe::Machine;

use crate::left_out::{cut, left_out};
use crate::run::Run;
use crate::text::{sentence, visible};
use crate::when;

/// The page could not be made.
#[derive(Debug, thiserror::Error)]
#[error("report.html cannot be made from its templates: {0}; this is a bug in toll")]
pub struct ReportError(#[from] Error);

const TEMPLATES: [(&str, &str); 16] = [
    ("bill.html", include_str!("../templates/bill.html")),
    ("report.html", include_str!("../templates/report.html")),
    ("report.css", include_str!("../templates/report.css")),
    ("chart.css", include_str!("../templates/chart.css")),
    ("print.css", include_str!("../templates/print.css")),
    ("report.js", include_str!("../templates/report.js")),
    ("glance.html", include_str!("../templates/glance.html")),
    ("answers.html", include_str!("../templates/answers.html")),
    ("key.html", include_str!("../templates/key.html")),
    ("chart.html", include_str!("../templates/chart.html")),
    ("table.html", include_str!("../templates/table.html")),
    ("tables.html", include_str!("../templates/tables.html")),
    ("flames.html", include_str!("../templates/flames.html")),
    ("listing.html", include_str!("../templates/listing.html")),
    ("trials.html", include_str!("../templates/trials.html")),
    ("machine.html", include_str!("../templates/machine.html")),
];

/// The report as one HTML file that needs nothing else.
///
/// # Errors
/// The templates do not fit the data, which is a fault of toll.
pub fn html(run: &Run<'_>) -> Result<String, ReportError> {
    let page = environment()?.get_template("report.html")?.render(context! {
        title => run.question,
        study => run.study,
        lead => lead(run),
        notice => notice(run.findings),
        found => questions::found(run.findings),
        conclusions => listings(std::slice::from_ref(&run.findings.conclusions)),
        marks => marks(run.findings),
        tables => questions::tables(run.findings),
        flames => flames::flames(run),
        cut => run.cut.iter().map(|of| &of.what).collect::<Vec<_>>(),
        cut_in_short => cut(run.cut, "this page"),
        groups => trials::groups(run),
        rejected => listings(&run.findings.rejected),
        machine => run.machine.map(machine::facts),
        settings => run.machine.map(machine::settings),
        hosts => run.hosts.iter().map(|(name, of)| (name, machine::facts(of))).collect::<Vec<_>>(),
        targets => run.targets.iter().filter(|target| target.skipped.is_none()).collect::<Vec<_>>(),
        absent => left_out(run.targets),
        warnings => run.findings.warnings,
        method => run.findings.method,
        version => env!("CARGO_PKG_VERSION"),
        when => run.findings.started_unix_ms.map(when::utc),
    })?;
    Ok(page)
}

/// The bill of a server that was watched, in the words that are printed, over the flame graph of its stacks.
///
/// # Errors
/// The template does not fit the data, which is a fault of toll.
pub fn bill_html(server: &str, words: &str, folded: &str) -> Result<String, ReportError> {
    let picture = profile::flame_picture(folded, server).map(|svg| flames::data_url(&svg));
    let version = env!("CARGO_PKG_VERSION");
    let environment = environment()?;
    let page = environment.get_template("bill.html")?;
    Ok(page.render(context! { server, words, picture, version })?)
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_formatter(write_visibly);
    environment.add_filter("sentence", |text: &str| sentence(text));
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// Escapes, and shows characters that would act.
fn write_visibly(out: &mut Output, state: &State, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) if value.kind() == ValueKind::String && !value.is_safe() => {
            escape_formatter(out, state, &Value::from(visible(text).into_owned()))
        }
        _ => escape_formatter(out, state, value),
    }
}

/// What was measured, on what, in one line.
fn lead(run: &Run<'_>) -> String {
    let machine = run.machine.map(|machine| format!(" on {}", machine::in_a_word(machine)));
    let measured = sentence(&run.findings.measured.join(", and "));
    let host = |(name, machine): (&String, &Machine)| {
        format!(", servers on {name}: {}", machine::in_a_word(machine))
    };
    let hosts: String = run.hosts.iter().map(host).collect();
    format!("{}{}{hosts}", measured.trim_end_matches('.'), machine.unwrap_or_default())
}

/// Why the page is not the whole answer, where it is not.
fn notice(findings: &Findings) -> Option<String> {
    let why = nothing(findings).map(str::to_owned).or_else(|| findings.no_figures.clone());
    why.or_else(|| incomplete(findings))
}

/// Why a run is not the whole answer, where it is not: also where trials are not valid.
pub(crate) fn lacking(findings: &Findings) -> Option<String> {
    let invalid = (!findings.is_whole).then(|| "Not every trial is valid.".to_owned());
    notice(findings).or(invalid)
}

/// That there is nothing, where that is so.
pub(crate) fn nothing(findings: &Findings) -> Option<&'static str> {
    findings.is_empty.then_some("No trial was run, so there is nothing to report.")
}

/// What a run lacks, where it does.
pub(crate) fn incomplete(Findings { lacking, .. }: &Findings) -> Option<String> {
    (!lacking.is_empty()).then(|| format!("This run is incomplete: {}.", lacking.join(", and ")))
}

/// Those that have something to say.
fn listings(all: &[Listing]) -> Vec<&Listing> {
    all.iter().filter(|listing| !listing.is_empty()).collect()
}

/// The marks that are used, each with its meaning.
fn marks(findings: &Findings) -> Vec<Value> {
    let view = |mark: Mark| {
        let (name, meaning) = (mark.name(), mark.meaning());
        context! { name, meaning, is_hatched => mark.is_not_a_maximum() }
    };
    findings.marks().into_iter().map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_is_text_whatever_its_server_is_called() {
        let words = "TLS takes 1% of <b>'s CPU & \u{1b}[31m";
        let page = bill_html("<b>", words, "nginx;<script> 300\n").unwrap();
        assert!(page.contains("of &lt;b&gt;") && page.contains("&amp; \\u{1b}[31m"), "{page}");
        assert!(!page.contains("<b>") && !page.contains("<script>"), "{page}");
        assert!(page.contains("<img src=\"data:image"), "{page}");
        assert!(!bill_html("nginx", words, "").unwrap().contains("<img"));
    }
}

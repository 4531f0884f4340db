//! What the trials of cells found, as a report shows it.

mod bars;
mod bill;
mod caveats;
mod cells;
mod cpu_split;
mod cpu_use;
mod crossovers;
mod curves;
mod cycles;
mod overview;
mod predictions;
mod published;
mod ranks;
mod searches;
mod servers;
mod words;

use journal::{Role, TrialLine};
use study::Metric;

use self::words::{is_searched, title, windows};
use super::{Agreement, Analysis, Answer, CellSummary, Invalid};
use crate::findings::{self, Chart, Findings, Item, Listing, Remark, Section};
use crate::label::trials;
use crate::wording::joined;

impl Analysis {
    /// What a report shows of it; `lines` are the trials that it was made from.
    #[must_use]
    pub fn findings(&self, lines: &[TrialLine]) -> Findings {
        let shown: Vec<&CellSummary> =
            self.cells.iter().filter(|cell| !cell.is_left_out()).collect();
        let answers: Vec<findings::Answer> =
            self.answers.iter().map(|answer| self.answer(answer)).collect();
        let answers = caveats::once(answers).into_iter();
        let projected = self.projections.iter().map(|projection| findings::Answer {
            remarks: vec![Remark::new("Projected", projection.sentences.join(" "))],
            ..findings::Answer::default()
        });
        let counts = self.trials;
        let coverages = coverages(self);
        let is_measured = |cell: &&CellSummary| cell.trials.done > 0;
        let measured = self.cells.iter().filter(is_measured).count();
        let noun = if measured == 1 { "cell" } else { "cells" };
        Findings {
            title: "Answers",
            answers: answers
                .chain(projected)
                .chain(cycles::answer(&self.cells, &self.profile_changes))
                .collect(),
            quality: self.quality.clone(),
            grids: servers::tables(&self.servers),
            gates: self.gates.clone(),
            charts: [cpu_split::charts(&self.cells), cpu_use::charts(&self.answers, &self.cells)]
                .concat(),
            conclusions: self.cross_checks(),
            overview: overview::tables(&shown, &self.answers, lines),
            tables: self.tables(&shown, lines),
            notes: notes(&coverages).into_iter().chain(self.again.sentence()).collect(),
            method: method(&coverages),
            rejected: self.rejected(),
            warnings: self.warnings.clone(),
            evidence: shown.iter().map(|cell| (cell.cell.clone(), title(cell))).collect(),
            measured: joined(
                &format!("{} of {measured} {noun}", trials(counts.done)),
                &windows(lines.iter().filter(|trial| trial.place.role == Role::Measure)),
            ),
            lacking: (counts.done < counts.planned)
                .then(|| format!("{} of {} were run", counts.done, trials(counts.planned))),
            no_figures: (counts.valid == 0 && counts.planned > 0).then_some(
                "No trial is valid, so there are no figures. The reasons are listed below.",
            ),
            is_empty: counts.done == 0 && !self.cells.iter().any(is_searched),
            is_whole: self.cells.iter().all(|cell| cell.trials.valid >= cell.trials.planned),
            data: None,
            started_unix_ms: lines.first().map(|trial| trial.line.started_unix_ms),
        }
    }

    fn answer(&self, answer: &Answer) -> findings::Answer {
        let predicted = answer.predicted.iter().map(|text| Remark::new("Predicted", text));
        // A headline has said it, without the figures that its sentence has too.
        let is_said = |remedy: &str| {
            let headlines = self.answers.iter().filter_map(|answer| answer.headline.as_ref());
            let mut advice = headlines.filter_map(|headline| headline.advice.as_deref());
            advice.any(|advice| {
                advice.split(['.', ';']).next().is_some_and(|of| remedy.starts_with(of))
            })
        };
        let remedy = answer.remedy.iter().filter(|remedy| !is_said(remedy));
        let remedy = remedy.map(|remedy| Remark::new("What to do", remedy));
        let charts = match &answer.curve {
            Some(curve) if curve.is_of_users() => vec![Chart::Curve(curves::of(answer, curve))],
            Some(curve) => bars::along(answer, curve).into_iter().map(Chart::Bars).collect(),
            None => vec![Chart::Bars(bars::side_by_side(answer, &self.answers))],
        };
        let bill = answer.bill.iter().flat_map(|bill| &bill.sentences);
        let stacks = answer.bill.iter().filter_map(|bill| bill::chart(answer, bill));
        let crossover = answer.curve.as_ref().and_then(|curve| crossovers::chart(answer, curve));
        let crossover = crossover.map(Chart::Curve);
        // Said once: several answers are of the same trials.
        let mut before = self.answers.iter().take_while(|other| !std::ptr::eq(*other, answer));
        let is_said = before.any(|other| other.purity == answer.purity);
        let loopback = answer.loopback.iter().map(|loopback| &loopback.sentence);
        let details = bill.chain(loopback).chain(answer.purity.iter().filter(|_| !is_said));
        findings::Answer {
            question: None,
            headline: answer.headline.clone(),
            sentences: std::iter::once(&answer.sentence).chain(details).cloned().collect(),
            remarks: predicted
                .chain(remedy)
                .chain(answer.caveats.iter().map(Remark::caveat))
                .collect(),
            charts: charts.into_iter().chain(stacks.map(Chart::Bars)).chain(crossover).collect(),
        }
    }

    fn cross_checks(&self) -> Listing {
        let item = |check: &super::CrossCheck| Item {
            label: String::new(),
            text: check.sentence.clone(),
            is_warning: check.agreement != Agreement::Agrees,
        };
        let about = "toll and another program make the same load in turn, in windows of the same \
                     length. The other program's counts are its own and are not verified. The rates \
                     are comparable only where the server was the limit with both.";
        let items: Vec<Item> = self.cross_checks.iter().map(item).collect();
        let about = if items.is_empty() { "" } else { about };
        Listing { title: "Checked with other clients", about, items }
    }

    fn tables(&self, shown: &[&CellSummary], lines: &[TrialLine]) -> Vec<Section> {
        let cells = Section {
            title: "Cells",
            about: "A cell is one combination of what the study varies. Numbers are medians over \
                    its valid trials, with their intervals in brackets. Click a header to sort.",
            tables: vec![cells::table(shown, &self.answers)],
        };
        let searches = Section {
            title: "How the loads were found",
            about: "toll searched for the load of these cells: short trials double and bisect it \
                    to find the most that a limit allows. The load that was found is then measured \
                    for longer; only those trials are in the figures.",
            tables: searches::tables(&self.cells),
        };
        let predictions = Section {
            title: "Predicted gains",
            about: "What the cost of the cipher alone predicts, which the server reports: CPU time falls by \
                    body x change of ns/byte. Headers and requests are not counted. The rate \
                    follows only where the server's CPU is the limit.",
            tables: predictions::tables(&self.answers),
        };
        let tables = [
            Some(cells),
            Some(predictions),
            Some(searches),
            ranks::section(shown, lines),
            cycles::section(&self.cells),
            cpu_use::section(&self.cells),
        ];
        tables.into_iter().flatten().filter(|section| !section.tables.is_empty()).collect()
    }

    fn rejected(&self) -> Listing {
        let items: Vec<Item> = self.invalid.iter().map(Item::from).collect();
        let about = match items.is_empty() {
            true => "None: every trial is in the figures.",
            false => "Nothing else was left out.",
        };
        Listing { title: "Invalid trials, not used in any figure", about, items }
    }
}

impl From<&Invalid> for Item {
    fn from(trial: &Invalid) -> Self {
        let label = format!("{}, number {}", trial.cell, trial.order);
        Self { label, text: trial.why.clone(), is_warning: false }
    }
}

/// How sure the intervals of a run are, by the number of trials, in parts of a sentence.
fn coverages(analysis: &Analysis) -> Vec<String> {
    let figures = analysis.cells.iter().filter_map(|cell| cell.figures.get(Metric::Rate));
    let mut coverages: Vec<(usize, f64)> =
        figures.map(|figure| (figure.estimate.n, figure.estimate.interval.coverage)).collect();
    coverages.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    coverages.dedup_by_key(|(n, _)| *n);
    let in_words = |(n, coverage)| match n {
        1 => "with 1 trial there is no interval".to_owned(),
        _ => format!(
            "with {} it covers the true median in {} of runs",
            trials(n),
            units::percent(coverage)
        ),
    };
    coverages.into_iter().map(in_words).collect()
}

fn notes(coverages: &[String]) -> Option<String> {
    let words = || {
        format!(
            "One core: per CPU-second of the server. In brackets: the interval of the median; {}. \
             Comparisons and the TLS tax are medians over pairs of trials of the same round, so \
             they can differ from the quotients of these medians.",
            coverages.join("; ")
        )
    };
    (!coverages.is_empty()).then(words)
}

fn method(coverages: &[String]) -> Vec<(&'static str, String)> {
    let coverages = match coverages {
        [] => String::new(),
        some => format!(": {}", some.join("; ")),
    };
    let paragraphs = include_str!("findings/method.txt").split("\n\n");
    let paragraph = |text: &'static str| {
        let (heading, text) = text.split_once('\n')?;
        Some((heading, text.trim_end().replace('\n', " ").replace("{coverages}", &coverages)))
    };
    paragraphs.filter_map(paragraph).collect()
}

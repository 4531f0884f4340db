//! What a run found, as a report shows it.

mod answer;
mod bars;
mod caveats;
pub(super) mod cell_labels;
mod cells;
mod cpu_split;
pub(super) mod curves;
mod cycles;
mod headline;
mod overview;
pub(super) mod published;
mod ranks;
mod rates;
mod searches;

use std::sync::Arc;

use study::Metric;
use units::counted;

use self::cell_labels::{is_searched, title, windows};
use super::{Agreement, Analysis, Answer, Invalid, Row, cpu_use, prediction, servers};
use crate::claims::PaperClaims;
use crate::findings::{Chart, Findings, Item, Listing, Section};
use crate::label::trials;
use crate::wording::{grouped, joined, unique};

impl Analysis {
    /// What a report shows of it.
    pub fn findings(&self) -> Findings {
        let of_cells: Vec<&Row> =
            self.cells.iter().map(Arc::as_ref).filter(|cell| cell.library.is_none()).collect();
        let mut findings = self.of_trials(&of_cells);
        let by_rule = grouped(self.answers.iter().map(|answer| (answer.place(), answer)));
        let answers = by_rule.iter().filter_map(|(_, of_rule): &(usize, Vec<&Answer>)| {
            Some((of_rule[0].rule().case.clone(), answer::answer(self, of_rule)?))
        });
        findings.answers = caveats::once(answer::told_apart(answers.collect()))
            .into_iter()
            .chain(cycles::answer(&of_cells, &self.profile_changes))
            .collect();
        let shown: Vec<&Row> = of_cells.into_iter().filter(|cell| !cell.is_left_out()).collect();
        if let Some(rates) = rates::answer(&shown, self.answers.is_empty()) {
            // Answers in its author's words go before what all cells did.
            let is_authored = self.answers.iter().any(|answer| answer.headline.is_some());
            let place = if is_authored { findings.answers.len() } else { 0 };
            findings.answers.insert(place, rates);
        }
        findings.quality = self.quality.clone();
        findings.gates = self.gates.clone();
        self.costs.add_to(&mut findings);
        findings.claims = self.claims_of_paper().into_iter().collect();
        findings
    }

    /// What its study's paper claims; `None` where it claims nothing.
    pub fn claims_of_paper(&self) -> Option<PaperClaims> {
        let (study, source, claims) =
            (self.study.clone(), self.source.clone(), self.claims.clone());
        (!claims.is_empty()).then_some(PaperClaims { study, source, claims })
    }

    /// What is shown of trials, beside answers; nothing where the study has none.
    fn of_trials(&self, cells: &[&Row]) -> Findings {
        if cells.is_empty() {
            return Findings { is_empty: true, is_whole: true, ..Findings::default() };
        }
        let shown: Vec<&Row> = cells.iter().copied().filter(|cell| !cell.is_left_out()).collect();
        let counts = self.trials;
        let coverages = coverages(cells);
        let is_measured = |cell: &&&Row| cell.trials.done > 0;
        let measured = cells.iter().filter(is_measured).count();
        let measured = joined(
            &format!("{} of {}", trials(counts.done), counted(measured as u64, "cell")),
            &windows(cells.iter().copied()),
        );
        let lacking = (counts.done < counts.planned)
            .then(|| format!("{} of {} were run", counts.done, trials(counts.planned)));
        Findings {
            servers: servers::table(&self.servers),
            charts: [cpu_split::charts(cells), self.cpus_of_handshakes()].concat(),
            conclusions: self.cross_checks(),
            overview: overview::tables(&shown, &self.answers),
            tables: self.tables(&shown, cells),
            notes: notes(&coverages).into_iter().chain(self.remeasured.sentences()).collect(),
            method: method(&coverages),
            rejected: vec![self.rejected()],
            warnings: self.warnings.clone(),
            evidence: shown.iter().map(|cell| (cell.name.clone(), title(cell))).collect(),
            measured: vec![measured],
            lacking: lacking.into_iter().collect(),
            no_figures: (counts.valid == 0 && counts.planned > 0).then(|| {
                let first = self.invalid.first().map(|trial| format!("; the first: {}", trial.why));
                format!("No trial is valid, so there are no figures{}.", first.unwrap_or_default())
            }),
            is_empty: counts.done == 0 && !cells.iter().any(|cell| is_searched(cell)),
            is_whole: self.shortfall().is_none(),
            started_unix_ms: self.started_unix_ms,
            ..Findings::default()
        }
    }

    /// What used the CPUs, of each answer that says what proves that it is about handshakes, each once.
    fn cpus_of_handshakes(&self) -> Vec<Chart> {
        let of_handshakes = self.answers.iter().filter(|answer| answer.purity.is_some());
        let charts = unique(of_handshakes.filter_map(|answer| cpu_use::chart(&answer.points)));
        charts.into_iter().map(Chart::Bars).collect()
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

    fn tables(&self, shown: &[&Row], all: &[&Row]) -> Vec<Section> {
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
            tables: searches::tables(all),
        };
        let predictions = Section {
            title: "Predicted gains",
            about: "What the cost of the cipher alone predicts, which the server reports: CPU time falls by \
                    body x change of ns/byte. Headers and requests are not counted. The rate \
                    follows only where the server's CPU is the limit.",
            tables: (self.answers.iter())
                .filter_map(|of| prediction::table(&of.points[0], &of.predictions))
                .collect(),
        };
        let tables = [
            Some(cells),
            Some(predictions),
            Some(searches),
            ranks::section(shown),
            cycles::section(all),
            cpu_use::section(all),
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
fn coverages(cells: &[&Row]) -> Vec<String> {
    let figures = cells.iter().filter_map(|cell| cell.figure(Metric::Rate));
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

//! The result folder of a study that includes others: a folder for each, and one report over all.

use std::path::{Path, PathBuf};

use answer::Shortfall;
use answer::claims::PaperClaims;
use answer::findings::{Findings, Item, Listing, ShownAnswer};
use answer::summary::Summary;
use journal::{Results, Unmeasured};
use report::Run;
use study::Study;

use crate::exit::Lacking;
use crate::outputs::{self, Found};
use crate::{Failure, screen};

/// What was found of all included studies.
pub(crate) struct Parts {
    name: String,
    question: String,
    parts: Vec<StudyPart>,
    /// Of the first whose results cannot be read.
    pub(crate) broken: Option<Failure>,
}

struct StudyPart {
    study: Study,
    results: Results,
    found: Result<Found, Nothing>,
}

/// Why nothing was found of a study.
struct Nothing {
    why: String,
    /// Whether it was left out, since it cannot be measured here; else the run lacks it.
    is_left_out: bool,
}

impl From<Option<Unmeasured>> for Nothing {
    fn from(unmeasured: Option<Unmeasured>) -> Self {
        match unmeasured {
            Some(Unmeasured::Absent(why)) => Self { why, is_left_out: true },
            Some(Unmeasured::Failed { failed: why }) => Self { why, is_left_out: false },
            // Its turn did not come.
            None => Self { why: "not measured yet".to_owned(), is_left_out: false },
        }
    }
}

impl Parts {
    /// The included studies as they were begun, each with its folder.
    pub(crate) fn studies(
        results: &Results,
        study: &Study,
    ) -> Result<Vec<(Study, Results)>, Failure> {
        let part = |name: &String| {
            let part = Results::open(&results.folder().join(name)).map_err(Failure::request)?;
            Ok((outputs::study(&part)?, part))
        };
        study.include.iter().map(part).collect()
    }

    /// Reads the result folder; nothing in it is changed.
    pub(crate) fn read(results: &Results, study: &Study) -> Result<Self, Failure> {
        let mut broken = None;
        let part = |(study, results): (Study, Results)| {
            let found = match Found::read(&results) {
                Ok(found) if found.is_empty() => {
                    Err(results.unmeasured().map_err(Failure::request)?.into())
                }
                Ok(found) => Ok(found),
                Err(failure) => {
                    let why = broken.get_or_insert(failure).message.clone();
                    Err(Nothing { why, is_left_out: false })
                }
            };
            Ok(StudyPart { study, results, found })
        };
        let parts = Self::studies(results, study)?.into_iter().map(part);
        let parts = parts.collect::<Result<_, Failure>>()?;
        Ok(Self { name: study.name.clone(), question: study.question.clone(), parts, broken })
    }

    /// Writes the reports of what was measured, and one over all; the path of the latter.
    pub(crate) fn write(&self, results: &Results) -> Result<PathBuf, Failure> {
        for part in &self.parts {
            if let Ok(found) = &part.found {
                found.write(&part.results)?;
            }
        }
        let findings = self.findings();
        let html = report::html(&self.run(&findings)).map_err(Failure::measurement)?;
        results.write_derived("report.html", &html).map_err(Failure::measurement)
    }

    /// The headlines, what was left out, and what became of each claim.
    pub(crate) fn in_words(&self) -> String {
        report::terminal(&self.run(&self.findings()), screen::width(), screen::style())
    }

    /// The summary of each study of which something was measured.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = Summary> {
        self.measured().map(Found::summary)
    }

    /// What was found of each, for a program.
    pub(crate) fn data(&self) -> serde_json::Value {
        let parts = self.measured().map(|found| serde_json::json!(found.run.analysis));
        serde_json::json!({ "study": self.name, "studies": parts.collect::<Vec<_>>() })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.measured().next().is_none()
    }

    /// What is missing or not valid of all that can be measured here, of the run in this folder.
    pub(crate) fn lacking(&self, folder: &Path) -> Vec<Lacking> {
        let of_part = |part: &StudyPart| match &part.found {
            Ok(found) => found.lacking(&folder.join(&part.study.name)),
            Err(nothing) => (!nothing.is_left_out).then(|| Lacking {
                shortfall: Shortfall::ALL,
                words: format!("{}: {}", part.study.name, nothing.why),
            }),
        };
        self.parts.iter().filter_map(of_part).collect()
    }

    /// What was left out and why, a clause each.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let why = |part: &StudyPart| {
            Some(format!("{}: {}", part.study.name, part.found.as_ref().err()?.why))
        };
        self.parts.iter().filter_map(why).collect()
    }

    fn measured(&self) -> impl Iterator<Item = &Found> {
        self.parts.iter().filter_map(|part| part.found.as_ref().ok())
    }

    fn findings(&self) -> Findings {
        let headlines = self.measured().flat_map(Found::headlines);
        let answers = headlines.map(|headline| ShownAnswer {
            headline: Some(headline.clone()),
            ..ShownAnswer::default()
        });
        let item = |part: &StudyPart| {
            let text = part.found.as_ref().err()?.why.clone();
            Some(Item { label: part.study.name.clone(), text, is_warning: true })
        };
        let items: Vec<Item> = self.parts.iter().filter_map(item).collect();
        let about = if items.is_empty() { "" } else { "Nothing of these is shown." };
        let claims = |part: &StudyPart| match &part.found {
            Ok(found) => found.run.analysis.claims_of_paper(),
            Err(nothing) => PaperClaims::not_measured(&part.study, &nothing.why),
        };
        Findings {
            answers: answers.collect(),
            conclusions: Listing { title: "Left out", about, items },
            claims: self.parts.iter().filter_map(claims).collect(),
            is_empty: self.is_empty(),
            is_whole: self.measured().all(|found| found.shortfall().is_none()),
            ..Findings::default()
        }
    }

    fn run<'a>(&'a self, findings: &'a Findings) -> Run<'a> {
        let machine = self.measured().find_map(|found| found.run.machine.as_ref());
        Run { study: &self.name, machine, ..Run::of(&self.question, findings) }
    }
}

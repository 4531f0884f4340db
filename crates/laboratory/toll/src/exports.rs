//! `--markdown`, `--junit` and `--benchmark-json`: files for CI beside what is printed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use answer::compare::Comparison;
use answer::gate::GateOutcome;
use answer::tracked::{self, TrackedFigure};
use clap::ValueHint;
use rustix::fs::Access;
use study::metric::Better;
use study::{Metric, Study};

use crate::{Failure, OUTPUT};

/// The options, for each command that has them.
#[derive(Clone, Default, clap::Args)]
pub(crate) struct Exports {
    /// Write the answers, gates and a table in Markdown, for the summary of a CI job; - is stdout
    ///
    /// Of two runs the table has the cells that changed. Where a file is stdout, nothing else is printed there.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = OUTPUT)]
    markdown: Option<Destination>,

    /// Write the gates as JUnit's XML, for the test report of CI
    ///
    /// A gate is a test case: one that is not met has failed, an inconclusive one is skipped, with the reason. A run
    /// of which trials are lacking or not valid has an error too.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = OUTPUT)]
    junit: Option<Destination>,

    /// Write the figures for github-action-benchmark; repeatable
    ///
    /// bigger=FILE has those of which more is better (its tool customBiggerIsBetter), smaller=FILE those of
    /// which less is (customSmallerIsBetter); FILE alone does where all are of one kind. Of a run they are the
    /// figures of its answers, of two runs those of B in the metrics that are compared.
    #[arg(long, value_name = "[KIND=]FILE", hide_short_help = true, help_heading = OUTPUT)]
    benchmark_json: Vec<BenchmarkFile>,
}

/// Where a text goes.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
enum Destination {
    #[display("-")]
    Stdout,
    #[display("{}", _0.display())]
    File(PathBuf),
}

/// Where figures go, and of which side.
#[derive(Debug, Clone)]
struct BenchmarkFile {
    /// `None` where the figures say it.
    better: Option<Better>,
    to: Destination,
}

/// What is written.
pub(crate) struct Exported<'a> {
    pub(crate) study: &'a str,
    pub(crate) gates: &'a [GateOutcome],
    /// What the run lacks, of one run.
    pub(crate) lacking: Option<String>,
    pub(crate) figures: Vec<TrackedFigure>,
    pub(crate) markdown: &'a dyn Fn() -> String,
}

const KINDS: [(&str, Better); 2] = [("bigger", Better::Higher), ("smaller", Better::Lower)];

impl Exports {
    pub(crate) fn is_empty(&self) -> bool {
        self.destinations().next().is_none()
    }

    /// Whether one is stdout, where nothing else is printed then.
    pub(crate) fn take_stdout(&self) -> bool {
        self.destinations().any(|to| *to == Destination::Stdout)
    }

    /// Refuses, before anything is measured, what cannot be written. `printed` is another option that prints to stdout
    /// alone.
    pub(crate) fn check(&self, printed: Option<&str>) -> Result<(), Failure> {
        let mut places = Vec::new();
        for to in self.destinations() {
            to.check().map_err(Failure::request)?;
            if places.contains(&to) {
                return Err(Failure::request(format!(
                    "{to} is written by two options; give each a file of its own"
                )));
            }
            places.push(to);
        }
        match printed.filter(|_| self.take_stdout()) {
            Some(option) => Err(Failure::request(format!(
                "{option} prints to stdout too; give a file in place of -"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses, before anything is measured, what there would be nothing to write of in a run of this study.
    pub(crate) fn check_of(&self, study: &Study, has_gates: bool) -> Result<(), Failure> {
        self.check_gates(has_gates || study.answers.iter().any(|rule| !rule.gates.is_empty()))?;
        self.check_metrics(tracked::metrics(study))
    }

    /// The same of two runs that were compared.
    pub(crate) fn check_compared(
        &self,
        comparison: &Comparison,
        has_gates: bool,
    ) -> Result<(), Failure> {
        self.check_gates(has_gates)?;
        self.check_metrics(comparison.metrics.iter().map(|of| of.metric))
    }

    fn check_gates(&self, has_gates: bool) -> Result<(), Failure> {
        match self.junit {
            Some(_) if !has_gates => Err(Failure::request(
                "--junit: there is no gate, and its test cases are gates; add --gate, such as --gate \
                 'regression<=5%' of two runs or --gate 'p99<=50ms' of one",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses files that would have no figure, or figures of both kinds.
    fn check_metrics(&self, metrics: impl Iterator<Item = Metric>) -> Result<(), Failure> {
        let metrics: BTreeSet<Metric> = metrics.collect();
        let of = |better: Better| {
            let own = metrics.iter().filter(move |metric| metric.better() == Some(better));
            own.map(|metric| metric.name()).collect::<Vec<_>>().join(", ")
        };
        let names = KINDS.map(|(_, better)| of(better));
        let [bigger, smaller] = &names;
        for BenchmarkFile { better, to } in &self.benchmark_json {
            let why = match better {
                None if !bigger.is_empty() && !smaller.is_empty() => format!(
                    "of some figures more is better ({bigger}) and of others less ({smaller}), and the action \
                     takes one kind from a file; write --benchmark-json bigger={to} --benchmark-json \
                     smaller=OTHER-FILE, or one of the two"
                ),
                None if bigger.is_empty() && smaller.is_empty() => {
                    "there is no figure of which more or less is better; compare another --metric"
                        .to_owned()
                }
                Some(Better::Higher) if bigger.is_empty() => {
                    format!("of all figures less is better ({smaller}); write smaller={to}")
                }
                Some(Better::Lower) if smaller.is_empty() => {
                    format!("of all figures more is better ({bigger}); write bigger={to}")
                }
                _ => continue,
            };
            return Err(Failure::request(format!("--benchmark-json {to}: {why}")));
        }
        Ok(())
    }

    /// Writes all of them; the first that could not be written is the error, and the others are written all the same.
    pub(crate) fn write(&self, of: &Exported<'_>) -> Result<(), Failure> {
        let markdown = self.markdown.iter().map(|to| (to, Ok((of.markdown)())));
        let junit = self.junit.iter().map(|to| {
            let text = report::junit(of.study, of.gates, of.lacking.as_deref());
            (to, text.map_err(Failure::measurement))
        });
        let figures = self.benchmark_json.iter().map(|file| (&file.to, file.text(&of.figures)));
        let texts: Vec<(&Destination, Result<String, Failure>)> =
            markdown.chain(junit).chain(figures).collect();
        let written: Vec<_> = texts.into_iter().map(|(to, text)| to.write(&text?)).collect();
        written.into_iter().collect()
    }

    fn destinations(&self) -> impl Iterator<Item = &Destination> {
        let figures = self.benchmark_json.iter().map(|file| &file.to);
        self.markdown.iter().chain(&self.junit).chain(figures)
    }
}

impl BenchmarkFile {
    fn text(&self, figures: &[TrackedFigure]) -> Result<String, Failure> {
        let is_own = |of: &Better| self.better.is_none_or(|own| own == *of);
        match figures.iter().filter_map(|of| of.metric.better()).find(is_own) {
            Some(better) => report::benchmark_json(figures, better).map_err(Failure::measurement),
            None => Err(Failure::measurement(format!(
                "--benchmark-json {}: no trial has a figure for it, so it is not written; the report says why",
                self.to
            ))),
        }
    }
}

impl Destination {
    /// Whether it can be written, as far as that shows before.
    fn check(&self) -> Result<(), String> {
        let Self::File(path) = self else { return Ok(()) };
        let about = std::fs::metadata(path);
        if about.is_ok_and(|about| !about.is_file()) {
            return Err(format!("{self}: it is no file; give a file, or - for stdout"));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let is_usable = folder.read_dir().map_err(|why| why.to_string()).and_then(|_| {
            rustix::fs::access(folder, Access::WRITE_OK).map_err(|why| why.to_string())
        });
        is_usable.map_err(|why| {
            format!(
                "{self}: {}: {why}; give a file in a folder that is there and can be written",
                folder.display()
            )
        })
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        let Self::File(path) = self else {
            crate::print(text);
            return Ok(());
        };
        // What a link names is written, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        journal::write_whole(&path, text.as_bytes()).map_err(|why| {
            Failure::measurement(format!(
                "{self}: {why}; give another file, and what was measured is written again by toll report DIR with \
                 the same options"
            ))
        })
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("give a file, or - for stdout".to_owned()),
            "-" | "/dev/stdout" => Ok(Self::Stdout),
            path => Ok(Self::File(path.into())),
        }
    }
}

impl FromStr for BenchmarkFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = text.split_once('=').and_then(|(name, path)| {
            let (_, better) = KINDS.into_iter().find(|(kind, _)| *kind == name)?;
            Some((better, path))
        });
        match kind {
            Some((better, path)) => Ok(Self { better: Some(better), to: path.parse()? }),
            None => Ok(Self { better: None, to: text.parse()? }),
        }
    }
}

//! What a study found, for people and for programs: the terminal, `report.html`, `cells.csv`, OpenMetrics, and
//! what CI reads: Markdown, JUnit, github-action-benchmark; and what two runs say together.
//!
//! All are pure functions of a [`Run`]: nothing here measures, reads a file or looks at a
//! clock, so a report can be made again from its result folder and is the same again.
//!
//! Error texts, versions and names can come from a server that means harm. The page escapes every
//! one of them in one place (the template engine's), and neither the page nor the terminal gets a
//! control character of theirs.

mod benchmark_json;
mod cells_csv;
mod chart;
mod comparison;
mod junit;
mod left_out;
mod markdown;
mod openmetrics;
mod page;
mod run;
mod terminal;
mod text;
mod when;

pub use benchmark_json::benchmark_json;
pub use cells_csv::cells_csv;
pub use comparison::{comparison, comparison_html};
pub use junit::junit;
pub use markdown::{comparison_markdown, markdown};
pub use openmetrics::openmetrics;
pub use page::{ReportError, bill_html, html};
pub use run::Run;
pub use terminal::{Look, Page, Style, one_trial, terminal, wrapped};

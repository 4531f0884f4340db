use std::path::PathBuf;
use std::process::ExitCode;

use study::Results;

use crate::Failure;
use crate::findings::Findings;

/// Make the report of an earlier run again, from its journal.
///
/// Writes cells.csv and report.html into the folder and prints the answers. Nothing is measured.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folder of a run, such as results/2026-11-21T20-51-34Z-quick
    folder: PathBuf,

    /// Print what was found as one JSON object instead
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  toll report results/2026-11-21T20-51-34Z-quick
  toll report results/2026-11-21T20-51-34Z-quick --json | jq -r '.answers[].sentence'";

pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let results = Results::open(&arguments.folder).map_err(Failure::request)?;
    let findings = Findings::read(&results)?;
    // Printed first: a folder that cannot be written still has its answers.
    if arguments.json {
        let text = serde_json::to_string(&findings.analysis).map_err(Failure::measurement)?;
        crate::print(&format!("{text}\n"));
    } else {
        crate::print(&findings.in_words());
    }
    let report = findings.write(&results)?;
    if !arguments.json {
        crate::print(&format!("\nReport: {}\n", report.display()));
    }
    Ok(ExitCode::SUCCESS)
}

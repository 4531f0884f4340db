use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use cpus::CpuList;
use study::quick::{self, Cell, Event, Layout, Measured, RunError};
use study::{Limit, Line, Results};
use units::{BitsPerSecond, PerSecond};

use crate::live::LiveLine;
use crate::{Failure, interrupt, summary};

/// Run a study: start its servers, load them, and say what was measured and what limited it.
///
/// The one study so far is `quick`: full handshakes, and objects of 1 MiB over plain HTTP and over
/// TLS, from the embedded server and, where it is installed, from nginx. It takes under a minute,
/// loads only servers that it starts on this machine's loopback, and stops them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The study: quick
    study: String,

    /// Folder in which the folder of this run's results is made
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,

    /// Print each trial as a line of JSON when it ends, and nothing else
    #[arg(long)]
    json: bool,

    /// Show no live line
    #[arg(long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  toll run quick
  toll run quick --out /tmp/results --json | jq .rate_per_s

A run leaves a folder such as results/2026-11-21T20-51-34Z-quick/ with machine.json (what the
machine is), journal.jsonl (a line a trial, on disk when the trial ends) and logs/ of the servers.";

pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.study != "quick" {
        return Err(Failure::request(format!(
            "`{}` is no study that toll brings along; it brings: quick",
            arguments.study
        )));
    }
    let interrupted = interrupt::flag()?;
    let layout = layout()?;
    let results = Results::create(&arguments.out, &arguments.study, SystemTime::now())
        .map_err(Failure::request)?;
    let measured = arguments.run(&layout, &results, &interrupted)?;
    if !arguments.json {
        let folder = results.folder().display();
        crate::print(&format!("\n{}\nEverything is in {folder}\n", in_words(&measured)));
    }
    let is_valid = measured.cells.iter().flat_map(|(_, lines)| lines).all(|line| line.valid);
    Ok(match measured.interrupted {
        true => ExitCode::from(interrupt::EXIT),
        false if is_valid => ExitCode::SUCCESS,
        false => ExitCode::from(Failure::MEASUREMENT),
    })
}

/// The first allowed CPU for the servers, the second for the client.
fn layout() -> Result<Layout, Failure> {
    let allowed = CpuList::allowed()
        .map_err(|error| Failure::request(format!("cannot read the CPU affinity: {error}")))?;
    let cpus = allowed.as_slice();
    let (server, client) = (cpus[0], *cpus.get(1).unwrap_or(&cpus[0]));
    Ok(Layout { server: CpuList::from(server), client: CpuList::from(client) })
}

impl Arguments {
    fn run(
        &self,
        layout: &Layout,
        results: &Results,
        interrupted: &AtomicBool,
    ) -> Result<Measured, Failure> {
        let say = |text: String| {
            if !self.json {
                crate::print(&format!("{text}\n"));
            }
        };
        say(format!("Servers run on CPU {}, the client on CPU {}.", layout.server, layout.client));
        let mut live = LiveLine::new(!self.quiet && !self.json);
        let mut finished = 0;
        let mut tell = |event: Event<'_>| match event {
            Event::ObjectsOnDisk(note) => say(format!("Note: {note}.")),
            Event::Skipped(why) => say(format!("Skipped: {why}.")),
            Event::Started(server) => {
                say(format!("{}: {} answers.", server.name(), server.version()));
            }
            Event::Progress { cell, done, trials, moment } => {
                let what = format!("trial {} of {trials}, {}: ", done + 1, cell.name());
                live.show(&what, &moment);
            }
            Event::Finished(line) => {
                finished += 1;
                live.clear();
                // It cannot fail: the same line has just been written to the journal.
                if self.json
                    && let Ok(text) = serde_json::to_string(line)
                {
                    crate::print(&format!("{text}\n"));
                }
            }
        };
        quick::run(layout, results, interrupted, &mut tell)
            .map_err(|error| failure(&error, finished, results.folder()))
    }
}

/// Why a run ended early, of which so many trials are in the journal.
fn failure(error: &RunError, finished: usize, folder: &Path) -> Failure {
    match finished {
        0 => Failure::request(error),
        _ => Failure::measurement(format!(
            "{error}; what was measured before is in {}",
            folder.display()
        )),
    }
}

/// A sentence for each cell, then a table of all.
fn in_words(measured: &Measured) -> String {
    let mut text = String::new();
    let cells: Vec<_> = measured.cells.iter().filter(|(_, lines)| !lines.is_empty()).collect();
    if measured.interrupted {
        let (done, all) =
            (cells.iter().map(|(_, lines)| lines.len()).sum::<usize>(), measured.trials);
        text += &format!("Interrupted after {done} of {all} trials; of these:\n");
    }
    for (cell, lines) in &cells {
        text += &format!("{} ({}): {}.\n", cell.server, cell.work, sentence(lines));
    }
    if cells.is_empty() {
        return "Nothing was measured.\n".to_owned();
    }
    text += "\nMedians of the rounds, with their range:\n\n";
    let header = ["server", "work", "rate", "goodput", "server CPU", "client CPU", "limit"];
    let mut table = vec![header.map(str::to_owned)];
    table.extend(cells.iter().map(|(cell, lines)| row(cell, lines)));
    text += &aligned(&table);
    if table.iter().any(|row| row[6].ends_with(NO_MAXIMUM)) {
        text += &format!(
            "{NO_MAXIMUM} Not in all rounds was the server the limit: this may not be its maximum.\n"
        );
    }
    for warning in warnings(&cells) {
        text += &format!("\nWarning: {warning}.");
    }
    text + "\n"
}

/// What the trial with the median rate says; one that is not valid comes before those that are.
fn sentence(lines: &[Line]) -> String {
    if let Some(invalid) = lines.iter().find(|line| !line.valid) {
        return summary::headline(invalid);
    }
    let mut sorted: Vec<&Line> = lines.iter().collect();
    sorted.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    summary::headline(sorted[sorted.len() / 2])
}

fn row(cell: &Cell, lines: &[Line]) -> [String; 7] {
    let valid: Vec<&Line> = lines.iter().filter(|line| line.valid).collect();
    let has_bodies = valid.iter().any(|line| line.bytes.body > 0);
    let cost = |cpu: fn(&Line) -> Option<u64>| {
        let figures = valid.iter().map(|line| match has_bodies {
            true => line.per_gigabyte(cpu(line)?),
            false => line.per_operation(cpu(line)?),
        });
        let shown: fn(f64) -> String = match has_bodies {
            true => |seconds| format!("{seconds:.3} s/GB"),
            false => |nanos| format!("{:.1} µs/op", nanos / 1e3),
        };
        figures.collect::<Option<Vec<_>>>().map_or_else(
            || "not known".to_owned(),
            |all| stats::median(&all).map_or_else(|_| "-".to_owned(), shown),
        )
    };
    let rates: Vec<f64> = valid.iter().map(|line| line.rate_per_s).collect();
    let goodputs: Vec<f64> = valid.iter().map(|line| line.goodput_bps as f64).collect();
    [
        cell.server.to_owned(),
        cell.work.case().to_owned(),
        spread(&rates, |rate| PerSecond(rate).to_string()),
        if has_bodies {
            spread(&goodputs, |bits| BitsPerSecond(bits).to_string())
        } else {
            "-".into()
        },
        cost(|line| line.cpu_ns.server),
        cost(|line| line.cpu_ns.client),
        limits(lines),
    ]
}

/// The median, and the smallest and largest sample.
fn spread(samples: &[f64], shown: fn(f64) -> String) -> String {
    let Ok(median) = stats::median(samples) else { return "not valid".to_owned() };
    let low = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let high = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} ({} to {})", shown(median), shown(low), shown(high))
}

/// Marks a rate that something else than the server's CPU limited, in any round.
const NO_MAXIMUM: &str = "(!)";

/// What limited the rounds, marked where that was not the server's CPU alone.
fn limits(lines: &[Line]) -> String {
    let mut limits: Vec<Limit> = lines.iter().map(|line| line.verdict.limit).collect();
    limits.sort_unstable();
    limits.dedup();
    let names: Vec<&str> = limits.iter().map(|limit| limit.name()).collect();
    match limits == [Limit::ServerCpu] {
        true => names.join(", "),
        false => format!("{} {NO_MAXIMUM}", names.join(", ")),
    }
}

/// Each warning once, though many trials gave it.
fn warnings(cells: &[&(Cell, Vec<Line>)]) -> Vec<String> {
    let mut seen = Vec::new();
    for warning in cells.iter().flat_map(|(_, lines)| lines).flat_map(|line| &line.warnings) {
        if !seen.iter().any(|(kind, _)| *kind == warning.kind) {
            seen.push((warning.kind, warning.to_string()));
        }
    }
    seen.into_iter().map(|(_, text)| text).collect()
}

/// Columns as wide as their widest cell.
fn aligned(table: &[[String; 7]]) -> String {
    let width = |column: usize| {
        table.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let line = |row: &[String; 7]| {
        let cells = row.iter().enumerate().map(|(i, cell)| format!("{cell:<0$}", width(i)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    table.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let row = |a: &str, b: &str| {
            let mut cells = ["", "", "", "", "", "", ""].map(str::to_owned);
            (cells[0], cells[6]) = (a.to_owned(), b.to_owned());
            cells
        };
        let text = aligned(&[row("µs", "x"), row("long", "y")]);
        let places: Vec<_> =
            text.lines().map(|line| line.chars().position(|c| c == 'x' || c == 'y')).collect();
        assert_eq!(places[0], places[1]);
    }

    #[test]
    fn an_error_before_the_first_trial_is_of_the_request_and_names_no_results() {
        let error: RunError =
            study::Journal::create(Path::new("/dev/null/journal.jsonl")).unwrap_err().into();
        let folder = Path::new("results/first");
        let before = failure(&error, 0, folder);
        assert_eq!((before.code, before.message), (2, error.to_string()));
        let after = failure(&error, 1, folder);
        let expected = format!("{error}; what was measured before is in results/first");
        assert_eq!((after.code, after.message), (Failure::MEASUREMENT, expected));
    }

    #[test]
    fn a_spread_is_the_median_with_its_range() {
        let shown = |value: f64| format!("{value}");
        assert_eq!(spread(&[3.0, 1.0, 2.0], shown), "2 (1 to 3)");
        assert_eq!(spread(&[], shown), "not valid");
    }
}

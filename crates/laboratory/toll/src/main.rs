//! `toll`: a laboratory for the cost of TLS.

// Their macros panic when nobody reads what is printed.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod bench;
mod check;
mod compare;
mod exit;
mod exports;
mod gates;
mod interrupt;
mod json;
mod load;
mod machine;
mod outputs;
mod parts;
mod plan;
mod progress;
mod report;
mod run;
mod screen;
mod serve;
mod shell;
mod studies;
mod usage;
mod watch;

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use cpus::{CpuList, Topology};
use exit::{Exit, Failure};

/// Measures what TLS costs, and shows what limited each number and what to change.
#[derive(Parser)]
#[command(
    name = "toll",
    version = env!("TOLL_BUILD"),
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  toll run quick
      a first look at this machine in about a minute: the cost of handshakes and of bytes
  toll report results/2026-11-21T20-51-34Z-quick
      print the answers of an earlier run, and make its report.html again
  toll compare results/monday results/tuesday
      compare two runs cell by cell, with intervals, and list what else differs
  toll check
      show what on this machine will spoil a measurement, and how to fix it
  toll serve --cpus 0 --write-certificate cert.pem
  toll load https://127.0.0.1:8443/bytes/1MiB --ca cert.pem --cpus 1
      start a server on one CPU, and load it from another

Exit codes: 0 done; 1 a gate (--gate) fails; 2 the request was wrong, or the server cannot be
reached; 3 a measurement failed or is not valid; 130 interrupted.";

/// The headings of options.
const TARGET: &str = "Target";
const LOAD: &str = "Load";
const TLS: &str = "TLS";
const OUTPUT: &str = "Output";

/// The end of a short help.
pub(crate) const MORE: &str = "--help explains all options, and has examples.";

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Report(report::Arguments),
    Compare(compare::Arguments),
    Check(check::Arguments),
    Load(Box<load::Arguments>),
    Serve(Box<serve::Arguments>),
    Plan(Box<plan::Arguments>),
    Watch(watch::Arguments),
    Bench(bench::Arguments),
    Agent(agent::Arguments),
    Completions(shell::CompletionsArguments),
    Man(shell::ManArguments),
}

fn main() -> ExitCode {
    build_identity::register(env!("TOLL_BUILD"));
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage::report(&error).into(),
    };
    let outcome = match arguments.command {
        Command::Run(arguments) => run::main(&arguments),
        Command::Report(arguments) => report::main(&arguments),
        Command::Compare(arguments) => compare::main(&arguments),
        Command::Check(arguments) => check::main(&arguments),
        Command::Load(arguments) => load::main(&arguments),
        Command::Serve(arguments) => serve::main(*arguments),
        Command::Plan(arguments) => plan::main(*arguments),
        Command::Watch(arguments) => watch::main(&arguments),
        Command::Bench(arguments) => bench::main(&arguments),
        Command::Agent(arguments) => agent::main(&arguments),
        Command::Completions(arguments) => Ok(shell::completions(&arguments)),
        Command::Man(arguments) => shell::man(&arguments),
    };
    outcome.unwrap_or_else(Failure::report).into()
}

/// Prints to stdout. A reader that has gone away, such as `head`, is no reason not to measure; a full
/// disk ends the program, whose servers end with it.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            crate::note(format_args!("the output cannot be written: {error}"));
            std::process::exit(Exit::Failed.code().into());
        }
        Ok(()) | Err(_) => {}
    }
}

/// Prints a line to stderr, after the program's name. Nobody may read it any more, or its disk may be full; that
/// changes neither what is measured nor the exit code.
pub(crate) fn note(text: impl Display) {
    print_beside(format_args!("toll: {text}\n"));
}

/// Prints to stderr, on the same terms.
pub(crate) fn print_beside(text: impl Display) {
    let _ = std::io::stderr().lock().write_all(text.to_string().as_bytes());
}

pub(crate) fn allowed_cpus() -> Result<CpuList, Failure> {
    CpuList::allowed()
        .map_err(|error| Failure::request(format!("cannot read the CPU affinity: {error}")))
}

/// The CPUs that studies may name, and their cores.
pub(crate) fn topology() -> Result<Topology, Failure> {
    Topology::of_this_process()
        .map_err(|error| Failure::request(format!("cannot read the CPU affinity: {error}")))
}

//! `toll`: a laboratory for the cost of TLS.

mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures what TLS costs, says what limited each number, and what to change.
#[derive(Parser)]
#[command(name = "toll", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve(arguments) => serve::main(arguments),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

/// A failure that ends the program: one line for the user, and the exit code of its kind.
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The request was wrong, or the server cannot be reached before the first trial: exit 2.
    pub(crate) fn request(message: impl std::fmt::Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// What was begun has failed: exit 3.
    pub(crate) fn measurement(message: impl std::fmt::Display) -> Self {
        Self { code: 3, message: message.to_string() }
    }

    fn report(self) -> ExitCode {
        eprintln!("toll: {}", self.message);
        ExitCode::from(self.code)
    }
}

use std::process::ExitCode;

use crate::Failure;

/// Serve objects over HTTPS and HTTP: the server under test that toll brings along.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn main(_arguments: Arguments) -> Result<ExitCode, Failure> {
    Err(Failure::request("not yet"))
}

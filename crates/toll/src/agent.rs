use std::process::ExitCode;

use ::agent::Input;

use crate::Failure;

/// Run on a host of a study, for the toll that measures (toll run starts it over ssh).
///
/// It starts the study's servers on this machine and reads the machine, as lines of JSON on stdin ask,
/// and answers with lines on stdout. It ends with its input, or when that is silent for 30 s, and its
/// servers end with it.
#[derive(clap::Args)]
pub(crate) struct Arguments;

pub(crate) fn main() -> Result<ExitCode, Failure> {
    ::agent::serve(Input::of_process(), std::io::stdout()).map_err(Failure::measurement)?;
    Ok(ExitCode::SUCCESS)
}

use ::agent::Input;
use targets::Silence;

use crate::{Exit, Failure};

/// Start servers here for a toll on another machine (toll run starts it over ssh).
///
/// It starts the study's servers on this machine and reads the machine. Requests are lines of JSON on
/// stdin, answers are lines on stdout. It ends when its input ends or is silent, or on
/// SIGTERM, SIGHUP and SIGINT; its servers and its folder go with it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long it hears nothing of toll until it ends
    #[arg(long, value_name = "TIME", default_value_t)]
    silence: Silence,
}

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    let input = Input::of_process(arguments.silence).map_err(Failure::measurement)?;
    ::agent::serve(input, std::io::stdout()).map_err(Failure::measurement)?;
    Ok(Exit::Done)
}

//! For shells and manuals: completions and man pages, made from the same definitions as `--help`.

use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::{Exit, Failure};

/// Print the completions of a shell.
#[derive(clap::Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct CompletionsArguments {
    /// The shell: bash, elvish, fish, powershell or zsh
    shell: Shell,
}

const COMPLETIONS: &str = "\
Examples:
  source <(toll completions bash)
  toll completions zsh > ~/.zfunc/_toll
  toll completions fish > ~/.config/fish/completions/toll.fish";

/// Print the man page, or write those of all commands.
#[derive(clap::Args)]
#[command(after_help = MAN)]
pub(crate) struct ManArguments {
    /// Write toll.1, toll-run.1 and so on into this folder instead
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const MAN: &str = "\
Examples:
  toll man | man -l -
  toll man --out ~/.local/share/man/man1";

pub(crate) fn completions(arguments: &CompletionsArguments) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "toll", &mut text);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if arguments.shell == Shell::Fish {
        // clap's script for fish offers the values of flags, but not those of STUDY.
        let studies: Vec<&str> = file::shipped().into_iter().map(|(name, _)| name).collect();
        text += &format!(
            "complete -c toll -n \"__fish_toll_using_subcommand run\" -a \"{}\"\n",
            studies.join(" ")
        );
    }
    crate::print(&text);
    Exit::Done
}

pub(crate) fn man(arguments: &ManArguments) -> Result<Exit, Failure> {
    let toll = crate::Arguments::command().disable_help_subcommand(true);
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(toll, folder))
            .map_err(|error| {
                let folder = folder.display();
                Failure::request(format!("{folder}: {error}; use a writable folder"))
            })?;
        return Ok(Exit::Done);
    }
    let mut page = Vec::new();
    Man::new(toll).render(&mut page).map_err(Failure::measurement)?;
    crate::print(&String::from_utf8_lossy(&page));
    Ok(Exit::Done)
}

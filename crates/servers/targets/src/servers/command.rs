//! A server of the user's own, started by a command line.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use crate::launch_context::LaunchContext;
use crate::program::Binary;
use crate::ready::{self, Unready};
use crate::running::Started;
use crate::servers::program::{Invocation, Program};
use crate::{CommandLine, Settings, TargetError};

pub(super) struct Command;

impl Program for Command {
    fn binary(&self) -> Binary {
        Binary::Path("/bin/sh")
    }

    fn check(&self, settings: &Settings) -> Result<(), TargetError> {
        let provider = settings.target.provider.as_ref();
        provider.map_or(Ok(()), |it| it.check()).map_err(TargetError::Settings)?;
        line(settings).map(drop)
    }

    fn version(&self, _binary: &Path, settings: &Settings) -> Result<String, TargetError> {
        line(settings).map(ToString::to_string)
    }

    fn launch(&self, context: &LaunchContext<'_>) -> Invocation {
        let line = context.settings.target.command.as_ref().map(|line| filled(line, context));
        Invocation {
            arguments: vec!["-c".into(), line.unwrap_or_default().into()],
            has_children: true,
            needs_free_ports: true,
            ..Invocation::default()
        }
    }

    /// What it serves is not known, so it is enough that it listens.
    fn ready(&self, context: &LaunchContext<'_>, deadline: Instant) -> Result<Started, Unready> {
        let wanted = |is_wanted: fn(&CommandLine) -> bool| {
            context.settings.target.command.as_ref().is_some_and(is_wanted)
        };
        if wanted(CommandLine::has_tls) {
            ready::listens(context.https[0], deadline)?;
        }
        if wanted(CommandLine::has_plain) {
            ready::listens(context.http[0], deadline)?;
        }
        Ok(context.started())
    }
}

fn line(settings: &Settings) -> Result<&CommandLine, TargetError> {
    settings.target.command.as_ref().ok_or_else(|| {
        TargetError::Settings("the command of the server is missing; give it".to_owned())
    })
}

/// The command line, with what this server is to be told.
fn filled(line: &CommandLine, context: &LaunchContext<'_>) -> String {
    let path = |path: &Path| shell_quoted(&path.to_string_lossy());
    // A dry run has no ports yet.
    let port = |address: SocketAddr, unknown: &str| match address.port() {
        0 => unknown.to_owned(),
        port => port.to_string(),
    };
    line.filled(&[
        ("{address}", context.https[0].ip().to_string()),
        ("{port}", port(context.https[0], "PORT")),
        ("{plain-port}", port(context.http[0], "PLAIN-PORT")),
        ("{cert}", path(&context.certificate())),
        ("{key}", path(&context.key())),
        ("{root}", path(context.root)),
        ("{cpus}", shell_quoted(&context.settings.target.cpus.to_string())),
    ])
}

/// A text as one word for a shell.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_context::tests::context;

    #[test]
    fn placeholders_are_filled_and_quoted() {
        let line: CommandLine =
            "serve -p {port}:{plain-port} -c {cert} -k {key} {root} {cpus} ${HOME}"
                .parse()
                .unwrap();
        let settings = Settings::new("0,2".parse().unwrap());
        let context = LaunchContext { root: Path::new("/r"), ..context("/it's", &settings) };
        assert_eq!(
            filled(&line, &context),
            r"serve -p 1:2 -c '/it'\''s/server.crt' -k '/it'\''s/server.key' '/r' '0,2' ${HOME}"
        );
    }

    #[test]
    fn a_path_with_the_name_of_a_placeholder_stays_as_it_is() {
        let line: CommandLine = "serve {port} {cert} {root}".parse().unwrap();
        let settings = Settings::new("0".parse().unwrap());
        let context =
            LaunchContext { root: Path::new("/{cpus}"), ..context("/{root}/{key}", &settings) };
        assert_eq!(filled(&line, &context), "serve 1 '/{root}/{key}/server.crt' '/{cpus}'");
    }

    #[test]
    fn a_command_without_a_port_or_with_an_unknown_word_is_refused() {
        let refused = ["serve", "serve {port} {crt}", "serve {port}\n"];
        support::assert_golden!(
            refused.map(|text| (text, text.parse::<CommandLine>().unwrap_err()))
        );
        assert!("serve {plain-port} | { cat; } '{\"a\":1}'".parse::<CommandLine>().is_ok());
    }
}

//! A server of the user's own, started by a command line.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use crate::launch_context::LaunchContext;
use crate::program::Binary;
use crate::ready::{self, Unready};
use crate::running::Started;
use crate::server::{Invocation, Program, Restart, Server};
use crate::{Settings, TargetError};

/// What a command line may hold in braces, each with its meaning.
const PLACEHOLDERS: [&str; 7] = ["address", "port", "plain-port", "cert", "key", "root", "cpus"];

struct Command;

pub(super) static COMMAND: Server = Server {
    program: Some(&Command),
    is_configured: false,
    // What a start of it takes, or does, only its owner knows.
    restart: Restart::Never,
    // Which its owner has it load; toll looks whether it did.
    own_keys: &[&["command", "offload", "provider"]],
    ..Server::named("command")
};

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
        let line = context.settings.target.command.as_ref().map(|line| line.filled(context));
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

/// A command line for `/bin/sh` that starts a server in the foreground.
///
/// In it stand for what the server is to be told: `{address}`, where it is to listen, 127.0.0.1 or an
/// address of its host; `{port}`, the port on which it is to speak TLS; `{plain-port}`, that of plain
/// HTTP; `{cert}` and `{key}`, the files of its certificate and key; `{root}`, the folder of the objects;
/// `{cpus}`, its CPUs. All but address and ports are quoted for the shell.
#[derive(Debug, Clone, PartialEq, Eq, serde_with::DeserializeFromStr, serde_with::SerializeDisplay)]
pub struct CommandLine(String);

impl CommandLine {
    pub fn has_tls(&self) -> bool {
        self.0.contains("{port}")
    }

    pub fn has_address(&self) -> bool {
        self.0.contains("{address}")
    }

    pub fn has_plain(&self) -> bool {
        self.0.contains("{plain-port}")
    }

    /// The command line with its placeholders filled in.
    /// What stands in braces in a value stays as it is.
    pub(crate) fn filled(&self, context: &LaunchContext<'_>) -> String {
        let path = |path: &Path| shell_quoted(&path.to_string_lossy());
        // A dry run has no ports yet.
        let port = |address: SocketAddr, unknown: &str| match address.port() {
            0 => unknown.to_owned(),
            port => port.to_string(),
        };
        let known = [
            ("{address}", context.https[0].ip().to_string()),
            ("{port}", port(context.https[0], "PORT")),
            ("{plain-port}", port(context.http[0], "PLAIN-PORT")),
            ("{cert}", path(&context.certificate())),
            ("{key}", path(&context.key())),
            ("{root}", path(context.root)),
            ("{cpus}", shell_quoted(&context.settings.target.cpus.to_string())),
        ];
        let (mut filled, mut rest) = (String::new(), self.0.as_str());
        while let Some(start) = rest.find('{') {
            filled.push_str(&rest[..start]);
            rest = &rest[start..];
            let (length, value) = known
                .iter()
                .find(|(name, _)| rest.starts_with(name))
                .map_or((1, "{"), |(name, value)| (name.len(), value));
            filled.push_str(value);
            rest = &rest[length..];
        }
        filled + rest
    }
}

/// A text as one word for a shell.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl FromStr for CommandLine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(char::is_control) {
            return Err("a command is one line".to_owned());
        }
        let line = Self(text.to_owned());
        if let Some(unknown) = placeholders(text).find(|name| !PLACEHOLDERS.contains(name)) {
            return Err(format!(
                "{{{unknown}}} is not known; these are: {{{}}}",
                PLACEHOLDERS.join("}, {")
            ));
        }
        if !line.has_tls() && !line.has_plain() {
            return Err(
                "the command gives its server no port; write {port} where the port of TLS belongs, or \
                 {plain-port} for plain HTTP"
                    .to_owned(),
            );
        }
        Ok(line)
    }
}

/// What stands in braces that could be a placeholder: small letters and hyphens, and no `$` before,
/// which would make it the shell's.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let is_name =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    text.match_indices('{')
        .filter(|(start, _)| !text[..*start].ends_with('$'))
        .filter_map(|(start, _)| text[start + 1..].split_once('}').map(|(name, _)| name))
        .filter(is_name)
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
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
            line.filled(&context),
            r"serve -p 1:2 -c '/it'\''s/server.crt' -k '/it'\''s/server.key' '/r' '0,2' ${HOME}"
        );
    }

    #[test]
    fn a_path_with_the_name_of_a_placeholder_stays_as_it_is() {
        let line: CommandLine = "serve {port} {cert} {root}".parse().unwrap();
        let settings = Settings::new("0".parse().unwrap());
        let context =
            LaunchContext { root: Path::new("/{cpus}"), ..context("/{root}/{key}", &settings) };
        assert_eq!(line.filled(&context), "serve 1 '/{root}/{key}/server.crt' '/{cpus}'");
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

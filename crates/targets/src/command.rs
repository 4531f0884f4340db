//! A server of the user's own, started by a command line.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Signal;

use crate::place::Place;
use crate::port::ReservedPort;
use crate::process::{Launch, Process};
use crate::ready::{self, Unready};
use crate::running::{START_LIMIT, Started, Starting};
use crate::{Objects, Running, Settings, TargetError};

/// What a command line may hold in braces, each with its meaning.
const PLACEHOLDERS: [&str; 6] = ["port", "plain-port", "cert", "key", "root", "cpus"];

/// A command line for `/bin/sh` that starts a server in the foreground.
///
/// In it stand for what the server is to be told: `{port}`, the port of 127.0.0.1 on which it is to
/// speak TLS; `{plain-port}`, that of plain HTTP; `{cert}` and `{key}`, the files of its certificate
/// and key; `{root}`, the folder of the objects; `{cpus}`, its CPUs. All but the ports are quoted for
/// the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine(String);

impl CommandLine {
    /// Whether the server speaks TLS.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        self.0.contains("{port}")
    }

    /// Whether the server speaks plain HTTP.
    #[must_use]
    pub fn has_plain(&self) -> bool {
        self.0.contains("{plain-port}")
    }

    /// The command line with these values in the place of its placeholders.
    /// What stands in braces in a value stays as it is.
    pub(crate) fn filled(&self, values: &Values<'_>) -> String {
        let path = |path: &Path| shell_quoted(&path.to_string_lossy());
        let known = [
            ("{port}", values.port.to_owned()),
            ("{plain-port}", values.plain_port.to_owned()),
            ("{cert}", path(values.certificate)),
            ("{key}", path(values.key)),
            ("{root}", path(values.root)),
            ("{cpus}", shell_quoted(&values.settings.cpus.to_string())),
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

    pub(crate) fn start(
        &self,
        settings: &Settings,
        objects: &Arc<Objects>,
        folder: &Path,
    ) -> Result<Running, TargetError> {
        let place = Place::claim(folder, "command")?;
        let (certificate, key) = place.identity(settings)?;
        let (output, stdout) = place.log("output.log")?;
        let stderr = stdout.try_clone().map_err(TargetError::file(&output))?;
        let (https, http) = (ReservedPort::new()?, ReservedPort::new()?);
        let (port, plain_port) = (https.address().port(), http.address().port());
        let line = self.filled(&Values {
            settings,
            port: &port.to_string(),
            plain_port: &plain_port.to_string(),
            certificate: &certificate,
            key: key.path(),
            root: objects.root(),
        });
        let started =
            Started { version: self.to_string(), https: https.address(), http: http.address() };
        // Not every server sets SO_REUSEPORT, so the ports are free for a moment; whoever took one
        // meanwhile keeps the server from listening, and it says so.
        drop((https, http));
        let launch = Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), line.into()],
            environment: settings.variables(),
            cpus: &settings.cpus,
            stdout,
            stderr,
            death_signal: Signal::TERM,
            secrets: vec![key],
        };
        let process = Process::start(launch)
            .map_err(|(program, source)| TargetError::Spawn { program, source })?;
        let deadline = Instant::now() + START_LIMIT;
        let log_files = vec![output];
        let starting = Starting {
            place,
            process,
            certificate,
            log_files,
            incidents: None,
            deadline,
            backend: None,
        };
        let wanted = [(self.has_tls(), started.https), (self.has_plain(), started.http)];
        starting.finish_when(settings, objects, started, |deadline| {
            let mut ports = wanted.iter().filter(|(is_wanted, _)| *is_wanted);
            ports.try_for_each(|(_, address)| -> Result<(), Unready> {
                ready::listens(*address, deadline)
            })
        })
    }
}

/// What stands for a command line's placeholders.
pub(crate) struct Values<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) port: &'a str,
    pub(crate) plain_port: &'a str,
    pub(crate) certificate: &'a Path,
    pub(crate) key: &'a Path,
    pub(crate) root: &'a Path,
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
                "{{{unknown}}} stands for nothing; there are {{{}}}",
                PLACEHOLDERS.join("}, {")
            ));
        }
        if !line.has_tls() && !line.has_plain() {
            return Err(
                "the command tells its server no port; write {port} where that of TLS belongs, or \
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

    #[test]
    fn placeholders_are_filled_and_quoted() {
        let line: CommandLine =
            "serve -p {port}:{plain-port} -c {cert} -k {key} {root} {cpus} ${HOME}"
                .parse()
                .unwrap();
        let values = Values {
            settings: &Settings::new("0,2".parse().unwrap()),
            port: "1",
            plain_port: "2",
            certificate: Path::new("/a b/c"),
            key: Path::new("/it's"),
            root: Path::new("/r"),
        };
        assert_eq!(
            line.filled(&values),
            r"serve -p 1:2 -c '/a b/c' -k '/it'\''s' '/r' '0,2' ${HOME}"
        );
    }

    #[test]
    fn a_path_with_the_name_of_a_placeholder_stays_as_it_is() {
        let line: CommandLine = "serve {port} {cert} {root}".parse().unwrap();
        let values = Values {
            settings: &Settings::new("0".parse().unwrap()),
            port: "1",
            plain_port: "2",
            certificate: Path::new("/{root}/{key}/c"),
            key: Path::new("/k"),
            root: Path::new("/{cpus}"),
        };
        assert_eq!(line.filled(&values), "serve 1 '/{root}/{key}/c' '/{cpus}'");
    }

    #[test]
    fn a_command_without_a_port_or_with_an_unknown_word_is_refused() {
        let refusal = |text: &str| text.parse::<CommandLine>().unwrap_err();
        assert!(refusal("serve").contains("no port; write {port}"), "{}", refusal("serve"));
        let message = refusal("serve {port} {crt}");
        assert!(message.starts_with("{crt} stands for nothing; there are {port}, "), "{message}");
        assert_eq!(refusal("serve {port}\n"), "a command is one line");
        assert!("serve {plain-port} | { cat; } '{\"a\":1}'".parse::<CommandLine>().is_ok());
    }
}

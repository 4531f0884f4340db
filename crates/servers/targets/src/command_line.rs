//! The command line of a server of the user's own.

use std::fmt;
use std::str::FromStr;

/// What a command line may hold in braces, each with its meaning.
const PLACEHOLDERS: [&str; 7] = ["address", "port", "plain-port", "cert", "key", "root", "cpus"];

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

    /// The command line with its placeholders filled in, each in its braces with what stands for it.
    /// What stands in braces in a value stays as it is.
    pub(crate) fn filled(&self, known: &[(&str, String)]) -> String {
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

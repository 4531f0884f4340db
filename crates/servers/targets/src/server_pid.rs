//! `target.pid` and `--server-pid`: which process a server is that toll did not start.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use observe::ServerProcess;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How the process is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerPid {
    /// By its number.
    Number(u32),
    /// By the file that has its number: a path with a slash, or one that ends in `.pid`.
    File(PathBuf),
    /// By the name of its program.
    Program(String),
}

impl ServerPid {
    /// The process that has that number, or that name, now.
    ///
    /// # Errors
    /// Which file has no number, or which processes there are, in words that follow the name of the option.
    pub fn find(&self) -> Result<ServerProcess, String> {
        let of_number = |pid: u32, what: &str| {
            ServerProcess::of(pid)
                .map_err(|error| format!("{error}; give {what} of a process that runs here"))
        };
        match self {
            Self::Number(pid) => of_number(*pid, "the number"),
            Self::File(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                let number = text.split_whitespace().next().and_then(|word| word.parse().ok());
                let pid = number.ok_or_else(|| {
                    format!("{} does not begin with the number of a process", path.display())
                })?;
                of_number(pid, "the file").map_err(|error| format!("{}: {error}", path.display()))
            }
            Self::Program(name) => {
                let mut found = ServerProcess::called(name);
                match (found.len(), found.pop()) {
                    (1, Some(only)) => Ok(only),
                    (_, None) => Err(format!(
                        "no process is called {name}; give its number or the path of its PID file"
                    )),
                    (count, Some(last)) => {
                        let all: Vec<String> =
                            found.iter().chain([&last]).map(ToString::to_string).collect();
                        let all = all.join("; ");
                        Err(format!(
                            "{count} servers are called {name} ({all}); give the number of one"
                        ))
                    }
                }
            }
        }
    }
}

impl FromStr for ServerPid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text {
            _ if is_number => match text.parse() {
                Ok(pid) if pid > 0 => Ok(Self::Number(pid)),
                _ => Err(format!("{text} is no number of a process")),
            },
            _ if text.contains('/') || text.ends_with(".pid") => Ok(Self::File(text.into())),
            _ if !text.is_empty() && !text.contains(char::is_whitespace) => {
                Ok(Self::Program(text.to_owned()))
            }
            _ => Err(format!(
                "`{text}` is not a process; write its number, the path of its PID file, or the program's name, such \
                 as 812, /run/nginx.pid or nginx"
            )),
        }
    }
}

impl fmt::Display for ServerPid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(pid) => write!(f, "{pid}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Program(name) => f.write_str(name),
        }
    }
}

impl Serialize for ServerPid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(pid) => serializer.serialize_u32(*pid),
            Self::File(_) | Self::Program(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for ServerPid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;

        impl Visitor<'_> for NumberOrText {
            type Value = ServerPid;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the number of a process, the path of its PID file, or the program's name",
                )
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<ServerPid, E> {
                let pid = u32::try_from(number).ok().filter(|pid| *pid > 0);
                pid.map(ServerPid::Number)
                    .ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<ServerPid, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(0))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ServerPid, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(NumberOrText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_by_its_number_its_file_or_its_program() {
        let read = |text: &str| text.parse::<ServerPid>();
        assert_eq!(read("812"), Ok(ServerPid::Number(812)));
        assert_eq!(read("/run/nginx.pid"), Ok(ServerPid::File("/run/nginx.pid".into())));
        assert_eq!(read("nginx.pid"), Ok(ServerPid::File("nginx.pid".into())));
        assert_eq!(read("nginx"), Ok(ServerPid::Program("nginx".to_owned())));
        for wrong in ["", "0", "99999999999", "a b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for text in ["812", "\"/run/nginx.pid\"", "\"nginx\""] {
            let pid: ServerPid = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&pid).unwrap(), text);
        }
        for wrong in ["-1", "0", "4294967296", "1.5", "true", "\"\""] {
            assert!(serde_json::from_str::<ServerPid>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_has_the_number_of_a_process_that_runs() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let found = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            ServerPid::File(file.path().to_owned()).find().map(|found| found.pid)
        };
        let own = std::process::id();
        assert_eq!(found(&format!("{own}\n")), Ok(own));
        for wrong in ["", "nginx", "8388608"] {
            let why = found(wrong).unwrap_err();
            assert!(why.contains(&file.path().display().to_string()), "{why}");
        }
        assert!(ServerPid::File("/no/such.pid".into()).find().is_err());
        assert!(ServerPid::Program("no-such-program".to_owned()).find().is_err());
    }
}

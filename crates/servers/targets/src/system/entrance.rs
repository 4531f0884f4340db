//! How a program of a system is started: in a mount namespace where this process may make one, else by the system's own
//! loader, which takes every library from there. callgrind is this machine's, and counts what the loader starts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::SystemRoot;
use crate::TargetError;
use crate::mounts::Mounts;
use crate::process::START_LIMIT;
use crate::program::{output_within, quoted};

/// A program with what has to stand before its arguments and in its environment.
#[derive(Debug)]
pub(crate) struct Entrance {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) mounts: Option<Mounts>,
}

impl Entrance {
    /// A program of this machine's own.
    pub(crate) fn here(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            mounts: None,
        }
    }

    /// The command of it.
    pub(crate) fn command(self) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.arguments).envs(self.environment);
        if let Some(mounts) = self.mounts {
            mounts.before(&mut command);
        }
        command
    }

    /// Runs the program for an answer that it gives at once and ends: what it writes to `stdout` and `stderr`.
    pub(crate) fn ask(self) -> Result<Output, TargetError> {
        let program = self.program.clone();
        let mut command = self.command();
        command.env_remove("NGINX");
        output_within(&mut command, START_LIMIT)
            .map_err(|source| TargetError::Spawn { program, source })
    }
}

/// Whether this process may start programs in mounts of their own, which is tried once with a system's loader.
fn are_allowed(mounts: &Mounts, loader: &Path) -> bool {
    static ARE: OnceLock<bool> = OnceLock::new();
    *ARE.get_or_init(|| {
        let entrance = Entrance {
            arguments: vec!["--version".into()],
            mounts: Some(mounts.clone()),
            ..Entrance::here(loader)
        };
        entrance.ask().is_ok_and(|output| output.status.success())
    })
}

impl SystemRoot {
    /// How a program is started, a file of the system or toll itself.
    ///
    /// # Errors
    /// The system cannot be read.
    pub(crate) fn enter(
        &self,
        program: &Path,
        in_callgrind: bool,
    ) -> Result<Entrance, TargetError> {
        let mounts = self.mounts(in_callgrind)?;
        let Some(mounts) = mounts.clone().filter(|_| !in_callgrind) else {
            return Ok(Entrance { mounts, ..self.by_loader(program) });
        };
        let inside = match program.strip_prefix(self.folder()) {
            Ok(inside) => Path::new("/").join(inside),
            Err(_) => program.to_owned(),
        };
        // toll may lie in a folder that is covered then: its file is open before, in this process.
        let own = std::fs::canonicalize("/proc/self/exe").unwrap_or_default();
        let inside = match inside == own && mounts.covers(&own).is_some() {
            true => PathBuf::from("/proc/self/exe"),
            false => inside,
        };
        Ok(Entrance { mounts: Some(mounts), ..Entrance::here(&inside) })
    }

    /// Those that a program of it is started in, where they are allowed. callgrind is in this machine's `/usr`; what
    /// libraries are for users and hosts, `/etc` says.
    pub(super) fn mounts(&self, in_callgrind: bool) -> Result<Option<Mounts>, TargetError> {
        let mounts = Mounts::of(self.folder(), |name| !in_callgrind || name == "etc");
        let mounts = mounts.map_err(TargetError::file(self.folder()))?;
        let is_allowed = are_allowed(&mounts, &self.loader);
        Ok(is_allowed.then_some(mounts))
    }

    /// A file of the system as a program of it is to name it.
    ///
    /// # Errors
    /// As those of [`Self::enter`].
    pub(crate) fn named(&self, path: &str, in_callgrind: bool) -> Result<String, TargetError> {
        Ok(match self.mounts(in_callgrind)? {
            Some(_) if !in_callgrind => path.to_owned(),
            _ => format!("{}{path}", self.folder().display()),
        })
    }

    /// Refuses a folder of the run that a program of the system could not see.
    pub(crate) fn check_sees(&self, folder: &Path, in_callgrind: bool) -> Result<(), TargetError> {
        let covered = self.mounts(in_callgrind)?.and_then(|mounts| mounts.covers(folder));
        covered.map_or(Ok(()), |over| {
            Err(TargetError::Settings(format!(
                "{} lies in {}, over which a server of {} has its own; use another result folder",
                folder.display(),
                over.display(),
                self.name()
            )))
        })
    }

    fn by_loader(&self, program: &Path) -> Entrance {
        let libraries = self.libraries();
        let paths = [libraries.clone(), self.folder().join("usr/lib")];
        let paths = paths.map(PathBuf::into_os_string).join(":".as_ref());
        let arguments = ["--inhibit-cache".into(), "--library-path".into(), paths];
        let configuration = self.folder().join("etc/ssl/openssl.cnf");
        let environment = [
            ("OPENSSL_CONF".into(), configuration.into()),
            ("OPENSSL_MODULES".into(), libraries.join("ossl-modules").into()),
        ];
        Entrance {
            program: self.loader.clone(),
            arguments: arguments.into_iter().chain([program.into()]).collect(),
            environment: environment.into(),
            mounts: None,
        }
    }

    fn libraries(&self) -> PathBuf {
        self.folder().join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH))
    }

    /// Its file itself: links to it are absolute in some releases, and would lead to this machine's.
    ///
    /// # Errors
    /// It has none, or one for another architecture alone.
    pub(super) fn find_loader(&self) -> Result<PathBuf, TargetError> {
        let files = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let loader = |folder: &Path| {
            let mut paths = files(folder).map(|entry| entry.path());
            paths.find(|path| starts_with(path, "ld-linux-"))
        };
        let own = self.libraries();
        loader(&own).ok_or_else(|| {
            let mut others = files(&self.folder().join("usr/lib")).map(|entry| entry.path());
            match others.find(|folder| loader(folder).is_some()) {
                Some(other) => {
                    let name = other.file_name().unwrap_or_default().display();
                    self.unusable(&format!("is of another architecture, {name};"))
                }
                None => self.unusable(&format!("has no loader in {};", own.display())),
            }
        })
    }

    /// Refuses a program that its loader cannot load, or not without a library of this machine.
    pub(super) fn check_loads(&self, program: &Path) -> Result<(), TargetError> {
        let mut entrance = self.by_loader(program);
        entrance.arguments.insert(0, "--list".into());
        let output = entrance.ask()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            let quoted = quoted(&format!("{complaint}{said}"), "error");
            let program = program.display();
            return Err(self.unusable(&format!("cannot load its {program} ({quoted});")));
        }
        let foreign = said.lines().filter_map(|line| line.trim().split_once(" => ")).find(|of| {
            !Path::new(of.1).starts_with(self.folder())
                && !starts_with(Path::new(of.0), "ld-linux-")
        });
        foreign.map_or(Ok(()), |(library, _)| {
            Err(self.unusable(&format!("lacks {library} for {};", program.display())))
        })
    }
}

fn starts_with(path: &Path, start: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
}

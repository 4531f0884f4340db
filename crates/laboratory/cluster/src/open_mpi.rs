//! The Open MPI of this machine: its version, and what its settings are called there.
//!
//! Open MPI 4 starts ranks by ORTE, Open MPI 5 by PRRTE, which took over ORTE's settings under other
//! names. Those of MPI itself (`btl`, `pml`) are the same in both.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long `mpirun --version` may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How the daemons of both versions notice that a host is cut off: after 3 s without traffic they send
/// three probes, one per second. A daemon that is cut off ends, and its ranks with it.
const KEEPALIVE: [(&str, &str); 3] = [
    ("oob_tcp_keepalive_time", "3"),
    ("oob_tcp_keepalive_intvl", "1"),
    ("oob_tcp_keepalive_probes", "3"),
];

/// How many seconds a rank waits before it ends the others, which its daemon may do before.
const ABORT_DELAY: &str = "2";

/// An installed Open MPI.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("Open MPI {version}")]
pub struct OpenMpi {
    pub(crate) mpirun: PathBuf,
    /// Such as `4.1.4`.
    version: String,
    launcher: Launcher,
}

/// What starts ranks on their hosts, and has settings under names of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Launcher {
    /// Of Open MPI 4.
    Orte,
    /// Of Open MPI 5 and newer.
    Prrte,
}

impl OpenMpi {
    /// That of `PATH`.
    ///
    /// # Errors
    /// There is none that toll can use; the message says what to do.
    pub fn find() -> Result<Self, String> {
        Self::find_in(std::env::var_os("PATH"))
    }

    pub(crate) fn find_in(path: Option<OsString>) -> Result<Self, String> {
        let mpirun = targets::find_in(path, "mpirun")
            .ok_or("mpirun is not installed; apt-get install openmpi-bin")?;
        let output = targets::output_within(Command::new(&mpirun).arg("--version"), LIMIT)
            .map_err(|error| format!("{} --version: {error}", mpirun.display()))?;
        Self::of(&mpirun, &String::from_utf8_lossy(&output.stdout))
    }

    fn of(mpirun: &Path, text: &str) -> Result<Self, String> {
        let of_open_mpi = text.split_once("(Open MPI) ").map(|(_, rest)| rest);
        let version = of_open_mpi.and_then(|rest| rest.split_whitespace().next());
        let major = version.and_then(|version| version.split('.').next()?.parse().ok());
        let launcher = match major {
            Some(4) => Launcher::Orte,
            Some(5_u32..) => Launcher::Prrte,
            _ => {
                let seen = text.lines().next().unwrap_or_default();
                return Err(format!(
                    "{} is not Open MPI 4 or 5, but `{}`; apt-get install openmpi-bin, or put the folder \
                     of another mpirun first in PATH",
                    mpirun.display(),
                    seen.escape_debug()
                ));
            }
        };
        let version = version.unwrap_or_default().to_owned();
        Ok(Self { mpirun: mpirun.to_owned(), version, launcher })
    }

    /// The options by which ranks are reached through this shell, with MPI's own messages in this network.
    pub(crate) fn options(&self, shell: &str, control: Option<&str>, hosts: usize) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |option: &str, key: &str, value: &str| {
            words.extend([option, key, value].map(str::to_owned));
        };
        add("--mca", "btl", "tcp,self");
        add("--mca", "pml", "ob1");
        if let Some(network) = control {
            add("--mca", "btl_tcp_if_include", network);
        }
        if self.launcher == Launcher::Prrte {
            // Where a rank dies, those connected to it abort at once since version 5. So that it is the one
            // that is named, they wait until its daemon has told of its end.
            add("--mca", "opal_abort_delay", ABORT_DELAY);
        }
        // Each daemon is connected to toll's directly, so that a lost host does not cut off another one.
        let (option, network_key, own) = match self.launcher {
            Launcher::Orte => (
                "--mca",
                "oob_tcp_if_include",
                [("plm_rsh_agent", shell), ("plm_rsh_no_tree_spawn", "1"), ("routed", "direct")],
            ),
            Launcher::Prrte => (
                "--prtemca",
                "prte_if_include",
                [
                    ("plm_ssh_agent", shell),
                    ("plm_ssh_no_tree_spawn", "1"),
                    // A tree in which the root has so many children has no second level.
                    ("routed_radix", &*hosts.max(1).to_string()),
                ],
            ),
        };
        for (key, value) in own.into_iter().chain(KEEPALIVE) {
            add(option, key, value);
        }
        if let Some(network) = control {
            add(option, network_key, network);
        }
        // Load threads pin themselves; two ranks of a host have CPUs of their own.
        let slots: &[&str] = match self.launcher {
            Launcher::Orte => &["--oversubscribe"],
            Launcher::Prrte => &["--map-by", ":OVERSUBSCRIBE"],
        };
        words.extend(["--bind-to", "none"].iter().chain(slots).map(|word| (*word).to_owned()));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl OpenMpi {
        /// One of this version, which need not be there.
        pub(crate) fn stand_in(version: &str) -> Self {
            Self::of(Path::new("mpirun"), &format!("mpirun (Open MPI) {version}")).unwrap()
        }
    }

    #[test]
    fn each_version_has_its_launcher_and_others_are_refused() {
        let of = |text: &str| OpenMpi::of(Path::new("/opt/bin/mpirun"), text);
        for (version, launcher) in [
            ("4.1.4", Launcher::Orte),
            ("5.0.11", Launcher::Prrte),
            ("5.0.0rc2", Launcher::Prrte),
            ("6.0.0rc2", Launcher::Prrte),
        ] {
            let found = of(&format!("mpirun (Open MPI) {version}\n\nReport bugs to x\n")).unwrap();
            assert_eq!(found.launcher, launcher);
            assert_eq!(found.to_string(), format!("Open MPI {version}"));
        }
        for wrong in ["mpirun (Open MPI) 3.1.3", "HYDRA build details:\n Version: 4.0", ""] {
            let why = of(wrong).unwrap_err();
            for part in [wrong.lines().next().unwrap_or_default(), "/opt/bin/mpirun"] {
                assert!(why.contains(part), "{why}");
            }
        }
    }

    #[test]
    fn a_setting_has_one_name_per_version() {
        let of = |version: &str| {
            let open_mpi = OpenMpi::stand_in(version);
            open_mpi.options("ssh -x", Some("10.0.0.0/24"), 3).join(" ")
        };
        let (four, five) = (of("4.1.4"), of("5.0.11"));
        for (in_four, in_five) in [
            ("--mca plm_rsh_agent ssh -x ", "--prtemca plm_ssh_agent ssh -x "),
            ("--mca routed direct ", "--prtemca routed_radix 3 "),
            ("--mca oob_tcp_if_include 10.0.0.0/24 ", "--prtemca prte_if_include 10.0.0.0/24 "),
            ("--mca oob_tcp_keepalive_time 3 ", "--prtemca oob_tcp_keepalive_time 3 "),
            ("--mca btl_tcp_if_include 10.0.0.0/24 ", "--mca btl_tcp_if_include 10.0.0.0/24 "),
        ] {
            assert!(four.contains(in_four) && five.contains(in_five), "{four}\n{five}");
        }
        assert!(!four.contains("prte") && !five.contains("rsh"), "{four}\n{five}");
    }
}

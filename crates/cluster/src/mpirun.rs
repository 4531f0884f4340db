//! The command line of `mpirun`: rank 0 beside toll, the others on their hosts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use load::Rank;
use targets::Shell;

use crate::control;

/// How toll reaches the hosts of a study, and what it runs there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// `toll-rank`, at the same place on each of them.
    pub program: PathBuf,
    /// The network of MPI's own messages, such as `10.0.0.0/24`; by default MPI uses any.
    pub control: Option<String>,
    pub shell: Shell,
}

/// The program of a rank, which is installed beside toll.
pub(crate) const PROGRAM: &str = "toll-rank";

/// How Open MPI's daemons notice that a host is cut off: after 3 s without traffic they send three
/// probes, one per second. A daemon that is cut off ends, and its ranks with it.
const KEEPALIVE: [(&str, &str); 3] = [
    ("oob_tcp_keepalive_time", "3"),
    ("oob_tcp_keepalive_intvl", "1"),
    ("oob_tcp_keepalive_probes", "3"),
];

/// `mpirun` of `PATH`.
///
/// # Errors
/// It is not installed; the message says what to do.
pub(crate) fn find_mpirun() -> Result<PathBuf, String> {
    find_mpirun_in(std::env::var_os("PATH"))
}

fn find_mpirun_in(path: Option<OsString>) -> Result<PathBuf, String> {
    targets::find_in(path, "mpirun").ok_or_else(|| {
        "[[rank]] needs mpirun, which is not installed; apt-get install openmpi-bin".to_owned()
    })
}

impl Hosts {
    /// Where `toll-rank` is, or would be: beside this program.
    #[must_use]
    pub fn program() -> PathBuf {
        std::env::current_exe().unwrap_or_default().with_file_name(PROGRAM)
    }

    /// Checks that this machine has all that is needed. Nothing is started.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub fn check(&self) -> Result<(), String> {
        self.check_with(std::env::var_os("PATH"))?;
        control::check(self.control.as_deref())
            .map_err(|why| format!("[[rank]] needs Open MPI: on this machine {why}"))
    }

    fn check_with(&self, path: Option<OsString>) -> Result<(), String> {
        find_mpirun_in(path)?;
        if targets::is_program(&self.program) {
            return Ok(());
        }
        let folder = self.program.parent().unwrap_or(Path::new("/")).display();
        Err(format!("[[rank]] needs {PROGRAM}, which is not in {folder}; make hosts builds it"))
    }
}

/// The arguments of `mpirun` that run rank 0 here and one more rank in each of these places.
pub(crate) fn arguments(hosts: &Hosts, ranks: &[Rank], is_root: bool) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    if is_root {
        words.push("--allow-run-as-root".to_owned());
    }
    // Load threads pin themselves; two ranks of a host have CPUs of their own.
    words.extend(["--bind-to", "none", "--oversubscribe"].map(str::to_owned));
    let mut set = |key: &str, value: &str| {
        words.extend(["--mca".to_owned(), key.to_owned(), value.to_owned()]);
    };
    set("plm_rsh_agent", &hosts.shell.before_host().join(" "));
    // Each daemon is connected to toll's directly, so that a lost host does not cut off another one.
    set("plm_rsh_no_tree_spawn", "1");
    set("routed", "direct");
    set("btl", "tcp,self");
    set("pml", "ob1");
    for (key, value) in KEEPALIVE {
        set(key, value);
    }
    if let Some(network) = &hosts.control {
        set("btl_tcp_if_include", network);
        set("oob_tcp_if_include", network);
    }
    let mut on_host: BTreeMap<&str, usize> = BTreeMap::new();
    for rank in ranks {
        *on_host.entry(&rank.host).or_default() += 1;
    }
    let program = hosts.program.display().to_string();
    let others = ranks.iter().map(|rank| format!("{}:{}", rank.host, on_host[&*rank.host]));
    for (number, host) in std::iter::once("localhost".to_owned()).chain(others).enumerate() {
        if number > 0 {
            words.push(":".to_owned());
        }
        words.extend(
            ["-np", "1", "--host", &host, &program, "--of", build_identity::own()]
                .map(str::to_owned),
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn ranks_of_one_host_have_a_slot_each_and_mpi_keeps_to_its_network() {
        let hosts = Hosts {
            program: "/opt/toll-rank".into(),
            control: Some("10.0.0.0/24".to_owned()),
            shell: Shell::default(),
        };
        let rank = |host: &str, cpus: &str| Rank {
            host: host.to_owned(),
            cpus: cpus.parse().unwrap(),
            source: None,
            to: None,
        };
        let ranks = [rank("lg1", "0"), rank("lg2", "0"), rank("lg1", "1")];
        let words = arguments(&hosts, &ranks, true).join(" ");
        for part in [
            "--allow-run-as-root ",
            "--mca plm_rsh_agent ssh -o BatchMode=yes ",
            "--mca btl_tcp_if_include 10.0.0.0/24 --mca oob_tcp_if_include 10.0.0.0/24 ",
        ] {
            assert!(words.contains(part), "{words}");
        }
        let of = |host: &str| {
            format!("-np 1 --host {host} /opt/toll-rank --of {}", build_identity::own())
        };
        let all = ["localhost", "lg1:2", "lg2:1", "lg1:2"].map(of).join(" : ");
        assert!(words.ends_with(&all), "{words}");
        assert!(!arguments(&hosts, &ranks, false).join(" ").contains("root"));
        let own = Hosts { shell: "/usr/bin/ssh -F config".parse().unwrap(), ..hosts };
        let words = arguments(&own, &ranks, true).join(" ");
        let agent = "--mca plm_rsh_agent /usr/bin/ssh -F config -o BatchMode=yes --mca ";
        assert!(words.contains(agent), "{words}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = Some(folder.path().as_os_str().to_owned());
        let program = folder.path().join("toll-rank");
        let hosts = Hosts { program: program.clone(), control: None, shell: Shell::default() };
        let make = |program: &Path| {
            std::fs::write(program, "").unwrap();
            std::fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
        };
        let why = hosts.check_with(path.clone()).unwrap_err();
        assert!(why.contains("mpirun"), "{why}");
        make(&folder.path().join("mpirun"));
        let why = hosts.check_with(path.clone()).unwrap_err();
        assert!(
            why.contains("toll-rank") && why.contains(folder.path().to_str().unwrap()),
            "{why}"
        );
        make(&program);
        assert_eq!(hosts.check_with(path), Ok(()));
    }
}

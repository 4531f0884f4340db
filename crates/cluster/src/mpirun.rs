//! The command line of `mpirun`: rank 0 beside toll, the others on their hosts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use load::Rank;
use targets::Shell;

use crate::control;
use crate::open_mpi::OpenMpi;

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

impl Hosts {
    /// Where `toll-rank` is, or would be: beside this program.
    #[must_use]
    pub fn program() -> PathBuf {
        std::env::current_exe().unwrap_or_default().with_file_name(PROGRAM)
    }

    /// The Open MPI of this machine, where it has all that is needed. Nothing is started.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub fn check(&self) -> Result<OpenMpi, String> {
        let needs = |why: String| format!("[[rank]] needs Open MPI: {why}");
        let open_mpi = OpenMpi::find().map_err(needs)?;
        self.check_program()?;
        control::check(self.control.as_deref())
            .map_err(|why| needs(format!("on this machine {why}")))?;
        Ok(open_mpi)
    }

    fn check_program(&self) -> Result<(), String> {
        if targets::is_program(&self.program) {
            return Ok(());
        }
        let folder = self.program.parent().unwrap_or(Path::new("/")).display();
        Err(format!("[[rank]] needs {PROGRAM}, which is not in {folder}; make hosts builds it"))
    }
}

/// The arguments of `mpirun` that run rank 0 here and one more rank in each of these places.
pub(crate) fn arguments(
    open_mpi: &OpenMpi,
    hosts: &Hosts,
    ranks: &[Rank],
    is_root: bool,
) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    if is_root {
        words.push("--allow-run-as-root".to_owned());
    }
    let mut on_host: BTreeMap<&str, usize> = BTreeMap::new();
    for rank in ranks {
        *on_host.entry(&rank.host).or_default() += 1;
    }
    let shell = hosts.shell.before_host().join(" ");
    words.extend(open_mpi.options(&shell, hosts.control.as_deref(), on_host.len()));
    let others = ranks.iter().map(|rank| format!("{}:{}", rank.host, on_host[&*rank.host]));
    for (number, host) in std::iter::once("localhost".to_owned()).chain(others).enumerate() {
        if number > 0 {
            words.push(":".to_owned());
        }
        words.extend(["-np", "1", "--host", &host].map(str::to_owned));
        words.extend(hosts.rank_command());
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
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("toll-rank");
        let hosts = Hosts { program: program.clone(), control: None, shell: Shell::default() };
        let make = |program: &Path| {
            std::fs::write(program, "").unwrap();
            std::fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
        };
        let path = Some(folder.path().as_os_str().to_owned());
        assert!(OpenMpi::find_in(path).unwrap_err().contains("not installed"));
        let why = hosts.check_program().unwrap_err();
        assert!(
            why.contains("toll-rank") && why.contains(folder.path().to_str().unwrap()),
            "{why}"
        );
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(hosts.check_program(), Ok(()));
    }
}

//! The command line of `mpirun`: rank 0 beside toll, the others on their hosts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use load::Rank;
use targets::{Shell, Silence};

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
    /// A rank that receives nothing for this long stops loading and ends.
    pub silence: Silence,
}

/// The program of a rank, which is installed beside toll.
pub(crate) const PROGRAM: &str = "toll-rank";

impl Hosts {
    /// Where `toll-rank` is, or would be: beside this program.
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

    /// What runs on each host, with its arguments.
    pub(crate) fn rank_command(&self) -> Vec<String> {
        let program = self.program.display().to_string();
        let mut words = vec![program];
        let silence = self.silence.to_string();
        words.extend(["--of", build_identity::own(), "--silence", &silence].map(str::to_owned));
        if let Some(control) = &self.control {
            words.extend(["--control".to_owned(), control.clone()]);
        }
        words
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
            silence: "3s".parse().unwrap(),
        };
        let rank = |host: &str, cpus: &str| Rank {
            host: host.to_owned(),
            cpus: cpus.parse().unwrap(),
            source: None,
            to: None,
        };
        let ranks = [rank("lg1", "0"), rank("lg2", "0"), rank("lg1", "1")];
        let own = Hosts { shell: "/usr/bin/ssh -F config".parse().unwrap(), ..hosts.clone() };
        for version in ["4.1.4", "5.0.11"] {
            let open_mpi = OpenMpi::stand_in(version);
            let words = arguments(&open_mpi, &hosts, &ranks, true).join(" ");
            assert!(words.starts_with("--allow-run-as-root "), "{words}");
            assert!(words.contains("sh_agent ssh -o BatchMode=yes --"), "{words}");
            let of = |host: &str| {
                let build = build_identity::own();
                let program = format!("/opt/toll-rank --of {build} --silence 3s");
                format!("-np 1 --host {host} {program} --control 10.0.0.0/24")
            };
            let all = ["localhost", "lg1:2", "lg2:1", "lg1:2"].map(of).join(" : ");
            assert!(words.ends_with(&all), "{words}");
            assert!(!arguments(&open_mpi, &hosts, &ranks, false).join(" ").contains("root"));
            let words = arguments(&open_mpi, &own, &ranks, true).join(" ");
            let agent = "sh_agent /usr/bin/ssh -F config -o BatchMode=yes --";
            assert!(words.contains(agent), "{words}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("toll-rank");
        let hosts = Hosts {
            program: program.clone(),
            control: None,
            shell: Shell::default(),
            silence: Silence::default(),
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

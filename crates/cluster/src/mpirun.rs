//! The command line of `mpirun`: rank 0 beside toll, the others on their hosts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use load::Rank;

/// How toll reaches the hosts of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// The network of MPI's own messages, such as `10.0.0.0/24`; where it is not said, MPI takes any.
    pub control: Option<String>,
    /// The command that runs another on a host: `ssh`, or one that takes the same arguments.
    pub shell: String,
}

/// The program of a rank, which is installed beside toll, in the same folder on each host.
const PROGRAM: &str = "toll-rank";

/// How Open MPI's daemons notice that a host is cut off: after 3 s of silence they ask three times, a
/// second apart. So a daemon that is cut off ends, and its ranks with it.
const KEEPALIVE: [(&str, &str); 3] = [
    ("oob_tcp_keepalive_time", "3"),
    ("oob_tcp_keepalive_intvl", "1"),
    ("oob_tcp_keepalive_probes", "3"),
];

/// `mpirun` of `PATH`.
///
/// # Errors
/// It is not there, and what to do.
pub(crate) fn find_mpirun() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| executable(folder.join("mpirun"))).ok_or_else(|| {
        "[[rank]] needs mpirun, which is not installed; apt-get install openmpi-bin".to_owned()
    })
}

/// `toll-rank`, beside this program.
///
/// # Errors
/// It is not there, and what to do.
pub(crate) fn find_program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.with_file_name(PROGRAM);
    executable(program.clone()).ok_or_else(|| {
        let folder = program.parent().unwrap_or(Path::new("/")).display();
        format!("[[rank]] needs {PROGRAM}, which is not in {folder}; make hosts builds it")
    })
}

fn executable(program: PathBuf) -> Option<PathBuf> {
    let is_one = rustix::fs::access(&program, rustix::fs::Access::EXEC_OK).is_ok();
    (is_one && program.is_file()).then_some(program)
}

/// What `mpirun` is told, to run `program` as rank 0 here and as a rank in each of these places.
pub(crate) fn arguments(
    hosts: &Hosts,
    ranks: &[Rank],
    program: &Path,
    is_root: bool,
) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    if is_root {
        words.push("--allow-run-as-root".to_owned());
    }
    // Load threads pin themselves; two ranks of a host have CPUs of their own.
    words.extend(["--bind-to", "none", "--oversubscribe"].map(str::to_owned));
    let mut set = |key: &str, value: &str| {
        words.extend(["--mca".to_owned(), key.to_owned(), value.to_owned()]);
    };
    let shell = match hosts.shell.as_str() {
        "ssh" => "ssh -o BatchMode=yes",
        shell => shell,
    };
    set("plm_rsh_agent", shell);
    // Each daemon hangs on toll's, so that a host that is cut off cuts no other off.
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
    let program = program.display().to_string();
    let others = ranks.iter().map(|rank| format!("{}:{}", rank.host, on_host[&*rank.host]));
    for (number, host) in std::iter::once("localhost".to_owned()).chain(others).enumerate() {
        if number > 0 {
            words.push(":".to_owned());
        }
        words.extend(["-np", "1", "--host", &host, &program, "--of", VERSION].map(str::to_owned));
    }
    words
}

/// toll's, which each rank has to be of.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

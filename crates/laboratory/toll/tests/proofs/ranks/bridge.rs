//! Hosts in network namespaces, joined by a bridge.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use journal::{Journal, TrialLine};
use support::{Desk, Killed, run, text, toll_path, until, write_program};

/// Where toll and the server run, on the bridge.
pub(crate) const HERE: &str = "10.84.0.1";

/// A host, held by a process that sleeps in its namespace.
struct Host(Killed);

impl Host {
    fn new() -> Self {
        let mut hold = Command::new("unshare");
        hold.args(["--net", "sleep", "600"]);
        let this = Self(Killed::start(&mut hold));
        let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net"));
        let ours = of("self").unwrap();
        until("a namespace", || of(&this.pid()).is_ok_and(|theirs| theirs != ours));
        run(this.command("ip").args(["link", "set", "lo", "up"]));
        this
    }

    fn pid(&self) -> String {
        self.0.pid().to_string()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid(), "--net", program]);
        command
    }
}

fn ip(host: &Host, words: &str) {
    drop(run(host.command("ip").args(words.split(' '))));
}

/// Joins a host to the bridge.
fn link(here: &Host, port: &str, host: &Host, interface: &str) {
    ip(here, &format!("link add {port} type veth peer name {interface} netns {}", host.pid()));
    ip(here, &format!("link set {port} master br0 up"));
    ip(host, &format!("link set {interface} up"));
}

/// The Open MPI that starts the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mpi {
    /// That of the system.
    Installed,
    /// Version 5, which `scripts/needs` puts beside what cargo builds.
    Five,
}

impl Mpi {
    /// Its folder of programs, where it is not in `PATH`.
    fn folder(self) -> Option<PathBuf> {
        let target = toll_path().ancestors().find(|folder| folder.ends_with("target"))?.to_owned();
        (self == Self::Five).then(|| target.join("openmpi/bin"))
    }

    /// A `PATH` in which it goes first.
    pub(crate) fn path(self) -> OsString {
        let others = std::env::var_os("PATH").unwrap_or_default();
        let others = std::env::split_paths(&others).collect::<Vec<_>>();
        std::env::join_paths(self.folder().into_iter().chain(others)).unwrap()
    }

    /// What its `mpirun` has become.
    pub(crate) fn process(self) -> &'static str {
        match self.version() {
            Some(version) if version.starts_with("4.") => "mpirun",
            _ => "prterun",
        }
    }

    /// Such as `4.1.4`; `None`, and a line on stderr, where it is not there.
    pub(crate) fn version(self) -> Option<String> {
        let is_there = self.folder().is_none_or(|folder| folder.join("mpirun").is_file());
        let asked = Command::new("mpirun").env("PATH", self.path()).arg("--version").output();
        let Some(output) = asked.ok().filter(|_| is_there) else {
            eprintln!("skipped: no Open MPI ({self:?}; scripts/needs proofs)");
            return None;
        };
        let text = text(&output.stdout);
        let (_, version) = text.split_once("(Open MPI) ")?;
        version.lines().next().map(str::to_owned)
    }
}

/// toll's host and some that load, `lg1` to `lg9`, with the addresses 10.84.0.11 to 10.84.0.19.
pub(crate) struct Bridge {
    mpi: Mpi,
    here: Host,
    hosts: Vec<Host>,
    pub(crate) folder: tempfile::TempDir,
}

impl Bridge {
    /// `None`, and the reason on stderr, where that cannot be had.
    pub(crate) fn new(count: usize) -> Option<Self> {
        Self::of(Mpi::Installed, count)
    }

    /// Ranks are started by this Open MPI.
    pub(crate) fn of(mpi: Mpi, count: usize) -> Option<Self> {
        let may = Command::new("unshare").args(["--net", "true"]).output().unwrap();
        if !may.status.success() {
            eprintln!("skipped: no network namespace may be made here");
            return None;
        }
        mpi.version()?;
        if !rank_program().is_file() {
            eprintln!("skipped: toll-rank is not there (make hosts)");
            return None;
        }
        let here = Host::new();
        ip(&here, "link add br0 type bridge");
        ip(&here, &format!("address add {HERE}/24 dev br0"));
        ip(&here, "link set br0 up");
        let folder = tempfile::tempdir().unwrap();
        // Open MPI's daemons wait for each other in a temporary folder that they share.
        let make_temporary =
            |host: &str| std::fs::create_dir_all(folder.path().join("temporary").join(host));
        make_temporary("here").unwrap();
        let mut hosts = Vec::new();
        for number in 1..=count {
            let host = Host::new();
            link(&here, &format!("lg{number}"), &host, "eth0");
            ip(&host, &format!("address add 10.84.0.1{number}/24 dev eth0"));
            std::fs::write(folder.path().join(format!("lg{number}")), host.pid()).unwrap();
            make_temporary(&format!("lg{number}")).unwrap();
            hosts.push(host);
        }
        let enter = format!(
            "host=$1; shift; cd {} || exit
TMPDIR=$PWD/temporary/$host exec nsenter --target \"$(cat $PWD/$host)\" --net sh -c \"$*\"",
            folder.path().display()
        );
        write_program(&folder.path().join("shell"), &enter);
        Some(Self { mpi, here, hosts, folder })
    }

    /// One more link of a host to the bridge, counted from 1.
    pub(crate) fn link(&self, host: usize, port: &str, interface: &str) {
        link(&self.here, port, &self.hosts[host - 1], interface);
    }

    /// How many temporary files and folders the hosts have.
    pub(crate) fn temporary_files(&self) -> usize {
        let hosts = std::fs::read_dir(self.folder.path().join("temporary")).unwrap().flatten();
        hosts.map(|host| std::fs::read_dir(host.path()).unwrap().count()).sum()
    }

    pub(crate) fn shell(&self) -> PathBuf {
        self.folder.path().join("shell")
    }

    /// A command on toll's host.
    pub(crate) fn command(&self, program: &str) -> Command {
        self.here.command(program)
    }

    /// toll on its host.
    pub(crate) fn toll(&self) -> Command {
        let mut toll = self.command(toll_path().to_str().unwrap());
        toll.env("TMPDIR", self.folder.path().join("temporary/here")).env("PATH", self.mpi.path());
        toll
    }

    /// A command on a host that loads, counted from 1.
    pub(crate) fn on(&self, host: usize, program: &str) -> Command {
        self.hosts[host - 1].command(program)
    }

    /// The head of a study whose ranks are on these hosts: `[hosts]` and a `[[rank]]` each.
    pub(crate) fn ranks(&self, count: usize) -> String {
        let mut text = format!(
            "[hosts]\ncontrol = \"10.84.0.0/24\"\nshell = \"{}\"\n",
            self.shell().display()
        );
        for number in 1..=count {
            text += &format!(
                "[[rank]]\nhost = \"lg{number}\"\ncpus = \"{}\"\nsource = \"10.84.0.1{number}\"\n\
                 to = \"{HERE}\"\n",
                support::last_cpu()
            );
        }
        text
    }

    /// `toll run` of a study on toll's host.
    pub(crate) fn run(&self, desk: &Desk, arguments: &[&str]) -> Command {
        let mut command = self.toll();
        command.arg("run").arg(desk.study()).arg("--out").arg(desk.out()).args(arguments);
        command
    }

    /// The rank on a host, counted from 1.
    pub(crate) fn rank(&self, host: usize) -> u32 {
        self.process_in("toll-rank", &self.hosts[host - 1])
    }

    /// A process of toll's host, by its name.
    pub(crate) fn process(&self, name: &str) -> u32 {
        self.process_in(name, &self.here)
    }

    fn process_in(&self, name: &str, host: &Host) -> u32 {
        let space = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let is_one = |pid: &u32| {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            comm.trim() == name && space(&pid.to_string()) == space(&host.pid())
        };
        let all = support::processes_with(name).into_iter().map(|(pid, _)| pid);
        all.into_iter().find(is_one).unwrap_or_else(|| panic!("{name} does not run"))
    }

    /// The processes of the ranks and of what started them, on any of these hosts.
    pub(crate) fn left(&self) -> Vec<(u32, String)> {
        let hosts = self.hosts.iter().chain([&self.here]);
        let spaces: Vec<_> = hosts
            .filter_map(|host| std::fs::read_link(format!("/proc/{}/ns/net", host.pid())).ok())
            .collect();
        let is_here = |pid: u32| {
            std::fs::read_link(format!("/proc/{pid}/ns/net"))
                .is_ok_and(|space| spaces.contains(&space))
        };
        let names = ["toll-rank", "orted", "prted", "mpirun", "prterun"];
        let all = names.iter().flat_map(|name| support::processes_with(name));
        all.filter(|(pid, _)| is_here(*pid) && support::is_running(*pid)).collect()
    }
}

/// `toll-rank`, where it was built.
pub(crate) fn rank_program() -> PathBuf {
    toll_path().with_file_name("toll-rank")
}

/// The trials in a study's journal.
pub(crate) fn trials(desk: &Desk) -> Vec<TrialLine> {
    Journal::read(&desk.journal()).unwrap().trials
}

/// How many trials are in a study's journal; 0 where there is none yet.
pub(crate) fn journal_length(desk: &Desk) -> usize {
    let journal = desk.results_if_any().map(|folder| folder.join("journal.jsonl"));
    let entries = journal.and_then(|path| Journal::read(&path).ok());
    entries.map_or(0, |entries| entries.trials.len())
}

/// nginx on the bridge over plain HTTP, which writes down who asked.
pub(crate) struct Loaded {
    process: Killed,
    log: PathBuf,
}

impl Loaded {
    pub(crate) fn start(bridge: &Bridge) -> Self {
        let folder = bridge.folder.path().display().to_string();
        let cpu = support::first_cpu();
        let configuration = format!(
            "daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n\
             events {{ worker_connections 4096; }}\n\
             http {{\n log_format by '$remote_addr';\n access_log {folder}/access.log by;\n\
             keepalive_requests 10000000;\n\
             server {{ listen {HERE}:8080; location / {{ return 200 'hello'; }} }} }}\n"
        );
        let path = bridge.folder.path().join("nginx.conf");
        std::fs::write(&path, configuration).unwrap();
        // It is not to be what is slow, whatever else runs.
        let mut command = bridge.command("nice");
        command.args(["-n", "-10", "taskset", "-c", &cpu.to_string(), "nginx", "-c"]);
        command.arg(&path).args(["-p", &folder]);
        let process = Killed::start(&mut command);
        let url = format!("http://{HERE}:8080/");
        until("nginx answers", || {
            bridge.command("curl").args(["-sfo", "/dev/null", &url]).status().unwrap().success()
        });
        Self { process, log: bridge.folder.path().join("access.log") }
    }

    /// A study of one trial of it, loaded by this many ranks.
    pub(crate) fn study(&self, bridge: &Bridge, ranks: usize, load: &str) -> String {
        format!(
            "schema = 1\nquestion = \"Do hosts load as one?\"\ntrials = 1\n{}\
             [target]\nserver = \"address\"\nurl = \"http://{HERE}:8080/\"\npid = {}\n\
             i-operate-this-host = true\n\
             [load]\ntls = \"none\"\nwarmup = \"0s\"\n{load}\n[[case]]\nname = \"all\"\n",
            bridge.ranks(ranks),
            self.process.pid()
        )
    }

    /// How many requests of a host it has answered, counted from 1.
    pub(crate) fn answered(&self, host: usize) -> u64 {
        self.answered_at(&format!("10.84.0.1{host}"))
    }

    /// How many of an address.
    pub(crate) fn answered_at(&self, address: &str) -> u64 {
        self.addresses().lines().filter(|line| *line == address).count() as u64
    }

    /// How many of anybody, but for toll's own probes.
    pub(crate) fn answered_all(&self) -> usize {
        self.addresses().lines().filter(|line| *line != HERE).count()
    }

    fn addresses(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

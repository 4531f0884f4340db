//! A running `mpirun`, with which toll exchanges JSON lines: through its input to rank 0, and back.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use cpus::CpuList;
use load::Rank;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use targets::{GuardedProcess, Launch, Silence};
use trial::rank_name;

use crate::diagnosis;
use crate::mpirun::{Hosts, arguments};
use crate::open_mpi::OpenMpi;
use crate::words::{Order, RankCommand, Report};

/// How long the ranks may take until all are there.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How often interrupts are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long the ranks may take to end by themselves.
const END_LIMIT: Duration = Duration::from_secs(2);
/// How long an `mpirun` that ends may take to print who has died.
const WORDS_LIMIT: Duration = Duration::from_secs(2);
/// How much of `mpirun`'s messages is read.
const MOST_COMPLAINT: usize = 64 << 10;

/// A running `mpirun`; dropping it ends it, and all ranks.
pub(crate) struct Session<'a> {
    process: GuardedProcess,
    /// `None` while it ends.
    lines: Option<Sender<RankCommand>>,
    reports: Receiver<RankMessage>,
    stderr: File,
    /// Ends waiting early.
    interrupt: &'a AtomicBool,
    /// Whether a question was not answered by all: a late answer must not count for the next one.
    has_open_question: Cell<bool>,
    /// The MPI that rank 0 runs on, once it has said so.
    mpi: RefCell<Option<String>>,
    /// How long it may take to print who has died once it has ended.
    words_limit: Duration,
}

/// Why something that was interrupted did not happen.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// A question that not all ranks have answered as they should.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    pub(crate) why: String,
    /// Whether that is a rank's own answer.
    is_a_ranks: bool,
}

/// What came from rank 0, and when.
enum RankMessage {
    Report(Instant, usize, Report),
    Ended(String),
}

/// Why there will be no more reports.
#[derive(Debug)]
pub(crate) struct Ended {
    /// When that was noticed, before its words were waited for.
    pub(crate) at: Instant,
    /// The rank that has died, where `mpirun` names one.
    pub(crate) rank: Option<usize>,
    pub(crate) why: String,
}

impl<'a> Session<'a> {
    /// Starts a rank in each of these places; returns when all have said that they can load from there.
    ///
    /// # Errors
    /// Why a rank is missing or cannot load; or it was interrupted.
    pub(crate) fn start(
        open_mpi: &OpenMpi,
        hosts: &Hosts,
        ranks: &[Rank],
        interrupt: &'a AtomicBool,
    ) -> Result<Self, String> {
        let arguments = arguments(open_mpi, hosts, ranks, geteuid().is_root());
        let session = Self::spawn(open_mpi.mpirun.clone(), arguments, hosts.silence, interrupt)
            .map_err(|error| format!("mpirun: {error}"))?;
        let asked = session.ask(ranks, |place| Order::Place(place.clone()), "did not start");
        match asked {
            Ok(_) => Ok(session),
            Err(Unanswered { why, is_a_ranks }) => {
                if is_a_ranks && !interrupt.load(Relaxed) {
                    return Err(why);
                }
                session.kill();
                Err(diagnosis::of_hosts(hosts, ranks, interrupt).unwrap_or(why))
            }
        }
    }

    /// Gives each rank an order; returns when all have said that they can follow it, with the addresses
    /// that they name.
    ///
    /// # Errors
    /// Which rank cannot and why, or that it `fails` within [`START_LIMIT`]; or it was interrupted.
    pub(crate) fn ask(
        &self,
        ranks: &[Rank],
        order: impl Fn(&Rank) -> Order,
        fails: &str,
    ) -> Result<Vec<IpAddr>, Unanswered> {
        let unanswered = |why: String| Unanswered { why, is_a_ranks: false };
        self.has_open_question.set(true);
        for (rank, place) in (1..).zip(ranks) {
            self.send(RankCommand::To(rank, order(place)));
        }
        let deadline = Instant::now() + START_LIMIT;
        let mut answers: Vec<Option<Option<IpAddr>>> = vec![None; ranks.len()];
        while answers.contains(&None) {
            let left = deadline.saturating_duration_since(Instant::now());
            // None is to blame where none has answered.
            let lacking = || match answers.iter().position(Option::is_none) {
                Some(rank) if answers.len() == 1 || answers.iter().any(Option::is_some) => {
                    format!("{} {fails}", rank_name(rank + 1, &ranks[rank].host))
                }
                _ => format!("the ranks {fails}"),
            };
            if self.interrupt.load(Relaxed) {
                return Err(unanswered(INTERRUPTED.to_owned()));
            }
            match self.receive(left.min(POLL_INTERVAL)) {
                Ok(Some((_, rank, Report::CanLoad(from)))) => {
                    let answer = rank.checked_sub(1).and_then(|index| answers.get_mut(index));
                    answer.into_iter().for_each(|answer| *answer = Some(from));
                }
                Ok(Some((_, rank, Report::Refused(why)))) => {
                    let host = rank.checked_sub(1).and_then(|index| ranks.get(index));
                    let host = host.map_or("an unknown host", |place| &place.host);
                    let why = format!("{}: {why}", rank_name(rank, host));
                    return Err(Unanswered { why, is_a_ranks: true });
                }
                Ok(Some((_, _, Report::Mpi(version)))) => {
                    self.mpi.replace(Some(version));
                }
                Ok(Some(_)) => {}
                Ok(None) if !left.is_zero() => {}
                Ok(None) => {
                    let complaint = self.complaint();
                    let complaint =
                        if complaint.is_empty() { "mpirun says nothing" } else { &*complaint };
                    let limit = START_LIMIT.as_secs();
                    return Err(unanswered(format!("{} within {limit} s: {complaint}", lacking())));
                }
                Err(Ended { why, .. }) => {
                    return Err(unanswered(format!("{}: {why}", lacking())));
                }
            }
        }
        self.has_open_question.set(false);
        Ok(answers.into_iter().flatten().flatten().collect())
    }

    pub(crate) fn spawn(
        program: PathBuf,
        arguments: Vec<String>,
        silence: Silence,
        interrupt: &'a AtomicBool,
    ) -> io::Result<Self> {
        let (its_stdin, stdin) = io::pipe()?;
        let (stdout, its_stdout) = io::pipe()?;
        let stderr = tempfile::tempfile()?;
        let process = GuardedProcess::start(Launch {
            program,
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            without: &[],
            cpus: &CpuList::allowed()?,
            stdin: its_stdin.into(),
            stdout: File::from(OwnedFd::from(its_stdout)),
            stderr: stderr.try_clone()?,
            // The guard's SIGTERM is enough: at one after another it would leave its files behind.
            death_signal: Signal::CONT,
            mounts: None,
            group: None,
            secrets: Vec::new(),
            // Where it keeps its files depends on its version.
            temporary: Some(tempfile::tempdir()?),
        })
        .map_err(|(_, error)| error)?;
        let (lines, to_write) = mpsc::channel();
        let (to_reports, reports) = mpsc::channel();
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("to-ranks").spawn(move || write(stdin, &to_write, silence.sign_of_life()))?;
        thread("from-ranks").spawn(move || read(stdout, &to_reports))?;
        Ok(Self {
            process,
            lines: Some(lines),
            reports,
            stderr,
            interrupt,
            has_open_question: Cell::new(false),
            mpi: RefCell::default(),
            words_limit: WORDS_LIMIT,
        })
    }

    /// The MPI that rank 0 runs on, such as `Open MPI v4.1.4`.
    pub(crate) fn mpi(&self) -> Option<String> {
        self.mpi.borrow().clone()
    }

    /// Whether it can go on: nothing says that it has ended, and all questions were answered.
    pub(crate) fn is_there(&self) -> bool {
        if self.has_open_question.get() {
            return false;
        }
        loop {
            match self.receive(Duration::ZERO) {
                // Late words of the last trial.
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    pub(crate) fn send(&self, line: RankCommand) {
        // Fails only where rank 0 reads no more, which shows in what it says.
        let _ = self.lines.as_ref().map(|lines| lines.send(line));
    }

    /// The next report, with its arrival and the number of its rank; `None` where none came within the
    /// limit.
    pub(crate) fn receive(
        &self,
        limit: Duration,
    ) -> Result<Option<(Instant, usize, Report)>, Ended> {
        match self.reports.recv_timeout(limit) {
            Ok(RankMessage::Report(at, rank, report)) => Ok(Some((at, rank, report))),
            Ok(RankMessage::Ended(why)) => Err(self.ended(&why)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended("")),
        }
    }

    fn ended(&self, how: &str) -> Ended {
        // It may print who has died after its output has ended.
        let at = Instant::now();
        let deadline = at + self.words_limit;
        while died(&self.complaint()).is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let complaint = self.complaint();
        let rank = died(&complaint);
        let line = first_line(&complaint);
        let why = ["mpirun ended", how, &line].into_iter().filter(|part| !part.is_empty());
        Ended { at, rank, why: why.collect::<Vec<_>>().join(": ") }
    }

    /// What it has complained of so far. The file's offset is the program's.
    fn complaint(&self) -> String {
        let mut bytes = vec![0; MOST_COMPLAINT];
        let length = self.stderr.read_at(&mut bytes, 0).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    /// Ends it at once: it has lost a rank, and the others cannot end by themselves.
    pub(crate) fn kill(mut self) {
        self.lines = None;
    }

    /// Lets the ranks end by themselves.
    fn end(&mut self) {
        self.send(RankCommand::All(Order::End));
        self.lines = None;
        self.process.wait(END_LIMIT);
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if self.lines.is_some() {
            self.end();
        }
        let shells = children_of(self.process.pid());
        self.process.stop();
        for shell in shells {
            // Most have gone with it.
            let _ = pidfd_send_signal(shell, Signal::KILL);
        }
    }
}

/// The processes that an `mpirun` has started. If it is killed while it starts ranks, its shells go on, and
/// one whose host does not answer waits for minutes.
fn children_of(mpirun: u32) -> Vec<OwnedFd> {
    let tasks = fs::read_dir(format!("/proc/{mpirun}/task")).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: String = children.collect();
    let pids = children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    pids.filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()).collect()
}

/// Writes lines until there are no more, and a sign of life now and then.
fn write(mut stdin: PipeWriter, lines: &Receiver<RankCommand>, beat: Duration) {
    loop {
        let line = match lines.recv_timeout(beat) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => RankCommand::All(Order::Alive),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let Ok(mut text) = serde_json::to_string(&line) else { return };
        text.push('\n');
        if stdin.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(stdout: PipeReader, reports: &Sender<RankMessage>) {
    for line in BufReader::new(stdout).lines() {
        let at = Instant::now();
        let Ok(line) = line else { break };
        let Ok((rank, report)) = serde_json::from_str(&line) else {
            let begin: String = line.chars().take(80).collect();
            let why = format!("it printed `{}`", begin.escape_debug());
            let _ = reports.send(RankMessage::Ended(why));
            return;
        };
        if reports.send(RankMessage::Report(at, rank, report)).is_err() {
            return;
        }
    }
    let _ = reports.send(RankMessage::Ended(String::new()));
}

/// The rank that has died, in the words of `mpirun`.
fn died(complaint: &str) -> Option<usize> {
    let (_, rest) = complaint.split_once("process rank ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Its first line with words that is no mere warning, cut where it is long.
fn first_line(complaint: &str) -> String {
    let says = |line: &&str| line.contains(char::is_alphanumeric) && !line.contains("Warning: ");
    let line = complaint.lines().find(says).unwrap_or_default();
    line.trim().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    /// How long these wait for words that do not come.
    const SHORT: Duration = Duration::from_millis(100);

    #[test]
    fn nothing_counts_that_comes_after_words_that_make_no_sense() {
        let (stdout, mut its_stdout) = io::pipe().unwrap();
        its_stdout
            .write_all(b"[1,{\"can-load\":null}]\nno JSON\n[2,{\"can-load\":null}]\n")
            .unwrap();
        drop(its_stdout);
        let (to_reports, reports) = mpsc::channel();
        read(stdout, &to_reports);
        assert!(matches!(reports.recv(), Ok(RankMessage::Report(_, 1, Report::CanLoad(None)))));
        assert!(matches!(reports.recv(), Ok(RankMessage::Ended(why)) if why.contains("`no JSON`")));
        drop(to_reports);
        assert!(reports.recv().is_err());
    }

    /// Two ranks, and an `mpirun` that says this.
    fn asked(says: &str, interrupt: &AtomicBool) -> (Result<Vec<IpAddr>, Unanswered>, bool) {
        let place = |host: &str| Rank { host: host.into(), cpus: 0.into(), source: None, to: None };
        let script = format!("printf '{says}'; cat > /dev/null");
        let words = vec!["-c".to_owned(), script];
        let mut session =
            Session::spawn("/bin/sh".into(), words, Silence::default(), interrupt).unwrap();
        session.words_limit = SHORT;
        let ranks = ["lg1", "lg2"].map(place);
        let asked = session.ask(&ranks, |place| Order::Place(place.clone()), "did not start");
        (asked, session.is_there())
    }

    #[test]
    fn a_late_answer_cannot_count_for_another_question() {
        let calm = AtomicBool::new(false);
        let here = r#"[1,{"can-load":"10.1.1.2"}]\n[2,{"can-load":null}]\n"#;
        assert_eq!(asked(here, &calm), (Ok(vec!["10.1.1.2".parse().unwrap()]), true));
        let why = "rank 1 on lg1: no such interface".to_owned();
        let refuses = r#"[1,{"refused":"no such interface"}]\n"#;
        assert_eq!(asked(refuses, &calm), (Err(Unanswered { why, is_a_ranks: true }), false));
    }

    #[test]
    fn an_interrupt_ends_the_wait_for_ranks_that_do_not_start() {
        let why = Unanswered { why: INTERRUPTED.to_owned(), is_a_ranks: false };
        assert_eq!(asked("", &AtomicBool::new(true)), (Err(why), false));
    }

    #[test]
    fn the_shells_of_an_mpirun_that_is_ended_end_too() {
        let folder = tempfile::tempdir().unwrap();
        let written = folder.path().join("shell");
        // In a session of its own, as Open MPI has each of its own group.
        let script =
            format!("setsid sleep 600 & echo $! > {}; cat > /dev/null; wait", written.display());
        let calm = AtomicBool::new(false);
        let words = vec!["-c".to_owned(), script];
        let session = Session::spawn("/bin/sh".into(), words, Silence::default(), &calm).unwrap();
        let pid = loop {
            let text = fs::read_to_string(&written).unwrap_or_default();
            if let Some(pid) = text.trim().parse().ok().filter(|_| text.ends_with('\n')) {
                break Pid::from_raw(pid).unwrap();
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        let shell = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        session.kill();
        // It is readable once the process has ended (pidfd_open(2)).
        let minute = Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&shell, PollFlags::IN)], Some(&minute)), Ok(1));
    }

    /// Meanwhile all ranks are silent, which says nothing of them.
    #[test]
    fn an_mpirun_ends_before_its_words_are_waited_for() {
        let calm = AtomicBool::new(false);
        let words = ["-c", "exit 1"].map(str::to_owned).into();
        let mut session =
            Session::spawn("/bin/sh".into(), words, Silence::default(), &calm).unwrap();
        session.words_limit = SHORT;
        let ended = loop {
            if let Err(ended) = session.receive(POLL_INTERVAL) {
                break ended;
            }
        };
        assert!(ended.at.elapsed() >= SHORT);
        assert_eq!((ended.rank, ended.why.as_str()), (None, "mpirun ended"));
    }

    #[test]
    fn no_rank_is_blamed_for_what_none_has_answered() {
        let calm = AtomicBool::new(false);
        let why = |says: &str| asked(says, &calm).0.unwrap_err().why;
        let all = why("noise\\n");
        assert!(all.contains("`noise`") && !all.contains("rank 1"), "{all}");
        let one = r#"[1,{"can-load":null}]\nnoise\n"#;
        assert!(why(one).starts_with("rank 2 on lg2 "), "{}", why(one));
    }

    #[test]
    fn the_rank_that_died_is_found_in_the_words_of_mpirun() {
        let said = "-----\nPrimary job  terminated normally, but 1 process returned\n-----\n\
                    mpirun noticed that process rank 2 with PID 0 on node lg2 exited on signal 9.";
        assert_eq!(died(said), Some(2));
        assert_eq!(first_line(said), "Primary job  terminated normally, but 1 process returned");
        assert_eq!(died("ssh: connect to host lg1 port 22: No route to host"), None);
        assert_eq!(first_line("---\n \n"), "");
        let warned = "[lg1:1] plm:rsh: Warning: setpgid(2,2) failed in parent\nNo route to host";
        assert_eq!(first_line(warned), "No route to host");
    }
}

//! What the program `toll-rank` does.

use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use targets::{Lines, Silence};

use crate::loader::TrialLoader;
use crate::member::{Member, Step};
use crate::messages::Messages;
use crate::relay::{self, Relay};
use crate::{control, diagnosis, machine};

/// How long MPI may take to end: another rank may be gone without it.
const END_LIMIT: u32 = 2;

/// This process as one of the ranks of `mpirun`.
pub trait RankProcess: Messages {
    /// The number of this process.
    fn rank(&self) -> usize;
    /// Its implementation of MPI, with the version.
    fn version(&self) -> String;
    /// Whether a message has not left yet.
    fn is_sending(&self) -> bool;
    /// Ends MPI in this process, together with the other ranks.
    fn finalize(self);
}

/// Runs a rank, which `init` makes of this process: rank 0 passes on what toll says on its standard input, and what the others say on its
/// standard output; they load.
pub fn main<P: RankProcess>(init: impl FnOnce() -> Result<P, String>) -> ExitCode {
    let after = |word: &str| std::env::args().skip_while(|other| other != word).nth(1);
    let of = after("--of");
    let own = build_identity::own();
    if std::env::args().any(|word| word == "--version") {
        println!("toll-rank {own}");
        return ExitCode::SUCCESS;
    }
    if of.as_deref() != Some(own) {
        let of = of.as_deref().unwrap_or("no toll");
        eprintln!("toll-rank {own} was started by toll {of}; install the same build on each host");
        return ExitCode::from(2);
    }
    let control = after("--control");
    // toll of the same build has written it.
    let silence: Silence =
        after("--silence").and_then(|text| text.parse().ok()).unwrap_or_default();
    if std::env::args().any(|word| word == diagnosis::GREET) {
        match machine::check(control.as_deref()) {
            Ok(()) => println!("{}", diagnosis::greeting()),
            Err(why) => println!("{}{why}", diagnosis::refusal()),
        }
        return ExitCode::SUCCESS;
    }
    if let Err(why) = control::check(control.as_deref()) {
        // Set by mpirun.
        let rank = std::env::var("OMPI_COMM_WORLD_RANK").unwrap_or_default();
        eprintln!("toll-rank: on the machine of rank {rank}, {why}");
        return ExitCode::from(2);
    }
    let mut mpi = match init() {
        Ok(mpi) => mpi,
        Err(why) => {
            eprintln!("toll-rank: {why}");
            return ExitCode::FAILURE;
        }
    };
    let step = match mpi.rank() {
        0 => relay(&mut mpi, silence.limit()),
        _ => member(&mut mpi, silence.limit()),
    };
    match step {
        Step::End => {
            // SAFETY: it sets a timer, whose signal ends the process.
            unsafe { libc::alarm(END_LIMIT) };
            mpi.finalize();
            ExitCode::SUCCESS
        }
        // The others are gone or stuck. MPI would wait for them.
        // SAFETY: it ends the process, and runs nothing.
        _ => unsafe { libc::_exit(1) },
    }
}

/// Until it is told to end, or hears nothing any more.
fn member(mpi: &mut impl RankProcess, silence: Duration) -> Step {
    let mut member = Member::new(TrialLoader::default(), silence, Instant::now());
    loop {
        match member.step(Instant::now(), mpi) {
            Step::Sleep(time) => std::thread::sleep(time),
            end => return end,
        }
    }
}

/// Until toll closes its end, which it does after it has told the others to end.
fn relay(mpi: &mut impl RankProcess, silence: Duration) -> Step {
    let mut relay = Relay::new(silence, Instant::now());
    let mut input = Input::default();
    let mut output = BufWriter::new(io::stdout().lock());
    if relay::report_version(mpi.version(), &mut output).is_err() {
        return Step::Alone;
    }
    loop {
        let time = match relay.step(Instant::now(), mpi, &mut output) {
            Ok(Step::Sleep(time)) => time,
            Ok(end) => return end,
            Err(_) => return Step::Alone,
        };
        let Ok(lines) = input.lines_within(time) else { return Step::Alone };
        for line in lines {
            if relay.pass_on(Instant::now(), &line, mpi).is_err() {
                eprintln!("toll-rank: toll said `{line}`");
                return Step::Alone;
            }
        }
        if input.has_ended {
            return match relay.is_over {
                true => end(&mut relay, mpi, &mut output),
                false => Step::Alone,
            };
        }
    }
}

/// Gives what was passed on last the time to leave.
fn end(relay: &mut Relay, mpi: &mut impl RankProcess, output: &mut impl io::Write) -> Step {
    let deadline = Instant::now() + Duration::from_millis(100);
    while Instant::now() < deadline && mpi.is_sending() {
        let _ = relay.step(Instant::now(), mpi, output);
        std::thread::sleep(Duration::from_millis(1));
    }
    Step::End
}

/// Lines of the standard input, without waiting for them.
#[derive(Default)]
struct Input {
    lines: Lines,
    has_ended: bool,
}

impl Input {
    /// The lines that are there, or come within this time.
    fn lines_within(&mut self, time: Duration) -> io::Result<Vec<String>> {
        let stdin = io::stdin();
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        let ready = poll(&mut [PollFd::new(&stdin.as_fd(), PollFlags::IN)], Some(&timeout));
        if ready.is_ok_and(|count| count == 0) {
            return Ok(Vec::new());
        }
        let mut bytes = [0; 64 << 10];
        let length = rustix::io::read(stdin.as_fd(), &mut bytes)?;
        self.has_ended = length == 0;
        self.lines.add(&bytes[..length]).map_err(io::Error::other)
    }
}

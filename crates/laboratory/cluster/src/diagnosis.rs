//! Why ranks do not start: each host is asked by itself, through the shell that Open MPI calls too. What
//! `mpirun` says of it names no host, or is words of Open MPI.

use std::io::{self, Read};
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use load::Rank;
use targets::{RemoteStartError, Shell, wait_for, wait_or_kill};
use trial::rank_name;

use crate::mpirun::{Hosts, PROGRAM};

/// Has `toll-rank` greet and end.
pub(crate) const GREET: &str = "--greet";

/// What it says then.
pub(crate) fn greeting() -> String {
    format!("{PROGRAM} {}", build_identity::own())
}

/// What it says where it would not start on its machine, before why.
pub(crate) fn refusal() -> String {
    format!("{PROGRAM} {} does not start: ", build_identity::own())
}

/// How long a host may take to answer.
const LIMIT: Duration = Duration::from_secs(10);
/// How often interrupts are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How much of what a host prints is read.
const MOST: u64 = 64 << 10;
/// How much of its words a line has.
const LONGEST: usize = 200;

/// The first rank whose host does not answer as it should, and why; `None` where all do, or it was
/// interrupted.
pub(crate) fn of_hosts(hosts: &Hosts, ranks: &[Rank], interrupt: &AtomicBool) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for rank in ranks {
        if !names.contains(&&*rank.host) {
            names.push(&rank.host);
        }
    }
    let found = std::thread::scope(|scope| {
        let ask = |name| (name, scope.spawn(move || ask(hosts, name, interrupt)));
        let asked: Vec<_> = names.into_iter().map(ask).collect();
        let answer = |(name, thread): (_, std::thread::ScopedJoinHandle<'_, _>)| {
            thread.join().ok().and_then(Result::err).map(|why| (name, why))
        };
        // All of them: none is to be left running.
        asked.into_iter().filter_map(answer).collect::<Vec<(&str, String)>>()
    });
    let (host, why) = found.into_iter().next().filter(|_| !interrupt.load(Relaxed))?;
    let rank = ranks.iter().position(|rank| rank.host == host)?;
    Some(format!("{}: {why}", rank_name(rank + 1, host)))
}

/// Whether this name is one of this machine.
fn is_here(host: &str) -> bool {
    let is_own = |ip: IpAddr| UdpSocket::bind((ip, 0)).is_ok();
    (host, 0).to_socket_addrs().is_ok_and(|mut found| found.any(|address| is_own(address.ip())))
}

fn ask(hosts: &Hosts, host: &str, interrupt: &AtomicBool) -> Result<(), String> {
    // Open MPI reaches this machine without the shell.
    if is_here(host) {
        return Ok(());
    }
    let greet = hosts.rank_command();
    let words = hosts.shell.words_for(host, greet.iter().map(String::as_str).chain([GREET]));
    let command = words.join(" ");
    let mut shell = Shell::spawn(&words, Stdio::null())?;
    let (output, complaint) = (last_of(shell.stdout.take()), last_of(shell.stderr.take()));
    let until = Instant::now() + LIMIT;
    while wait_for(&mut shell, POLL_INTERVAL).is_none()
        && Instant::now() < until
        && !interrupt.load(Relaxed)
    {}
    let status = wait_or_kill(&mut shell, Duration::ZERO).map(|status| status.to_string());
    let printed = |text: Receiver<String>| text.recv_timeout(Duration::from_secs(1)).ok();
    let output = printed(output).unwrap_or_default();
    let refused = output.lines().find_map(|line| line.strip_prefix(&refusal()));
    if let Some(why) = refused {
        return Err(why.chars().take(LONGEST).collect());
    }
    match output.lines().find(|line| *line != greeting()) {
        Some(line) => {
            let begin: String = line.chars().filter(|c| !c.is_control()).take(60).collect();
            return Err(format!(
                "{host} prints `{begin}` instead of the greeting of {PROGRAM}; see what `{command}` \
                 prints, and silence the shell's start-up files"
            ));
        }
        None if output.lines().count() == 1 => return Ok(()),
        None => {}
    }
    let Some(status) = status else {
        return Err(format!(
            "{host} does not answer within {} s; try `{command}`",
            LIMIT.as_secs()
        ));
    };
    let folder = hosts.program.parent().map(|folder| folder.display().to_string());
    let complaint = printed(complaint).unwrap_or_default();
    let lines = complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = lines.collect::<Vec<_>>().join(" | ");
    let too_many = said.chars().count().saturating_sub(LONGEST);
    let said: String = said.chars().skip(too_many).collect();
    let error = RemoteStartError {
        host,
        speaker: PROGRAM,
        program: PROGRAM,
        place: &format!("in {}, as here (make hosts)", folder.unwrap_or_default()),
        status: &status,
        said: (!said.is_empty()).then_some(&said),
        command: &command,
    };
    Err(error.to_string())
}

/// What is printed there, once that ends; after [`MOST`] nobody reads it.
fn last_of(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, text) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = |pipe| io::Read::take(pipe, MOST).read_to_end(&mut bytes);
        let _ = pipe.map(read);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    text
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use targets::Silence;

    use super::*;

    /// What is found where `lg1` answers well and `lg2` by this script.
    fn found(script: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let shell = folder.path().join("shell");
        let own = greeting();
        let text = format!("#!/bin/sh\n[ $1 = lg1 ] && echo '{own}' && exit\n{script}\n");
        std::fs::write(&shell, text).unwrap();
        std::fs::set_permissions(&shell, Permissions::from_mode(0o755)).unwrap();
        let shell = shell.display().to_string().parse().unwrap();
        let silence = Silence::default();
        let hosts = Hosts { program: "/opt/toll-rank".into(), control: None, shell, silence };
        let rank = |host: &str| Rank { host: host.into(), cpus: 0.into(), source: None, to: None };
        let ranks = ["lg1", "lg1", "lg2"].map(rank);
        of_hosts(&hosts, &ranks, &AtomicBool::new(false))
    }

    #[test]
    fn the_host_that_does_not_answer_as_it_should_is_named() {
        let own = greeting();
        assert_eq!(found(&format!("echo '{own}'")), None);
        let noise =
            "rank 3 on lg2: lg2 prints `Welcome` instead of the greeting of toll-rank; see what `";
        for (script, expected) in [
            (format!("echo Welcome; echo '{own}'"), noise),
            (format!("echo '{own}'; echo Welcome"), noise),
            ("while :; do echo Welcome; done".to_owned(), noise),
            (
                "echo 'sh: /opt/toll-rank: not found' >&2; exit 127".to_owned(),
                "rank 3 on lg2: lg2 has no toll-rank (sh: /opt/toll-rank: not found); install toll",
            ),
            (
                "echo one >&2; echo two >&2; exit 2".to_owned(),
                "rank 3 on lg2: no toll-rank on lg2: one | two; try `",
            ),
            (
                format!("echo '{}no interface is in hosts.control = eth7'", refusal()),
                "rank 3 on lg2: no interface is in hosts.control = eth7",
            ),
            ("exit 0".to_owned(), "rank 3 on lg2: no toll-rank on lg2: exit status: 0; try `"),
        ] {
            let why = found(&script).unwrap_or_default();
            assert!(why.starts_with(expected), "{script}: {why}");
        }
    }

    #[test]
    fn a_name_of_this_machine_needs_no_shell() {
        assert!(is_here("localhost") && is_here("127.0.0.1"));
        assert!(!is_here("192.0.2.1") && !is_here("no.such.host.invalid"));
    }
}

//! Which process a server is: the one that listens at an address, or that has a name.
//!
//! A server is a process and its descendants ([`ProcessTree`](crate::ProcessTree)). Several of these may have the socket,
//! as a master and its workers do, or only the workers: the first process of all that is meant here.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::net::SocketAddr;

use procfs::process::{Process, all_processes};
use serde::{Deserialize, Serialize};

use crate::inet_diag::Transport;
use crate::link::is_local;
use crate::listener::{receiving, sockets_of};
use crate::{Fact, ObserveError};

/// The first process of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProcess {
    pub name: String,
    pub pid: u32,
    /// The port that it was found by, where nobody named the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_at_port: Option<u16>,
}

impl fmt::Display for ServerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, PID {}", self.name, self.pid)?;
        self.found_at_port.map_or(Ok(()), |port| write!(f, ", found at port {port}"))
    }
}

/// Programs that pass on what they receive to a server elsewhere, as in a container: their CPU time is not the server's.
const RELAYS: [&str; 7] =
    ["docker-proxy", "pasta", "rootlesskit", "rootlessport", "slirp4netns", "socat", "ssh"];

impl ServerProcess {
    /// The process of this number.
    ///
    /// # Errors
    /// There is none, or it has ended.
    pub fn of(pid: u32) -> Result<Self, ObserveError> {
        let found = Process::new(pid.cast_signed()).ok().and_then(|process| Running::of(&process));
        let Running { name, .. } = found.ok_or(ObserveError::ProcessGone { pid })?;
        Ok(Self { name, pid, found_at_port: None })
    }

    /// The server that gets the connections, or the datagrams, to an address of this machine; the first one, where
    /// sockets of several share them (see [`sharers`](crate::sharers)).
    pub fn at(transport: Transport, address: SocketAddr) -> Fact<Self> {
        if !is_local(address.ip()) {
            return Fact::unknown(format_args!(
                "{} is not an address of this machine",
                address.ip()
            ));
        }
        let sockets = match receiving(transport, address) {
            Ok(sockets) => sockets,
            Err(error) => {
                return Fact::unknown(format_args!("the kernel does not show sockets: {error}"));
            }
        };
        let Some(first) = sockets.first() else {
            return Fact::unknown(format_args!(
                "nothing listens at {address} in this network namespace, so that the kernel passes its connections on, \
                 as to a container; load the server's own address, or give its PID"
            ));
        };
        let inodes: HashSet<u64> = sockets.iter().map(|socket| socket.inode).collect();
        let processes = Processes::now();
        let (holders, are_all_seen) = processes.holders(&inodes);
        let starters = processes.starters();
        let servers = holders.keys().copied().filter(|pid| !starters.contains(pid)).collect();
        let families = processes.families(&servers, &starters);
        let Some((&root, members)) = families.first_key_value() else {
            return Fact::unknown(match holders.keys().next_back() {
                Some(1) => {
                    "PID 1 listens there, and starts the server for its connections; give the server's PID".to_owned()
                }
                Some(starter) => format!(
                    "{} (process {starter}), which listens there, is an ancestor of toll, whose CPU time would be \
                     counted with its own",
                    processes.name(*starter)
                ),
                None if are_all_seen => format!(
                    "no process that toll sees has the socket at {address}, as where the server is in a container; run \
                     toll outside of it"
                ),
                None => format!(
                    "who listens at {address} is not shown to this user, since the socket is {}; run toll as root, or \
                     give the server's PID",
                    owner(first.user)
                ),
            });
        };
        let sockets_of = |members: &BTreeSet<u32>| -> HashSet<u64> {
            members.iter().flat_map(|pid| &holders[pid]).copied().collect()
        };
        let own = sockets_of(members);
        let mut with_the_same = families.iter().filter(|(_, of)| !own.is_disjoint(&sockets_of(of)));
        if with_the_same.clone().nth(1).is_some() {
            let names: Vec<String> =
                with_the_same.by_ref().map(|(pid, _)| processes.holder(*pid)).collect();
            return Fact::unknown(format_args!(
                "{} have one socket at {address}, and either may serve; give the server's PID",
                names.join(" and ")
            ));
        }
        let found = processes.server(root);
        if RELAYS.contains(&found.name.as_str()) {
            return Fact::unknown(format_args!(
                "{}, which listens at {address}, passes connections on; load the server's own address, or give its PID",
                processes.holder(root)
            ));
        }
        Fact::Known(Self { found_at_port: Some(address.port()), ..found })
    }

    /// The servers whose first process, or one of its descendants, runs the program of that name. toll's own process
    /// and its ancestors are none.
    pub fn called(name: &str) -> Vec<Self> {
        let processes = Processes::now();
        let starters = processes.starters();
        let of_name = processes.0.iter().filter(|(_, process)| process.is_called(name));
        let of_name = of_name.map(|(pid, _)| *pid).filter(|pid| !starters.contains(pid)).collect();
        let families = processes.families(&of_name, &starters);
        families.keys().map(|pid| processes.server(*pid)).collect()
    }
}

/// Whose a socket is, after "is".
fn owner(user: u32) -> String {
    if user == 0 { "root's".to_owned() } else { format!("user {user}'s") }
}

/// A process, as it was when it was looked at.
struct Running {
    parent: u32,
    name: String,
    /// With its arguments; a child that was forked and runs nothing else has the same.
    command: Vec<String>,
}

impl Running {
    /// `None` of one that has ended.
    fn of(process: &Process) -> Option<Self> {
        let stat = process.stat().ok()?;
        let has_ended = stat.state == 'X' || stat.state == 'Z' && stat.num_threads <= 1;
        (!has_ended).then(|| Self {
            parent: stat.ppid.cast_unsigned(),
            name: stat.comm,
            command: process.cmdline().unwrap_or_default(),
        })
    }

    fn is_called(&self, name: &str) -> bool {
        // The kernel keeps 15 bytes of a name.
        let short = name.get(..15).unwrap_or(name);
        let program = self.command.first().and_then(|path| path.rsplit('/').next());
        self.name == short || program == Some(name)
    }
}

/// All that run, at one look.
struct Processes(BTreeMap<u32, Running>);

impl Processes {
    fn now() -> Self {
        let all = all_processes().into_iter().flatten().flatten();
        let numbered =
            |process: Process| Some((process.pid.cast_unsigned(), Running::of(&process)?));
        Self(all.filter_map(numbered).collect())
    }

    fn name(&self, pid: u32) -> &str {
        self.0.get(&pid).map_or("a process", |process| &process.name)
    }

    fn holder(&self, pid: u32) -> String {
        format!("{} (process {pid})", self.name(pid))
    }

    fn server(&self, pid: u32) -> ServerProcess {
        ServerProcess { name: self.name(pid).to_owned(), pid, found_at_port: None }
    }

    /// A process and its ancestors, the nearest first.
    fn ancestry(&self, pid: u32) -> impl Iterator<Item = u32> {
        let parent = |pid: &u32| self.0.get(pid).map(|process| process.parent);
        std::iter::successors(Some(pid), parent).take_while(|pid| *pid > 0)
    }

    /// Those that are no server of a load that this process makes: itself, its ancestors and PID 1.
    fn starters(&self) -> BTreeSet<u32> {
        self.ancestry(std::process::id()).chain([1]).collect()
    }

    /// Those that have some of these sockets, with which; and whether the descriptors of all processes were seen.
    fn holders(&self, inodes: &HashSet<u64>) -> (BTreeMap<u32, HashSet<u64>>, bool) {
        let (mut holders, mut are_all_seen) = (BTreeMap::new(), true);
        for &pid in self.0.keys() {
            match Process::new(pid.cast_signed()).and_then(|process| sockets_of(&process)) {
                Ok(own) if own.is_disjoint(inodes) => {}
                Ok(own) => {
                    holders.insert(pid, own.intersection(inodes).copied().collect());
                }
                // One that has ended meanwhile has none.
                Err(procfs::ProcError::NotFound(_)) => {}
                Err(_) => are_all_seen = false,
            }
        }
        (holders, are_all_seen)
    }

    /// The members by their first processes, none of which is a starter.
    fn families(
        &self,
        members: &BTreeSet<u32>,
        starters: &BTreeSet<u32>,
    ) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut families = BTreeMap::<u32, BTreeSet<u32>>::new();
        for &pid in members {
            families.entry(self.first_of(pid, members, starters)).or_default().insert(pid);
        }
        families
    }

    /// The farthest ancestor of a member that is one too, or that only forked it: a worker has the command line of
    /// its master.
    fn first_of(&self, pid: u32, members: &BTreeSet<u32>, starters: &BTreeSet<u32>) -> u32 {
        let (mut first, mut is_forked) = (pid, true);
        let mut child = pid;
        for ancestor in self.ancestry(pid).skip(1).take_while(|pid| !starters.contains(pid)) {
            is_forked &= self.is_fork_of(child, ancestor);
            if members.contains(&ancestor) {
                is_forked = true;
            }
            if is_forked {
                first = ancestor;
            }
            child = ancestor;
        }
        first
    }

    fn is_fork_of(&self, child: u32, parent: u32) -> bool {
        let command = |pid| self.0.get(&pid).map(|process| &process.command);
        command(child) == command(parent) && command(child).is_some_and(|words| !words.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::listener::tests::{Other, socket};

    use Transport::{Tcp as TCP, Udp as UDP};

    /// What `look` finds, as soon as it finds something that is accepted.
    fn soon<T: fmt::Debug>(look: impl Fn() -> T, is_accepted: impl Fn(&T) -> bool) -> T {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let found = look();
            if is_accepted(&found) || Instant::now() > end {
                return found;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn pid_at(transport: Transport, address: SocketAddr) -> Option<u32> {
        ServerProcess::at(transport, address).known().map(|found| found.pid)
    }

    #[test]
    fn the_process_that_has_the_socket_is_found_at_its_port() {
        for transport in [TCP, UDP] {
            let (own, address) = socket(transport, "127.0.0.1:0");
            // The process that looks is no server of its own load.
            assert_eq!(pid_at(transport, address), None);
            let server = Other::with(own);
            let expected = ServerProcess {
                name: "sleep".to_owned(),
                pid: server.0.id(),
                found_at_port: Some(address.port()),
            };
            assert_eq!(ServerProcess::at(transport, address), Fact::Known(expected.clone()));
            let words = format!("sleep, PID {}, found at port {}", expected.pid, address.port());
            assert_eq!(expected.to_string(), words);
            drop(server);
            assert_eq!(pid_at(transport, address), None);
        }
    }

    #[test]
    fn a_port_of_another_machine_s_address_is_not_looked_up_here() {
        for transport in [TCP, UDP] {
            let (own, address) = socket(transport, "0.0.0.0:0");
            let server = Other::with(own);
            let at =
                |ip: &str| pid_at(transport, SocketAddr::new(ip.parse().unwrap(), address.port()));
            assert_eq!(at("127.0.0.9"), Some(server.0.id()));
            assert_eq!(at("192.0.2.1"), None);
        }
    }

    #[test]
    fn a_master_is_found_by_its_workers() {
        let (own, address) = socket(TCP, "127.0.0.1:0");
        // The subshell and what it starts have the socket; the shell has let it go.
        let script = "exec 3<&0 0<&-; (sleep 1000; :) & exec 3<&-; wait";
        let forked = Other::running(Command::new("sh").args(["-c", script]), own);
        let master = Some(forked.0.id());
        assert_eq!(soon(|| pid_at(TCP, address), |found| *found == master), master);
        drop(forked);

        // Both have it, and the child runs another program.
        let (own, address) = socket(TCP, "127.0.0.1:0");
        let both = Other::running(Command::new("sh").args(["-c", "sleep 1000 3<&0; :"]), own);
        let is_up = |_: &Option<u32>| {
            ServerProcess::called("sleep").iter().any(|of| {
                let parent = Processes::now().0.get(&of.pid).map(|process| process.parent);
                parent == Some(both.0.id())
            })
        };
        assert_eq!(soon(|| pid_at(TCP, address), is_up), Some(both.0.id()));

        // A server that a script starts, which has no part in it.
        let (own, address) = socket(TCP, "127.0.0.1:0");
        let script = "exec 3<&0 0<&-; sleep 1000 & exec 3<&-; wait";
        let started = Other::running(Command::new("sh").args(["-c", script]), own);
        let is_alone = |found: &Option<u32>| found.is_some_and(|pid| pid != started.0.id());
        let found = soon(|| pid_at(TCP, address), is_alone).unwrap();
        assert_eq!(Processes::now().0[&found].name, "sleep");
    }

    #[test]
    fn of_two_servers_with_a_socket_each_the_other_is_a_sharer_and_with_one_socket_neither_is_it() {
        for transport in [TCP, UDP] {
            let (one, address) = socket(transport, "127.0.0.1:0");
            let copy = one.try_clone().unwrap();
            let first = Other::with(one);
            let stranger = Other::with(socket(transport, &address.to_string()).0);
            let pids = [first.0.id(), stranger.0.id()];
            let found = pid_at(transport, address).unwrap();
            let other = pids.into_iter().find(|pid| *pid != found).unwrap();
            let sharers = crate::sharers(&[found], transport, address).known().unwrap().clone();
            // This process has the first one's socket too.
            assert!(sharers.iter().any(|of| of.pid != Some(found)), "{sharers:?} {other}");
            drop(stranger);
            let second = Other::with(copy);
            let Fact::Unknown { not_available_here: why } = ServerProcess::at(transport, address)
            else {
                panic!("either may serve")
            };
            assert!([first, second].iter().all(|of| why.contains(&of.0.id().to_string())), "{why}");
        }
    }

    #[test]
    fn servers_are_found_by_the_name_of_their_program() {
        let name = format!("named-{}", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(&name);
        std::fs::copy("/bin/sleep", &program).unwrap();
        let start = || {
            let (own, _) = socket(TCP, "127.0.0.1:0");
            Other::running(Command::new(&program).arg("1000"), own)
        };
        let pids =
            || -> Vec<u32> { ServerProcess::called(&name).iter().map(|of| of.pid).collect() };
        let count = |number: usize| soon(pids, |found| found.len() == number);
        assert!(count(0).is_empty());
        let first = start();
        assert_eq!(count(1), [first.0.id()]);
        let second = start();
        assert_eq!(count(2).len(), 2);
        drop(first);
        assert_eq!(count(1), [second.0.id()]);
        assert_eq!(ServerProcess::of(second.0.id()).unwrap().pid, second.0.id());
        assert!(ServerProcess::of(1 << 23).is_err());
    }
}

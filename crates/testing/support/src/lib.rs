//! What integration tests of several crates share: `toll` and its server, folders with a study,
//! processes that end with the test, clients, and a small server.
//!
//! All of it panics where a test has to fail.

mod balance;
mod clients;
mod crypto_mb;
mod desk;
mod golden;
mod json_names;
mod process;
mod serve;
mod stub;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use cpus::CpuList;

pub use balance::balance;
pub use clients::{curl, peer, s_client};
pub use crypto_mb::{CryptoMbStandIn, crypto_mb_is_lacking};
pub use desk::Desk;
pub use golden::golden;
pub use insta;
pub use json_names::json_names;
pub use process::{Killed, children, is_running, output_with_input, processes_with, write_program};
pub use serve::Serve;
pub use stub::{answering, answering_to, closing};

/// No test waits longer for anything.
pub const LIMIT: Duration = Duration::from_secs(120);

/// The `toll` that Cargo built beside this test.
pub fn toll() -> Command {
    Command::new(toll_path())
}

/// The file of [`toll`].
pub fn toll_path() -> PathBuf {
    // The test is `target/debug/deps/NAME`.
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("toll")
}

/// `toll` with this hard limit of descriptors, which it may not raise.
pub fn toll_within(descriptors: usize) -> Command {
    let limited = format!("--nofile={descriptors}:{descriptors}");
    // Who has the capability could raise the limit.
    let mut command = match rustix::process::geteuid().is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--bounding-set=-sys_resource", "--inh-caps=-sys_resource", "prlimit"]);
            command
        }
        false => Command::new("prlimit"),
    };
    command.arg(limited).arg(toll_path());
    command
}

/// The output of `toll` with these arguments.
pub fn toll_output(arguments: &[&str]) -> Output {
    toll().args(arguments).output().unwrap()
}

/// The output of a command that must succeed.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{command:?}: {said}{}", text(&output.stderr));
    said
}

/// What a program printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until something is so, up to [`LIMIT`].
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not so within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The first CPU that this process may use, for servers.
pub fn first_cpu() -> CpuList {
    CpuList::allowed().unwrap().first(1)
}

/// The last one, for loads.
pub fn last_cpu() -> CpuList {
    CpuList::from(*CpuList::allowed().unwrap().as_slice().last().unwrap())
}

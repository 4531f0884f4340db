//! Datagrams that the client's kernel drops, or does not take: strace makes the client slow, and the kernel refuse.

use std::path::Path;
use std::process::Command;

use cpus::CpuList;
use support::{Serve, text, toll_path};
use trial::{Limit, TrialRecord};

/// A load of HTTP/3 whose system calls strace changes in these ways.
fn load(traced: &str, injected: &[&str]) -> TrialRecord {
    load_seen(traced, injected, Path::new("/dev/null"))
}

/// The same, with the calls in a file.
fn load_seen(traced: &str, injected: &[&str], seen: &Path) -> TrialRecord {
    let server = Serve::start(&["--quic", "--library", "rustls-ring"]);
    let mut command = Command::new("strace");
    command.args(["--follow-forks", "--seccomp-bpf", traced, "--output"]).arg(seen);
    command.args(injected.iter().map(|change| format!("--inject={change}")));
    command.arg(toll_path());
    command.args(["load", &format!("https://{}/bytes/1MiB", server.tls), "--http", "3", "--json"]);
    command.args(["-c", "4", "--warmup", "300ms", "-d", "1500ms", "--insecure"]);
    // Also those of the server, so that two threads share what strace takes.
    command.args(["--cpus", &CpuList::allowed().unwrap().to_string()]);
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// Its sockets keep their small buffers, and it waits after each receive.
#[test]
fn sockets_that_overflow_are_the_limit() {
    let changes = ["setsockopt:retval=0", "recvmmsg:delay_exit=4000"];
    let line = load("--trace=setsockopt,recvmmsg", &changes);
    let quic = line.receipt.obtained.quic.as_ref().unwrap();
    assert!(quic.drops > 0, "{quic:?}");
    assert_eq!(line.limit().unwrap(), Limit::UdpBuffers, "{:?}", line.verdict);
    assert!(line.valid && line.operations.completed > 0, "{:?}", line.operations);
}

#[test]
fn sends_that_the_kernel_refuses_are_the_limit() {
    let line = load("--trace=sendmsg", &["sendmsg:error=ENOBUFS:when=20+5"]);
    let quic = line.receipt.obtained.quic.as_ref().unwrap();
    assert!(quic.sends_refused > 0 && quic.drops == 0, "{quic:?}");
    assert_eq!(line.limit().unwrap(), Limit::UdpBuffers, "{:?}", line.verdict);
}

/// The sends that the kernel took are the receipt's.
#[test]
fn a_load_whose_datagrams_arrive_is_limited_by_something_else() {
    let seen = tempfile::NamedTempFile::new().unwrap();
    let line = load_seen("--trace=sendmsg", &[], seen.path());
    let quic = line.receipt.obtained.quic.as_ref().unwrap();
    assert_eq!((quic.drops, quic.sends_refused), (0, 0), "{quic:?}");
    assert_ne!(line.limit().unwrap(), Limit::UdpBuffers, "{:?}", line.verdict);
    assert!(quic.datagrams_per_receive > Some(1.0), "{quic:?}");
    let calls = std::fs::read_to_string(seen.path()).unwrap();
    let taken = calls.lines().filter(|call| call.contains("sendmsg") && !call.contains("= -1"));
    let bytes = taken.filter_map(|call| call.rsplit_once("= ")?.1.parse::<u64>().ok());
    let (sends, bytes) = bytes.fold((0, 0), |(sends, all), of| (sends + 1, all + of));
    // What shows before the load that the server answers is not in its counts.
    let before =
        (sends - quic.sends, bytes as f64 - quic.mean_sent.unwrap() * quic.datagrams_sent as f64);
    assert!(before.0 < 60 && (0.0..20_000.0).contains(&before.1), "{before:?}");
}

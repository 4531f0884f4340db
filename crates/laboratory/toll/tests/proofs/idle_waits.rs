//! How often a load thread with idle connections wakes up, as strace counts its waits: times would be the machine's.

use std::process::Command;

use support::{Serve, text, toll_path};

/// Its own ticks are 50 per second. A wait takes some 10 us, so that this many are 0.2% of a CPU.
const MOST_WAITS: usize = 200;

/// A thousand connections, and a request per second in all.
fn waits_in_a_second(http: &str) -> usize {
    let server = Serve::start(&["--quic", "--library", "rustls-ring"]);
    let seen = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("strace");
    command.args([
        "--follow-forks",
        "--seccomp-bpf",
        "--absolute-timestamps=format:unix,precision:us",
    ]);
    command.args(["--trace=epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll", "--output"]);
    command.arg(seen.path()).arg(toll_path());
    command.args(["load", &format!("https://{}/bytes/1KiB", server.tls), "--http", http, "--json"]);
    command.args(["-c", "1000", "--arrival", "uniform 1/s", "--warmup", "15s", "-d", "2s"]);
    let output = command.arg("--insecure").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let calls = std::fs::read_to_string(seen.path()).unwrap();
    // Of the thread that waits most, the second before the load's last.
    let waits = calls.lines().filter(|call| call.contains("poll"));
    let waits: Vec<(&str, f64)> = waits
        .filter_map(|call| {
            let (thread, rest) = call.split_once(' ')?;
            Some((thread, rest.trim_start().split(' ').next()?.parse().ok()?))
        })
        .collect();
    let all_of = |thread: &str| waits.iter().filter(|(of, _)| *of == thread).count();
    let busiest = waits.iter().map(|(thread, _)| *thread).max_by_key(|thread| all_of(thread));
    let own = waits.iter().filter(|(thread, _)| Some(*thread) == busiest).map(|(_, at)| *at);
    let end = own.clone().fold(0.0, f64::max) - 0.5;
    own.filter(|at| (end - 1.0..end).contains(at)).count()
}

#[test]
fn idle_connections_keep_no_load_thread_busy() {
    for http in ["1.1", "2", "3"] {
        let waits = waits_in_a_second(http);
        assert!((10..MOST_WAITS).contains(&waits), "HTTP/{http}: {waits}");
    }
}

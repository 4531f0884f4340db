//! CPU time of server and client against the kernel's own account of their threads.

use std::path::Path;
use std::time::Duration;

use units::Nanos;

use super::bench::{line, load, load_plain};
use support::Serve;

/// How far a figure may be from the kernel's account.
const TOLERANCE: f64 = 0.03;

/// What the threads of a process that live have had of their CPUs (proc_pid_schedstat(5)).
fn on_cpu(pid: &str) -> Nanos {
    let tasks = std::fs::read_dir(Path::new("/proc").join(pid).join("task")).unwrap();
    let of_task = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    Nanos(tasks.filter_map(of_task).sum())
}

/// The same once the server rests.
fn at_rest(pid: &str) -> Nanos {
    loop {
        let before = on_cpu(pid);
        std::thread::sleep(Duration::from_millis(50));
        if on_cpu(pid).0 - before.0 < 1_000_000 {
            return on_cpu(pid);
        }
    }
}

#[test]
fn a_servers_cpu_time_is_what_its_threads_ran_however_the_load_ends() {
    let server = Serve::pinned(&[]);
    let pid = server.pid();
    // Short enough that nothing hides in a long window; toll's probe is one more request.
    // With a ramp the window does not wait for its connections.
    let timed = ["-d", "1s", "--warmup", "0ms", "--ramp", "1ms"];
    for arguments in [&["-n", "4000"][..], &["-n", "40000"], &timed] {
        for mut command in [load(&server, "bytes/1KiB"), load_plain(&server, "bytes/16KiB")] {
            let before = at_rest(&pid);
            let line = line(command.args(["-c", "16"]).args(arguments));
            let ran = at_rest(&pid).0 - before.0;
            assert!(line.valid, "{:?}", line.why_invalid());
            let counted = line.cpu_ns.server.unwrap();
            let off = counted as f64 / ran as f64 - 1.0;
            // The probe's handshake, and what is under way at the end of a load by time.
            let beside = 3_000_000.0 / ran as f64;
            assert!(
                (-TOLERANCE - beside..=TOLERANCE).contains(&off),
                "{arguments:?}: {counted} counted, {ran} ran"
            );
            let client = line.cpu_ns.client.unwrap();
            assert!(client > 0 && line.evidence().unwrap().client_busy > Some(0.0), "{line:?}");
        }
    }
}

//! `toll watch` beside servers and their logs, and made false from outside.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::{Killed, Serve, first_cpu, is_running, last_cpu, text, toll, until};
use tempfile::TempDir;

/// An nginx with a worker on the first CPU, and what it has in its folder.
struct Nginx {
    master: Killed,
    folder: TempDir,
    port: u16,
}

impl Nginx {
    /// With a key as `openssl req -newkey` names it. `library_path`: where its libraries are.
    fn start(key: &[&str], library_path: Option<&Path>) -> Self {
        let mut nginx = Command::new("taskset");
        nginx.args(["-c", &first_cpu().to_string(), "nginx"]);
        if let Some(path) = library_path {
            nginx.env("LD_LIBRARY_PATH", path);
        }
        Self::of(nginx, key, "")
    }

    /// By a command that starts nginx. `more`: servers beside the first.
    fn of(mut nginx: Command, key: &[&str], more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let place = folder.path().display();
        let configuration = format!(
            "daemon off; worker_processes 1; pid nginx.pid; error_log error.log; events {{}}\n\
             http {{ access_log access.log; server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {place}/cert.pem; \
             ssl_certificate_key {place}/key.pem; return 200 x; }} {} }}",
            more.replace("PORT", &port.to_string()).replace("PLACE", &place.to_string())
        );
        std::fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
        support::run(
            Command::new("openssl")
                .args(["req", "-x509", "-nodes", "-subj", "/CN=localhost", "-newkey"])
                .args(key)
                .args(["-keyout", "key.pem", "-out", "cert.pem"])
                .current_dir(folder.path())
                .stderr(Stdio::null()),
        );
        nginx.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "error.log"]);
        let master = Killed::start(&mut nginx);
        // It writes its number when it listens, and then starts its worker.
        let number = folder.path().join("nginx.pid");
        until("it listens", || number.exists() && !support::children(master.pid()).is_empty());
        Self { master, folder, port }
    }

    fn watch(&self, arguments: &[&str]) -> Command {
        watch(&self.master.pid().to_string(), arguments)
    }

    /// The bill of it while something happens, to which the process that watches is given.
    fn bill_while(&self, happens: impl FnOnce(&Killed)) -> Value {
        bill_while(&self.master.pid().to_string(), happens)
    }

    /// A full handshake and a request each, from the other CPU.
    fn load(&self, count: u32) {
        let output = self.connections().args(["-n", &count.to_string()]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    fn connections(&self) -> Command {
        let mut load = toll();
        load.args(["load", &format!("https://127.0.0.1:{}/", self.port), "--insecure", "-c", "4"]);
        load.args(["--operation", "one-request-per-connection", "-d", "60s", "--json"]);
        load.args(["--cpus", &last_cpu().to_string()]);
        load
    }

    fn log_lines(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("access.log")).unwrap().lines().count()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its worker, which would outlive a killed one.
        self.master.send("-TERM");
        until("nginx ends", || self.master.0.try_wait().unwrap().is_some());
    }
}

fn watch(server: &str, arguments: &[&str]) -> Command {
    let mut command = toll();
    command.args(["watch", server]).args(arguments);
    command
}

/// Starts to watch, and returns when the window has begun: before that toll does not sleep.
fn started(command: &mut Command) -> Killed {
    let watching = Killed::piped(command);
    let waits_for = format!("/proc/{}/wchan", watching.pid());
    let sleeps = || std::fs::read_to_string(&waits_for).is_ok_and(|of| of.contains("nanosleep"));
    until("it sleeps between two looks", sleeps);
    watching
}

/// The bill of a server while something happens.
fn bill_while(server: &str, happens: impl FnOnce(&Killed)) -> Value {
    let watching = started(&mut watch(server, &["--json", "--duration", "5min"]));
    happens(&watching);
    watching.send("-INT");
    let output = watching.finish();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    json(&output)
}

/// Of all threads, in ns (schedstat of `/proc`).
fn cpu_time(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let texts = threads.filter_map(|of| std::fs::read_to_string(of.path().join("schedstat")).ok());
    texts.map(|text| text.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}{}", text(&output.stdout), text(&output.stderr)))
}

/// Whether the kernel lets this user watch and count; a line where it does not.
fn can_watch() -> bool {
    let can = rustix::process::geteuid().is_root()
        && Path::new("/sys/bus/event_source/devices/uprobe/type").exists();
    if !can {
        eprintln!("skipped: uprobes need root and a kernel that has them");
    }
    can
}

/// The probes that somebody has left in the kernel.
fn left_probes() -> String {
    std::fs::read_to_string("/sys/kernel/tracing/uprobe_events").unwrap_or_default()
}

const RSA: [&str; 1] = ["rsa:2048"];

#[test]
fn counts_are_those_of_the_servers_log_and_lines_add_up() {
    if !can_watch() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let bill = nginx.bill_while(|_| nginx.load(1_000));
    let logged = nginx.log_lines() as f64;
    assert!(logged >= 1_000.0, "{logged}");
    for counted in ["signatures", "handshakes", "connections"] {
        let count = bill[counted]["count"].as_f64().unwrap();
        assert!((count - logged).abs() <= logged * 0.01, "{counted}: {count} of {logged}: {bill}");
    }
    // Both ways of counting saw the same window.
    assert!(!bill["notes"].to_string().contains("OpenSSL ended"), "{bill}");
    assert_eq!(bill["prefers"]["certificate_key"], "rsa:2048");
    let samples = |lines: &str| -> u64 {
        bill[lines].as_object().unwrap().values().map(|of| of["samples"].as_u64().unwrap()).sum()
    };
    let (tls, not_sorted) = (samples("parts"), samples("not_sorted"));
    assert_eq!(tls, bill["tls"]["samples"].as_u64().unwrap());
    let all = tls + samples("not_tls") + not_sorted;
    assert_eq!(all, bill["samples"].as_u64().unwrap());
    assert!(not_sorted * 20 < all, "{bill}");
    // RSA signatures are the largest part of such a load on any machine.
    let keys = bill["parts"]["private-keys"]["samples"].as_u64().unwrap();
    assert!(keys * 5 > all, "{bill}");
}

#[test]
fn nothing_is_left_however_it_ends() {
    if !can_watch() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(130)), ("-KILL", None)] {
        let before = left_probes();
        let watching = started(&mut nginx.watch(&["--duration", "5min"]));
        let pid = watching.pid();
        assert!(support::children(pid).is_empty());
        watching.send(signal);
        let output = watching.finish();
        assert_eq!(output.status.code(), code, "{signal}: {}", text(&output.stderr));
        // What was seen until then is printed, if it may.
        assert_eq!(output.stdout.is_empty(), code.is_none(), "{signal}");
        assert_eq!(left_probes(), before, "{signal}");
        assert!(is_running(nginx.master.pid()));
        nginx.load(10);
    }
}

#[test]
fn a_server_without_traffic_or_without_tls_has_no_bill() {
    if !can_watch() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let output = nginx.watch(&["--duration", "300ms"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("too few for a bill"), "{}", text(&output.stdout));
    // Another program's process.
    let busy = Killed::start(Command::new("cat").arg("/dev/zero").stdout(Stdio::null()));
    let works = |_: &Killed| until_it_has_worked(busy.pid(), 1_500_000_000);
    let bill = bill_while(&busy.pid().to_string(), works);
    assert_eq!(bill["no_bill"], "no-tls", "{bill}");
    // Without a port nobody knows what it sends.
    assert!(bill["sent"]["not_available_here"].to_string().contains("port"), "{bill}");
    let gone = watch("8388607", &[]).output().unwrap();
    assert_eq!((gone.status.code(), text(&gone.stderr).lines().count()), (Some(2), 1));
}

#[test]
fn a_server_that_ends_meanwhile_is_said_to_have_ended() {
    if !can_watch() {
        return;
    }
    let mut busy = Killed::start(Command::new("cat").arg("/dev/zero").stdout(Stdio::null()));
    let server = busy.pid().to_string();
    let watching = started(&mut watch(&server, &["--json", "--duration", "5min"]));
    until_it_has_worked(busy.pid(), 500_000_000);
    busy.0.kill().unwrap();
    busy.0.wait().unwrap();
    let bill = json(&watching.finish());
    assert!(bill["ended"].as_str().unwrap().contains("ended"), "{bill}");
}

#[test]
fn a_user_whom_the_kernel_does_not_let_gets_one_line() {
    if !can_watch() {
        return;
    }
    let busy = Killed::start(Command::new("sleep").arg("600"));
    // Root of a namespace of its own is nobody to the kernel's events.
    let mut toll = Command::new("unshare");
    toll.args(["--user", "--map-root-user"]).arg(support::toll_path());
    let output = toll.args(["watch", &busy.pid().to_string()]).output().unwrap();
    let said = text(&output.stderr);
    if said.contains("unshare:") {
        return eprintln!("skipped: {said}");
    }
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("perf_event_paranoid"), "{said}");
}

/// Copies the libraries of TLS into a folder.
fn copied_libraries(folder: &Path) -> PathBuf {
    let linked = support::run(Command::new("ldd").arg("/usr/sbin/nginx"));
    for name in ["libcrypto.so.3", "libssl.so.3"] {
        let line = linked.lines().find(|line| line.contains(name)).unwrap();
        let path = line.split_whitespace().find(|word| word.starts_with('/')).unwrap();
        std::fs::copy(path, folder.join(name)).unwrap();
    }
    folder.join("libcrypto.so.3")
}

#[test]
fn a_library_that_is_replaced_under_way_is_counted_and_named() {
    if !can_watch() {
        return;
    }
    for is_watched in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let library = copied_libraries(folder.path());
        let nginx = Nginx::start(&RSA, Some(folder.path()));
        let replace = || {
            let moved = folder.path().join("newer");
            std::fs::copy(&library, &moved).unwrap();
            std::fs::rename(&moved, &library).unwrap();
        };
        if !is_watched {
            replace();
        }
        let bill = nginx.bill_while(|_| {
            nginx.load(150);
            if is_watched {
                replace();
            }
            nginx.load(150);
        });
        // They are counted in the library that runs.
        let count = bill["signatures"]["count"].as_u64().unwrap();
        assert!(count.abs_diff(nginx.log_lines() as u64) <= 3, "{bill}");
        let libraries = bill["libraries"].as_array().unwrap();
        let is_crypto = |of: &&Value| of["path"] == library.display().to_string();
        assert_eq!(libraries.iter().find(is_crypto).unwrap()["is_replaced"], true, "{bill}");
        assert!(bill["notes"].to_string().contains("was replaced"), "{bill}");
    }
}

#[test]
fn changes_are_priced_by_what_the_servers_library_costs_and_nothing_of_that_is_left() {
    if !can_watch() || first_cpu().to_string() == last_cpu().to_string() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let load = Killed::piped(&mut nginx.connections());
    let worker = support::children(nginx.master.pid())[0];
    let watching = Killed::piped(&mut nginx.watch(&["--json", "--measure", "-d", "5s"]));
    until("it measures", || !support::children(watching.pid()).is_empty());
    // From here on it is the only one on its CPU.
    drop(load);
    let bill = json(&watching.finish());
    let levers = bill["levers"].as_array().unwrap();
    let certificate = levers.iter().find(|of| of["change"] == "ECDSA P-256 certificate");
    let saves = certificate.unwrap_or_else(|| panic!("{bill}"))["saves"].as_f64().unwrap();
    assert!((0.2..0.9).contains(&saves), "{bill}");
    assert!(is_running(worker));
    // However it ends, what measures ends too.
    let load = Killed::piped(&mut nginx.connections());
    let mut watching = Killed::piped(&mut nginx.watch(&["--json", "--measure", "-d", "5s"]));
    until("it measures", || !support::children(watching.pid()).is_empty());
    drop(load);
    let measuring = support::children(watching.pid());
    watching.0.kill().unwrap();
    until("they end", || measuring.iter().all(|pid| !is_running(*pid)));
}

#[test]
fn counting_ends_where_it_would_take_too_much_of_the_server_and_what_is_counted_is_about() {
    if !can_watch() || first_cpu().to_string() == last_cpu().to_string() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let watching = started(&mut nginx.watch(&["--json", "-d", "8s"]));
    // Resumed handshakes take least beside the calls that are counted of each.
    let mut load = nginx.connections();
    load.args(["--resumption", "100%", "--arrival", "uniform 300/s"]);
    let load = Killed::piped(&mut load);
    until("it is loaded", || nginx.log_lines() > 1_500);
    // What comes after that is not as much as before.
    drop(load);
    let bill = json(&watching.finish());
    let count = |of: &Value| of["count"].as_u64().unwrap() as f64;
    let connections = bill["sent"]["connections"].as_u64().unwrap() as f64;
    for counted in ["handshakes", "connections"] {
        let of = &bill[counted];
        assert_eq!(of["is_exact"], false, "{bill}");
        assert!((count(of) / connections - 1.0).abs() < 0.1, "{bill}");
    }
    assert!(bill["counted_part"].as_f64().is_some_and(|part| part <= 1.0), "{bill}");
    assert!(bill["notes"].to_string().contains("calls were counted for the first"), "{bill}");
    // Of a server that does next to nothing all of the few are looked at.
    let idle = nginx.bill_while(|_| nginx.load(20));
    assert_eq!(idle["handshakes"]["is_exact"], true, "{idle}");
}

#[test]
fn what_watch_says_that_a_certificate_saves_is_what_plan_measures() {
    if !can_watch() || first_cpu().to_string() == last_cpu().to_string() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bill_folder = folder.path().join("bill");
    let nginx = Nginx::start(&RSA, None);
    let load = Killed::piped(&mut nginx.connections());
    let mut watch = nginx.watch(&["--json", "--measure", "-d", "5s"]);
    let watching = Killed::piped(watch.arg("--out").arg(&bill_folder));
    until("it measures", || !support::children(watching.pid()).is_empty());
    drop(load);
    let bill = json(&watching.finish());
    drop(nginx);
    let mut plan = toll();
    // About as busy as the server that was watched.
    plan.args(["plan", "--levers", "certificate-key", "--busy", "85%", "--trials", "3", "--json"]);
    plan.arg("--from").arg(&bill_folder).arg("--out").arg(folder.path().join("plan"));
    let output = plan.output().unwrap();
    // Three rounds check no plan.
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let plan = json(&output);
    let certificate = |levers: &Value| {
        let mut all = levers.as_array().unwrap().iter();
        let found = all.find(|of| of["change"] == "ECDSA P-256 certificate");
        found.unwrap_or_else(|| panic!("no certificate: {bill} {plan}")).clone()
    };
    let number = |of: &Value| of.as_f64().unwrap();
    let predicted = certificate(&bill["levers"]);
    let predicted = ["low", "saves", "high"].map(|of| number(&predicted[of]));
    let saved = certificate(&plan["levers"]["savings"]);
    let (saved, cores) = (&saved["cores"], &plan["cores"]);
    let measured = [
        number(&saved["interval"]["low"]) / number(&cores["interval"]["high"]),
        number(&saved["median"]) / number(&cores["median"]),
        number(&saved["interval"]["high"]) / number(&cores["interval"]["low"]),
    ];
    let overlap = predicted[0] <= measured[2] && measured[0] <= predicted[2];
    // However wide the intervals are, neither may be far off.
    let is_near = (predicted[1] - measured[1]).abs() < 0.15;
    assert!(overlap && is_near, "{predicted:?}, {measured:?}: {bill} {plan}");
}

#[test]
fn on_a_terminal_the_bill_is_there_before_the_question_and_ctrl_c_or_the_end_of_input_ends_it() {
    if !can_watch() || first_cpu().to_string() == last_cpu().to_string() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let _load = Killed::piped(&mut nginx.connections());
    // The terminal's keys for an interrupt and for the end of the input.
    for (key, code) in [(b"\x03", 130), (b"\x04", 0)] {
        let folder = tempfile::tempdir().unwrap();
        let (out, screen) = (folder.path().join("out"), folder.path().join("screen"));
        let toll = support::toll_path().display().to_string();
        let command = format!("{toll} watch {} -d 3s --out {}", nginx.master.pid(), out.display());
        let mut terminal = Command::new("script");
        terminal.args(["-qefc", &command]).arg(&screen).stdin(Stdio::piped());
        let mut watching = Killed::piped(&mut terminal);
        let shown = || std::fs::read_to_string(&screen).unwrap_or_default();
        until("it asks", || shown().contains("[y/N]"));
        let before = shown();
        assert!(before.contains("TLS takes "), "{before}");
        assert!(out.join("bill.json").is_file() && out.join("watch.html").is_file());
        watching.0.stdin.as_mut().unwrap().write_all(key).unwrap();
        assert_eq!(watching.finish().status.code(), Some(code), "{}", shown());
    }
}

#[test]
fn processes_that_begin_meanwhile_are_in_the_bill_and_connections_without_tls_are_named() {
    if !can_watch() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let bill = nginx.bill_while(|_| {
        nginx.load(300);
        let worker = support::children(nginx.master.pid());
        nginx.master.send("-HUP");
        until("it has reloaded", || {
            let now = support::children(nginx.master.pid());
            now.len() == 1 && now != worker
        });
        // Longer than a new process may stay unseen.
        std::thread::sleep(std::time::Duration::from_secs(1));
        nginx.load(300);
        for _ in 0..100 {
            drop(std::net::TcpStream::connect(("127.0.0.1", nginx.port)).unwrap());
        }
    });
    let logged = nginx.log_lines() as u64;
    let count = bill["signatures"]["count"].as_u64().unwrap();
    assert!(count.abs_diff(logged) <= 5, "{count} of {logged}: {bill}");
    let notes = bill["notes"].to_string();
    assert!(notes.contains("1 process of") && notes.contains("had no TLS"), "{bill}");
}

#[test]
fn tls_in_a_program_without_names_is_not_sorted_and_is_no_bill() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let stripped = folder.path().join("server");
    support::run(Command::new("strip").arg("-o").arg(&stripped).arg(support::toll_path()));
    let options = ["--library", "rustls-ring"];
    let server = Serve::pinned_by(Command::new(&stripped), "127.0.0.1", &options);
    let bill = bill_while(&server.pid(), |_| {
        let mut load = server.load("bytes/64KiB");
        let _load = Killed::piped(load.args(["-c", "4", "-d", "60s", "--json"]));
        until_it_has_worked(server.process.pid(), 1_500_000_000);
    });
    assert_eq!(bill["no_bill"], "not-sorted", "{bill}");
    let samples = bill["samples"].as_u64().unwrap();
    let unnamed = bill["not_sorted"]["no-names"]["samples"].as_u64().unwrap();
    assert!(unnamed * 10 > samples, "{bill}");
    assert_eq!(bill["not_tls"].get("http-server"), None, "{bill}");
    // What the kernel counts is there all the same.
    let (cpu_s, sent) = (bill["cpu_s"].as_f64(), bill["sent"]["bytes"].as_u64());
    assert!(cpu_s > Some(0.5) && sent > Some(1 << 20), "{bill}");
}

/// What the server does of its own CPU time from now on.
fn until_it_has_worked(pid: u32, ns: u64) {
    let before = cpu_time(pid);
    until("it has worked", || cpu_time(pid) > before + ns);
}

#[test]
fn samples_that_toll_had_no_time_to_read_are_lost_and_are_no_bill() {
    if !can_watch() {
        return;
    }
    let busy = Killed::start(Command::new("cat").arg("/dev/zero").stdout(Stdio::null()));
    let bill = bill_while(&busy.pid().to_string(), |watching| {
        until_it_has_worked(busy.pid(), 300_000_000);
        watching.send("-STOP");
        until_it_has_worked(busy.pid(), 2_000_000_000);
        watching.send("-CONT");
        until_it_has_worked(busy.pid(), 300_000_000);
    });
    assert!(bill["lost_samples"].as_u64().unwrap() > 100, "{bill}");
    assert_eq!(bill["no_bill"], "lost");
    assert!(bill["notes"].to_string().contains("lost"), "{bill}");
}

#[test]
fn a_server_in_a_container_is_watched_from_outside() {
    if !can_watch() {
        return;
    }
    // Libraries at a path that is nowhere else, on a loopback of its own.
    let libraries = tempfile::tempdir().unwrap();
    copied_libraries(libraries.path());
    let mut nginx = Command::new("unshare");
    nginx.args(["--net", "--mount", "sh", "-c"]).arg(
        "set -e; ip link set lo up; mount -t tmpfs none /mnt; cp $0/lib* /mnt; export LD_LIBRARY_PATH=/mnt; \
         exec taskset -c $1 nginx $2 $3 $4 $5 $6 $7",
    );
    nginx.arg(libraries.path()).arg(first_cpu().to_string());
    let nginx = Nginx::of(nginx, &RSA, "");
    let bill = nginx.bill_while(|_| {
        let load = nginx.connections();
        let inside = Command::new("nsenter")
            .args(["--net", "-t", &nginx.master.pid().to_string()])
            .arg(load.get_program())
            .args(load.get_args())
            .args(["-n", "500"])
            .output()
            .unwrap();
        assert!(inside.status.success(), "{}", text(&inside.stderr));
    });
    let logged = nginx.log_lines() as u64;
    for counted in ["signatures", "handshakes", "connections"] {
        let count = bill[counted]["count"].as_u64().unwrap();
        assert!(count.abs_diff(logged) <= 5, "{counted}: {count} of {logged}: {bill}");
    }
    // By the sockets of that namespace.
    assert!(bill["sent"]["connections"].as_u64().unwrap().abs_diff(logged) <= 5, "{bill}");
    assert_eq!(bill["prefers"]["certificate_key"], "rsa:2048");
    assert!(bill["libraries"].to_string().contains("/mnt/libcrypto.so.3"), "{bill}");
    let not_sorted = bill["not_sorted"].as_object().unwrap().values();
    let not_sorted: u64 = not_sorted.map(|of| of["samples"].as_u64().unwrap()).sum();
    assert!(not_sorted * 10 < bill["samples"].as_u64().unwrap(), "{bill}");
}

#[test]
fn a_server_that_wants_a_name_is_asked_by_one() {
    if !can_watch() {
        return;
    }
    let more = "server { listen 127.0.0.1:PORT ssl default_server; ssl_reject_handshake on; } \
        server { listen 127.0.0.1:PORT ssl; server_name a.example; ssl_certificate PLACE/cert.pem; \
        ssl_certificate_key PLACE/key.pem; }";
    let nginx = Nginx::of(Command::new("nginx"), &RSA, more);
    let prefers = |arguments: &[&str]| {
        let given = [&["--json", "--duration", "10ms"], arguments].concat();
        json(&nginx.watch(&given).output().unwrap())["prefers"].clone()
    };
    let why = prefers(&[]);
    assert!(why["not_available_here"].to_string().contains("--server-name"), "{why}");
    assert_eq!(prefers(&["--server-name", "a.example"])["certificate_key"], "rsa:2048");
}

#[test]
fn what_others_run_on_its_cpus_and_who_else_listens_is_not_in_the_bill() {
    if !can_watch() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let _busy = Killed::start(
        Command::new("taskset")
            .args(["-c", &first_cpu().to_string(), "cat", "/dev/zero"])
            .stdout(Stdio::null()),
    );
    let folders = tempfile::tempdir().unwrap();
    let folder = |name: &str| folders.path().join(name).to_str().unwrap().to_owned();
    for name in ["a", "b"] {
        let out = folder(name);
        let arguments = ["--json", "--duration", "5min", "--out", &*out];
        let watching = started(&mut nginx.watch(&arguments));
        nginx.load(3_000);
        watching.send("-INT");
        let bill = json(&watching.finish());
        let sampled = bill["samples"].as_f64().unwrap() / 499.0;
        let used = bill["cpu_s"].as_f64().unwrap();
        assert!((sampled - used).abs() < used * 0.15, "{sampled} s of {used} s: {bill}");
    }
    for name in ["bill.json", "stacks.folded", "watch.html", "machine.json"] {
        assert!(folders.path().join("a").join(name).is_file(), "{name}");
    }
    let printed = |arguments: &[&str]| {
        let output = toll().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(printed(&["report", &folder("a")]).starts_with("TLS takes "));
    let compared = printed(&["compare", &folder("a"), &folder("b")]);
    assert!(compared.lines().any(|line| line.starts_with("private keys")), "{compared}");
}

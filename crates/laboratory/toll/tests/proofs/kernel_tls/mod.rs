//! The kernel's TLS, where it is: in a small virtual machine (`scripts/ktls-vm`), since the kernels of
//! build machines are often without. On machines that cannot run it the test is skipped with a line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use journal::TrialLine;
use support::{text, toll_path};
use targets::SendCounters;
use tls::SendMode;
use trial::{Limit, TrialRecord, WarningKind};

/// Programs that the machine gets, as far as `PATH` has them.
const PROGRAMS: [&str; 6] = ["nginx", "curl", "openssl", "strace", "chrt", "od"];

/// What a script printed in a machine with these options; `None` where the machine cannot run here.
fn in_vm(options: &[&str], script: &str, arguments: &[&str]) -> Option<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = |name: &str| here.join("tests/proofs/kernel_tls").join(name).display().to_string();
    let toll = toll_path().display().to_string();
    let mut vm = Command::new(here.join("../../../scripts/ktls-vm"));
    vm.args(options).args(["--timeout", "540", "--file", &toll]);
    vm.args(["--file", &format!("{}:/suites.toml", file("suites.toml"))]);
    vm.args(["--file", &format!("{}:/script.sh", file(script))]);
    let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin"].map(PathBuf::from);
    for program in PROGRAMS {
        let found = folders.iter().map(|folder| folder.join(program)).find(|path| path.exists());
        let found = found.unwrap_or_else(|| panic!("{program} is lacking"));
        vm.args(["--file", &format!("{}:/bin/{program}", found.display())]);
    }
    let output = vm.args(["--", "/bin/sh", "/script.sh", &toll]).args(arguments).output().unwrap();
    let printed = text(&output.stdout);
    let said = text(&output.stderr);
    if output.status.code() == Some(125) && printed.is_empty() {
        assert!(std::env::var_os("TOLL_KTLS_VM").is_none(), "{said}");
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(output.status.success(), "{printed}\n{said}");
    Some(printed.to_owned())
}

/// What `in_vm.sh` printed, by the names of its parts.
struct Parts(BTreeMap<String, String>);

impl Parts {
    fn print(what: &str) -> Option<Self> {
        let printed = in_vm(&["--cpus", "2", "--mem", "1536"], "in_vm.sh", &[what])?;
        let parts = printed.split("== ").filter_map(|part| part.split_once('\n'));
        Some(Self(parts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()))
    }

    #[track_caller]
    fn part(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("no {name}: {:?}", self.0))
    }
}

/// The last trial of each cell in a journal's text: those before it were not valid.
fn trials(journal: &str) -> Vec<TrialLine> {
    let mut last: BTreeMap<String, TrialLine> = BTreeMap::new();
    for line in journal.lines() {
        let trial: TrialLine = serde_json::from_str(line).unwrap();
        last.insert(trial.place.cell.clone(), trial);
    }
    last.into_values().collect()
}

/// That all trials are valid, and sent as was asked, by the kernel's own count.
fn check(trials: &[TrialLine]) {
    for TrialLine { place, line } in trials {
        let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
        assert!(line.valid, "{}: {:?}", place.cell, line.why_invalid());
        let send = asked.send.unwrap();
        let handshakes: u64 = obtained.tls.values().sum();
        let only = [(send, handshakes)].into();
        assert_eq!(obtained.send, only, "{}: {obtained:?}", place.cell);
        let taken = obtained.kernel_tls.as_ref().unwrap().known().unwrap().sent();
        let expected = if send.is_kernels() { handshakes } else { 0 };
        assert_eq!(taken, expected, "{}", place.cell);
        assert!(obtained.bodies_compared > Some(0), "{}: {obtained:?}", place.cell);
        // The server's own count has the warm-up too.
        if let Some(calls) = obtained.send_calls {
            let sent = if send == SendMode::KtlsSendfile { calls.sendfile } else { calls.write };
            assert!(sent.bytes >= line.bytes.body && sent.calls > 0, "{}: {calls:?}", place.cell);
            assert_eq!(calls.sendfile.calls > 0, send == SendMode::KtlsSendfile, "{}", place.cell);
        }
    }
}

/// The counters in the lines of a part.
fn counters(part: &str) -> Vec<SendCounters> {
    let lines = part.lines().filter_map(|line| line.strip_prefix("counters "));
    let read = |numbers: &str| {
        let numbers = numbers.split_whitespace().map(|number| number.parse::<u64>().unwrap());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), numbers.flat_map(u64::to_ne_bytes).collect::<Vec<_>>())
            .unwrap();
        SendCounters::settled(file.path()).unwrap()
    };
    lines.map(read).collect()
}

#[test]
fn studies_send_in_every_mode() {
    let Some(parts) = Parts::print("studies") else { return };
    let study = parts.part("study");
    assert!(study.contains("exit 0"), "{study}");
    for words in ["kTLS sendfile", "ahead of user TLS", "Intel's Xeon Gold 6142 had"] {
        assert!(study.contains(words), "{words}: {study}");
    }
    let web = trials(parts.part("study-journal"));
    assert_eq!(web.len(), 6 + 6 + 3 + 3);
    check(&web);
    let video = web.iter().filter(|trial| trial.place.case == "video-memory");
    for TrialLine { line: TrialRecord { receipt, .. }, .. } in video {
        assert_eq!(receipt.asked.objects.as_deref(), Some("4 files of 64KiB in memory"));
        assert!(receipt.obtained.pace_bps > Some(0), "{receipt:?}");
    }
    let directives = &web.iter().find(|trial| trial.place.case == "web").unwrap().line.receipt;
    let directives = directives.asked.directives.as_deref().unwrap_or_default();
    assert!(directives.starts_with("aio threads; aio_write on"), "{directives}");

    let ran = parts.part("suites");
    assert!(ran.contains("exit 0"), "{ran}");
    let suites = trials(parts.part("suites-journal"));
    assert_eq!(suites.len(), 8);
    check(&suites);
}

/// One machine for all: its boot and its servers' starts take longer than what is asked of them.
#[test]
fn servers_send_by_the_kernel_and_go_on_after_faults() {
    let Some(parts) = Parts::print("servers") else { return };
    a_quota_of_a_control_group_of_version_2_is_seen(&parts);
    servers_send_by_the_kernel(&parts);
    servers_go_on_after_faults(&parts);
    without_the_kernels_tls_no_trial_is_valid(&parts);
}

/// Those of version 1 have proofs of their own, on this machine.
fn a_quota_of_a_control_group_of_version_2_is_seen(parts: &Parts) {
    let line: TrialRecord = serde_json::from_str(parts.part("quota")).unwrap();
    let quota = line.receipt.obtained.server_quota.as_ref().unwrap();
    assert_eq!((quota.cpus, quota.group.as_str()), (0.5, "/cgroup/half"));
    assert!(quota.throttled_periods > 0 && quota.throttled_ns > 0, "{quota:?}");
    assert_eq!(line.limit().unwrap(), Limit::CpuQuota, "{:?}", line.verdict);
}

fn servers_send_by_the_kernel(parts: &Parts) {
    let traced: Vec<&str> = parts.part("strace").lines().collect();
    assert_eq!(traced[0], "ktls-write sendfile 0");
    let calls = traced[1].strip_prefix("ktls-sendfile sendfile ").unwrap();
    assert!(calls.parse::<u64>().unwrap() > 0);
    // Meanwhile there were connections of another server.
    for TrialLine { place, line } in trials(parts.part("traced-journal")) {
        let warned = line.warnings.iter().any(|it| it.kind == WarningKind::ForeignKernelTls);
        assert!(warned, "{}: {:?}", place.cell, line.warnings);
    }
}

fn servers_go_on_after_faults(parts: &Parts) {
    for mode in [SendMode::KtlsWrite, SendMode::KtlsSendfile] {
        let curl = parts.part(&format!("curl-{mode}"));
        assert!(curl.contains("same\n") && curl.contains("kernel 1\n"), "{curl}");
        let [before, after] = &counters(curl)[..] else { panic!("{curl}") };
        let sent = after.since(before);
        assert_eq!(sent.connections, [(mode, 1)].into(), "{curl}");
        let (by, head) = match mode {
            SendMode::KtlsSendfile => (sent.sendfile, 0..=0),
            _ => (sent.write, 1..=500),
        };
        assert!(head.contains(&(by.bytes - 3_000_000)), "{curl}");
        // After each fault the server goes on.
        let faults = parts.part(&format!("faults-{mode}"));
        for fault in ["close mid-body 28 short", "cut short 18 short", "key update 1 short"] {
            assert!(faults.contains(fault), "{fault}: {faults}");
        }
        assert!(faults.trim_end().ends_with(" short"), "{faults}");
        // The server goes on after a reader that stopped, which sees that its body ended early.
        let stopped = parts.part(&format!("stopped-reader-{mode}"));
        assert!(stopped.contains("stopped reader short"), "{stopped}");
        let line = stopped.lines().find(|line| line.starts_with('{')).unwrap();
        let line: TrialRecord = serde_json::from_str(line).unwrap();
        assert_eq!(line.operations.errors, [("short-body".to_owned(), 1)].into(), "{stopped}");
    }
}

/// Without the module a server ends its connections, and another one does not start.
fn without_the_kernels_tls_no_trial_is_valid(parts: &Parts) {
    let module = parts.part("module");
    assert!(module.contains("no response\n") && module.contains("refused 2\n"), "{module}");
    assert!(module.contains("modprobe tls"), "{module}");
    let by_user = counters(module)[0].connections.get(&SendMode::User).copied();
    assert_eq!(by_user.unwrap_or_default(), 0, "{module}");
    let gone = trials(parts.part("module-journal")).remove(0).line;
    let why = gone.why_invalid().unwrap();
    assert!(why.starts_with("send: "), "{why}");
    assert!(why.ends_with(" 0 by its count"), "{why}");
    let without = parts.part("without");
    assert!(without.contains("modprobe tls"), "{without}");
}

/// Instructions, not time, so that a busy machine counts the same.
#[test]
fn kernel_tls_takes_fewer_instructions_of_nginx_for_a_large_object() {
    let arguments = ["nginx", "1048576:2", ""];
    let Some(printed) = in_vm(&["--count", "--mem", "1024"], "count.sh", &arguments) else {
        return;
    };
    let counts: BTreeMap<SendMode, u64> = printed
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!((words[0], &words[2..5]), ("nginx", &["1048576", "16384", "2"][..]));
            (words[1].parse().unwrap(), words[5].parse().unwrap())
        })
        .collect();
    let [user, write, sendfile] =
        [SendMode::User, SendMode::KtlsWrite, SendMode::KtlsSendfile].map(|mode| counts[&mode]);
    assert!(0 < sendfile && sendfile < write && write < user, "{printed}");
}

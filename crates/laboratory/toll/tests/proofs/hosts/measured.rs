//! What a trial of a server elsewhere says.

use agent::RemoteHost;
use journal::{Role, TrialLine};
use observe::Machine;
use serde_json::Value;
use support::{
    Desk, first_cpu, last_cpu, processes_with, run, text, toll, toll_path, until, write_program,
};
use targets::{Settings, Silence, Target};
use tls::Version;
use trial::{Limit, Reading};
use units::Bytes;

use super::scene::{HOST, Scene};
use crate::namespaces::SERVER;

const CASES: &str = r#"
[[case]]
name = "bulk"
sweep."target.server" = ["embedded", "nginx"]
[[answer]]
case = "bulk"
metric = "goodput-per-server-cpu"
compare = "target.server"
baseline = "embedded"
"#;

#[test]
fn a_server_elsewhere_is_measured_as_one_here() {
    let Some(scene) = Scene::new(CASES) else { return };
    let output = scene.run(&[]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let lines = scene.lines();
    assert_eq!(lines.len(), 4);
    for TrialLine { place, line } in &lines {
        assert!(line.valid, "{:?}", line.receipt.mismatch);
        assert_eq!(place.role, Role::Measure);
        assert!(place.target.as_ref().unwrap().ends_with(&format!("-{HOST}")), "{place:?}");
        let asked = &line.receipt.asked;
        assert_eq!(asked.host.as_deref(), Some(HOST));
        assert!(asked.url.as_ref().unwrap().starts_with(&format!("https://{SERVER}:")));
        assert!(line.cpu_ns.server > Some(0) && line.core_hz.after > Some(0), "{line:?}");
        let evidence = line.evidence().unwrap();
        assert!(evidence.server_busy.is_some() && evidence.server_descriptors.is_some());
        assert!(evidence.listen_drops.is_some() && evidence.server_cpus_idle.is_some());
        let network = evidence.network.as_ref().unwrap();
        assert!(["client0", "server:server0"].contains(&&*network.interface), "{network:?}");
        assert!(network.bits_per_s > 0);
        assert!(!line.server_cpu_share.is_empty());
        assert!(!line.receipt.obtained.library.is_empty());
    }
    let hosts: std::collections::BTreeMap<String, Machine> =
        serde_json::from_str(&scene.desk.file("hosts.json")).unwrap();
    assert!(hosts[HOST].cpus() > Some(0));
    let targets: Value = serde_json::from_str(&scene.desk.file("targets.json")).unwrap();
    assert!(targets[0]["settings"].as_str().unwrap().contains(" of me@server"), "{targets}");
    assert_eq!(scene.processes(), [] as [u32; 0], "the agent and its servers have ended");
    for log in ["embedded/output.log", "nginx/error.log"] {
        assert!(scene.desk.results().join("logs").join(HOST).join(log).exists(), "{log}");
    }
    // What is complete is not measured again, and a run can be compared with itself.
    let again = scene.go_on();
    assert!(again.status.success(), "{}", text(&again.stderr));
    let results = scene.desk.results();
    let compared = toll().arg("compare").args([&results, &results]).output().unwrap();
    assert!(compared.status.success(), "{}", text(&compared.stderr));
}

#[test]
fn a_full_link_of_the_servers_machine_is_the_limit() {
    let Some(scene) = Scene::new("\n[[case]]\nname = \"bulk\"\n") else { return };
    run(scene
        .server
        .command("tc")
        .args(["qdisc", "add", "dev", "server0", "root", "tbf"])
        .args(["rate", "20mbit", "burst", "16kb", "latency", "1s"]));
    let study = scene.study().replace("trials = 2", "trials = 1").replace("\"4KiB\"", "\"512KiB\"");
    let study = study.replace("duration = \"1s\"", "duration = \"5s\"\ntimeout = \"60s\"");
    scene.write(&study.replace("connections = 4", "connections = 16"));
    let output = scene.run(&[]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let lines = scene.lines();
    let verdict = lines[0].line.verdict.as_ref().unwrap();
    assert_eq!(verdict.limit, Limit::Network, "{verdict:?}");
    let network = verdict.evidence.network.as_ref().unwrap();
    assert_eq!(network.interface, "server:server0");
    assert!(network.is_full() && network.bits_per_s < 22_000_000, "{network:?}");
}

#[test]
fn a_dry_run_shows_the_command_and_starts_nothing() {
    let Some(scene) = Scene::new(CASES) else { return };
    let shown = |study: &str| {
        scene.write(study);
        let output = scene.run(&["--dry-run"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let with_script = scene.study();
    let without = with_script.replace("[hosts]", "").replace("shell =", "# shell =");
    let said = shown(&without);
    assert!(
        said.contains("\n  ssh -o BatchMode=yes me@server toll agent --silence 10s\n"),
        "{said}"
    );
    assert!(said.contains("  on me@server: nginx -p "), "{said}");
    let with_script = with_script.replace("[hosts]\n", "[hosts]\nsilence = \"3s\"\n");
    assert!(shown(&with_script).contains("/enter me@server toll agent --silence 3s\n"));
    assert_eq!(scene.processes(), [] as [u32; 0]);
}

/// The sum over all tasks of the server's processes, as the kernel has it: the first number of
/// `schedstat`, in ns.
fn schedstat(pids: &[u32]) -> u64 {
    let tasks = pids.iter().flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).unwrap());
    let of_task = |task: std::io::Result<std::fs::DirEntry>| -> u64 {
        let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    tasks.map(of_task).sum()
}

/// The CPU time of the server by the agent and by the kernel, around the same requests.
#[test]
fn the_agents_cpu_time_of_the_server_is_the_kernels() {
    // This test stands for the toll of the same build.
    build_identity::register(env!("TOLL_BUILD"));
    let desk = Desk::new("");
    let enter = desk.path().join("enter");
    let folder = toll_path().parent().unwrap().display().to_string();
    write_program(&enter, &format!("shift; PATH={folder}:$PATH exec \"$@\""));
    let shell = enter.display().to_string().parse().unwrap();
    let host = "here".parse().unwrap();
    let host = RemoteHost::open(
        &shell,
        Silence::default(),
        &host,
        (vec![Bytes(65_536)], Vec::new()),
        desk.path(),
    )
    .unwrap();
    let target = Target {
        server: targets::by_name("embedded").unwrap(),
        cpus: first_cpu(),
        listen: vec![[127, 0, 0, 1].into()],
        ..Target::default()
    };
    let settings =
        Settings { versions: vec![Version::Tls13], connections: 4, ..Settings::of(target) };
    let clients = agent::Clients { sources: &[None], others: &|_, _| Ok(Vec::new()) };
    let server = host.start(settings, &clients).unwrap();
    let facts = server.facts().clone();
    let pids: Vec<u32> =
        processes_with(&facts.https.to_string()).into_iter().map(|(pid, _)| pid).collect();
    assert_eq!(pids.len(), 1, "{pids:?}");
    let settled = || {
        let mut before = 0;
        until("the server idles", || {
            let now = schedstat(&pids);
            std::mem::replace(&mut before, now) == now
        });
        before
    };
    let mut machine = server.machine().unwrap();
    machine.find_server();
    let on_cpu = |reading: Reading| reading.there.unwrap().server.unwrap().on_cpu.0;
    let (kernel, agent) = (settled(), on_cpu(machine.read(&[])));
    let url = format!("https://{}/bytes/64KiB", facts.https);
    let mut load = toll();
    load.args(["load", &url, "--quiet", "-n", "5000", "-c", "4"]);
    run(load.arg("--cpus").arg(last_cpu().to_string()).arg("--ca").arg(&facts.certificate));
    let kernel = (settled() - kernel) as f64;
    let agent = (on_cpu(machine.read(&[])) - agent) as f64;
    assert!((agent / kernel - 1.0).abs() < 0.02, "{agent} ns by the agent, {kernel} by the kernel");
}

//! What becomes of a run whose agent is lost, and of servers whose toll is.

use std::collections::BTreeSet;
use std::process::Command;

use support::{Killed, is_running, processes_with, run, text, until};

use super::scene::{Scene, counter};

const CASE: &str = "\n[[case]]\nname = \"bulk\"\n";

/// The process of the agent.
fn agent(scene: &Scene) -> u32 {
    let agents = processes_with("toll agent");
    let theirs = scene.processes();
    let found = agents.iter().map(|(pid, _)| *pid).find(|pid| theirs.contains(pid));
    found.unwrap_or_else(|| panic!("no agent among {agents:?}"))
}

/// Starts a run with trials that are long enough to break, and waits until one is under way.
fn start(scene: &Scene) -> Killed {
    scene.write(&scene.study().replace("duration = \"1s\"", "duration = \"2s\""));
    start_as_written(scene)
}

fn start_as_written(scene: &Scene) -> Killed {
    let mut child = Killed::piped(&mut scene.run(&[]));
    until("the servers run", || {
        assert!(child.0.try_wait().unwrap().is_none());
        scene.desk.results_if_any().is_some_and(|folder| folder.join("targets.json").exists())
    });
    loaded(scene);
    child
}

/// Waits until a load's connections are open.
fn loaded(scene: &Scene) {
    until("a load is under way", || counter(&scene.server, "CurrEstab") >= 4);
}

fn kill(pid: u32) {
    run(Command::new("kill").args(["-KILL", &pid.to_string()]));
}

#[test]
fn a_trial_whose_agent_dies_is_invalid_and_the_next_one_is_valid() {
    let Some(scene) = Scene::new(CASE) else { return };
    let child = start(&scene);
    kill(agent(&scene));
    let output = child.finish();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    // One of its trials is not valid.
    assert_eq!(output.status.code(), Some(3), "{said}");
    let lines = scene.lines();
    let valid: Vec<bool> = lines.iter().map(|trial| trial.line.valid).collect();
    assert_eq!(valid, [false, true], "{said}");
    let why = lines[0].line.target_error.as_ref().unwrap();
    assert!(why.contains("me@server"), "{why}");
    assert_eq!(lines[0].line.cpu_ns.server, None);
    until("its servers end with it", || scene.processes().is_empty());
    // A run that is continued measures what is lacking.
    let output = scene.go_on();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn an_agent_that_is_lost_twice_in_a_cell_ends_the_run() {
    let Some(scene) = Scene::new(CASE) else { return };
    let child = start(&scene);
    let first = agent(&scene);
    kill(first);
    until("the first trial is over", || {
        let journal = std::fs::read_to_string(scene.desk.journal()).unwrap_or_default();
        journal.lines().count() == 1
    });
    loaded(&scene);
    assert_ne!(agent(&scene), first);
    kill(agent(&scene));
    let output = child.finish();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("me@server"), "{said}");
    assert!(scene.lines().iter().all(|trial| !trial.line.valid));
}

#[test]
fn a_server_that_dies_there_is_named_with_its_host_and_the_copy_of_its_log() {
    let Some(scene) = Scene::new(CASE) else { return };
    scene.write(&scene.study().replace("\"embedded\"", "\"nginx\""));
    let child = start(&scene);
    let theirs = scene.processes();
    for (pid, _) in processes_with("nginx").iter().filter(|(pid, _)| theirs.contains(pid)) {
        kill(*pid);
    }
    let output = child.finish();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let copy = scene.desk.results().join("logs/me@server/nginx/error.log");
    let words = format!("toll: on me@server: nginx died (signal: 9 (SIGKILL)); {}", copy.display());
    assert!(said.contains(&words), "{said}");
    assert!(copy.is_file());
    let line = &scene.lines()[0].line;
    assert!(!line.valid && line.target_error.as_ref().unwrap().contains("nginx died"), "{line:?}");
    until("nothing is left on the server's machine", || scene.processes().is_empty());
}

/// The folders of agents.
fn folders(scene: &Scene) -> BTreeSet<String> {
    let all = std::fs::read_dir(scene.temporary()).unwrap().flatten();
    let all = all.map(|entry| entry.file_name().into_string().unwrap_or_default());
    all.filter(|name| name.starts_with("toll-agent-")).collect()
}

#[test]
fn an_agent_and_its_servers_end_with_toll_or_its_shell() {
    let Some(scene) = Scene::new(CASE) else { return };
    let before = folders(&scene);
    let child = start(&scene);
    assert_eq!(folders(&scene).len(), before.len() + 1);
    let agent = agent(&scene);
    kill(child.pid());
    until("nothing is left on the server's machine", || scene.processes().is_empty());
    assert!(!is_running(agent));
    drop(child);
    assert_eq!(folders(&scene), before, "its folder goes with it");
}

#[test]
fn a_host_that_hears_nothing_is_left_clean() {
    let Some(scene) = Scene::new(CASE) else { return };
    let study = scene.study().replace("duration = \"1s\"", "duration = \"4s\"");
    scene.write(&study.replace("[hosts]\n", "[hosts]\nsilence = \"1s\"\n"));
    let child = start_as_written(&scene);
    // Its pipe stays open, as where a network is cut.
    run(Command::new("kill").args(["-STOP", &child.pid().to_string()]));
    until("nothing is left on the server's machine", || scene.processes().is_empty());
}

#[test]
fn an_agent_that_is_asked_to_end_takes_its_servers_and_its_folder_with_it() {
    let Some(scene) = Scene::new(CASE) else { return };
    for signal in ["-TERM", "-HUP"] {
        let before = folders(&scene);
        let child = start(&scene);
        let own: Vec<String> = folders(&scene).difference(&before).cloned().collect();
        assert_eq!(own.len(), 1, "{own:?}");
        let agent = agent(&scene);
        run(Command::new("kill").args([signal, &agent.to_string()]));
        until("it ends", || !is_running(agent));
        assert!(!folders(&scene).contains(&own[0]));
        // toll would start another one for the next trial.
        drop(child);
        until("its servers end with it", || scene.processes().is_empty());
        std::fs::remove_dir_all(scene.desk.results()).unwrap();
    }
}

//! What cannot be measured is refused in a line, before anything is started.

use super::scene::Scene;

const CASE: &str = "\n[[case]]\nname = \"bulk\"\n";

#[test]
fn hosts_that_cannot_be_used_are_refused_in_a_line() {
    let Some(scene) = Scene::new(CASE) else { return };
    let study = scene.study();
    // The shell knows no such host.
    scene.write(&study.replace("me@server", "nowhere"));
    let said = scene.refusal();
    let resolves = "Could not resolve hostname nowhere: Name or service not known";
    assert!(said.contains("nowhere") && said.contains(resolves), "{said}");
    scene.write(&study);
    // The same version, of another commit.
    let other = concat!(env!("CARGO_PKG_VERSION"), "+0123456789ab");
    let own = env!("TOLL_BUILD");
    let greeting = |build: &str| format!("echo '{{\"toll\":\"{build}\"}}'");
    let of_another = format!("{}; cat", greeting(other));
    let both = format!("me@server has toll {other}, and this is toll {own}; ");
    let nonsense = format!("{}; echo nonsense; cat >/dev/null", greeting(own));
    for (script, expected) in [
        (
            "echo 'bash: line 1: toll: command not found' >&2; exit 127",
            "me@server has no toll (bash:",
        ),
        (&of_another, &both),
        ("echo Welcome; cat", "me@server prints `Welcome` instead of the greeting of toll's agent"),
        (&nonsense, "the agent on me@server"),
    ] {
        scene.shell(script);
        let said = scene.refusal();
        assert!(said.contains(expected), "{said}");
    }
    scene.write(&study.replace("/enter", "/nothing"));
    let said = scene.refusal();
    assert!(said.contains("/nothing: "), "{said}");
    assert!(scene.desk.results_if_any().is_none(), "no folder of a run that did not begin");
}

#[test]
fn studies_that_contradict_a_host_name_their_line() {
    let Some(scene) = Scene::new(CASE) else { return };
    let study = scene.study();
    for (from, to, expected) in [
        (
            "listen = [\"10.83.0.2\"]\n",
            "",
            "on me@server: it is not known at which address to load it",
        ),
        ("10.83.0.2", "10.83.0.9", "on me@server: this machine cannot listen at 10.83.0.9: "),
        (
            "10.83.0.2",
            "0.0.0.0",
            "line 10: case bulk: target.listen = 0.0.0.0 is every address of the host",
        ),
        (
            "\"10.83.0.2\"",
            "\"10.83.0.2\", \"10.83.0.2\"",
            "line 10: case bulk: target.listen has 10.83.0.2 twice",
        ),
        (
            "10.83.0.2",
            "server",
            "line 10: target.listen: `server` is not an address; write one such as",
        ),
        ("me@server", "-oProxyCommand=x", "line 9: target.host: `-oProxyCommand=x` is not a host"),
        (
            "host = \"me@server\"\n",
            "",
            "line 9: case bulk: target.host = (left open) is this machine",
        ),
        ("object = \"4KiB\"", "cpus = \"1000\"", "on me@server: CPU 1000 is not available"),
        ("object = \"4KiB\"", "cores = 1", "target.cores counts the cores of this machine"),
        ("\"embedded\"", "\"tomcat\"", "tomcat listens on loopback only"),
        ("shell =", "shel =", "line 6: hosts.shel is not a key of [hosts]; did you mean shell?"),
        (
            "server = \"embedded\"",
            "server = \"command\"\ncommand = \"serve {port}\"",
            "write {address} where the address belongs",
        ),
    ] {
        assert!(study.contains(from), "{from}");
        scene.write(&study.replace(from, to));
        let output = scene.run(&[]).output().unwrap();
        let said = crate::errors(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    }
}

//! Servers on other machines, and how these are reached.

use super::*;

/// With these lines under `[target]`, from line 5 on.
fn study(target: &[&str], hosts: &str) -> String {
    let target = target.join("\n");
    format!(
        "schema = 1\nquestion = \"?\"\n[target]\nserver = \"embedded\"\n{target}\n{hosts}\n\
         [[case]]\nname = \"bulk\"\n"
    )
}

#[test]
fn a_server_may_run_on_another_machine_with_cpus_that_this_one_lacks() {
    let host = "host = \"me@server\"";
    let listen = "listen = [\"10.1.1.1\", \"10.1.2.1\"]";
    let hosts = "[hosts]\nshell = \"ssh -p 2222\"\nsilence = \"3s\"";
    let read = parse(&study(&[host, listen, "cpus = \"0-63\""], hosts));
    assert_eq!(read.hosts.shell.to_string(), "ssh -p 2222");
    assert_eq!(read.hosts.silence.to_string(), "3s");
    let cell = &read.cells[0];
    assert_eq!(cell.target.host.as_ref().unwrap().as_str(), "me@server");
    assert_eq!(cell.target.listen.len(), 2);
    let settings = cell.settings();
    let setting = |key: &str| settings.iter().find(|(known, _)| known == key).unwrap().1.clone();
    assert_eq!(setting("target.listen"), "10.1.1.1, 10.1.2.1");
    let remote: Vec<(String, String)> = read
        .remote_cpus()
        .into_iter()
        .map(|(host, cpus)| (host.to_string(), cpus.to_string()))
        .collect();
    assert_eq!(remote, [("me@server".to_owned(), "0-63".to_owned())]);
    assert_eq!(read_back(&read), read);
    let here = parse(&study(&[], ""));
    assert_eq!((here.hosts.shell.to_string(), here.remote_cpus().len()), ("ssh".to_owned(), 0));
}

#[test]
fn hosts_are_swept() {
    let sweep =
        "sweep.\"target.host\" = [\"old\", \"new\"]\nsweep.\"target.cpus\" = [\"0\", \"2-3\"]";
    let read = parse(&(study(&[], "") + sweep));
    let cpus = read.remote_cpus().into_values().map(|cpus| cpus.to_string()).collect::<Vec<_>>();
    assert_eq!((read.cells.len(), cpus), (4, vec!["0,2-3".to_owned(); 2]));
}

#[test]
fn what_no_host_is_names_its_line() {
    let refused = [
        ("host = 'a b'", ""),
        ("host = 'server'\nlisten = 'server'", ""),
        ("listen = '10.1.1.1'", ""),
        ("host = 'server'\ncores = 2", ""),
        ("host = 'server'", "[hosts]\nshel = 'ssh'"),
        ("host = 'server'", "[hosts]\nshell = ''"),
        ("host = 'server'", "[hosts]\nsilence = '500ms'"),
    ];
    assert_golden!(refused.map(|(target, hosts)| {
        (format!("[target]\n{target}\n{hosts}"), refusal(&study(&[target], hosts)))
    }));
}

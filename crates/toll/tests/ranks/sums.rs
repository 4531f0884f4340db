//! Three ranks count what the server counts.

use support::{Desk, Killed, first_cpu, run, text, until};

use crate::bridge::{Bridge, HERE, trials};

/// nginx on the bridge over plain HTTP, which writes down who asked.
fn nginx(bridge: &Bridge) -> Killed {
    let folder = bridge.folder.path().display().to_string();
    let configuration = format!(
        "daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n log_format by '$remote_addr';\n access_log {folder}/access.log by;\n\
         keepalive_requests 1000000;\n\
         server {{ listen {HERE}:8080; location / {{ return 200 'hello'; }} }} }}\n"
    );
    let path = bridge.folder.path().join("nginx.conf");
    std::fs::write(&path, configuration).unwrap();
    let mut command = bridge.command("nginx");
    let server = Killed::start(command.arg("-c").arg(&path).args(["-p", &folder]));
    until("nginx listens", || {
        bridge
            .command("curl")
            .args(["-sf", &format!("http://{HERE}:8080/")])
            .output()
            .unwrap()
            .status
            .success()
    });
    server
}

fn study(bridge: &Bridge, ranks: usize, server: &Killed, load: &str) -> String {
    format!(
        "schema = 1\nquestion = \"Do three hosts load as one?\"\ntrials = 1\n{}\
         [target]\nserver = \"address\"\nurl = \"http://{HERE}:8080/\"\npid = {}\n\
         i-operate-this-host = true\n\
         [load]\ntls = \"none\"\nwarmup = \"0s\"\n{load}\n[[case]]\nname = \"all\"\n",
        bridge.ranks(ranks),
        server.pid()
    )
}

#[test]
fn three_ranks_complete_what_the_server_answered() {
    let Some(bridge) = Bridge::new(3) else { return };
    let server = nginx(&bridge);
    run(std::process::Command::new("taskset").args([
        "-acp",
        &first_cpu().to_string(),
        &server.pid().to_string(),
    ]));
    let desk = Desk::new(&study(&bridge, 3, &server, "connections = 12\nduration = \"1s\""));
    let output = bridge.run(&desk, &["--json"]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let trial = trials(&desk).remove(0);
    let line = &trial.line;
    assert!(line.valid, "{:?}", line.why_invalid());
    assert_eq!(line.receipt.asked.ranks.map(|ranks| ranks.get()), Some(3));

    let log = std::fs::read_to_string(bridge.folder.path().join("access.log")).unwrap();
    let answered = |number: usize| {
        log.lines().filter(|address| **address == format!("10.84.0.1{number}")).count() as u64
    };
    assert_eq!(line.ranks.len(), 3);
    for (number, rank) in (1..).zip(&line.ranks) {
        assert_eq!((rank.rank, rank.host.as_str()), (number, &*format!("lg{number}")));
        assert_eq!((rank.connections, rank.to.to_string()), (4, HERE.to_owned()));
        assert!(rank.client.cpu_ns > Some(0) && rank.client.busy.is_some(), "{rank:?}");
        // What was under way at the end was answered too, and not counted: one a connection.
        let answered = answered(number);
        assert!(rank.completed > 0 && rank.completed <= answered, "{rank:?} {answered}");
        assert!(answered <= rank.completed + 4, "{rank:?} {answered}");
    }
    let sum = |of: fn(&trial::RankFigures) -> u64| line.ranks.iter().map(of).sum::<u64>();
    assert_eq!(sum(|rank| rank.completed), line.operations.completed);
    assert_eq!(sum(|rank| rank.body), line.bytes.body);
    assert_eq!(Some(sum(|rank| rank.client.cpu_ns.unwrap())), line.cpu_ns.client);
    until("nothing is left", || bridge.left().is_empty());
}

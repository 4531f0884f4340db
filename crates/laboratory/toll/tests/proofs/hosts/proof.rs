//! No load without proof: how many connections toll asks for where an address is not the host's.

use support::{run, text};

use super::scene::{Scene, counter};

const CASE: &str = "\n[[case]]\nname = \"bulk\"\n";

/// The SYNs that toll sent, and how many of them the server's machine answered.
fn sent(scene: &Scene) -> (u64, u64) {
    // Each machine tries on a connection of its own loopback whether its kernel has TLS.
    let own = 1;
    (counter(&scene.client, "ActiveOpens") - own, counter(&scene.server, "PassiveOpens") - own)
}

#[test]
fn an_address_that_answers_another_number_is_sent_nothing_more() {
    let Some(scene) = Scene::new(CASE) else { return };
    // The agent is given another number than toll wants.
    scene.change_shell("sed -u 's/\"nonce\":\"[0-9a-f]*\"/\"nonce\":\"0\"/' |");
    let said = scene.refusal();
    assert!(said.contains("not proven"), "{said}");
    assert_eq!(sent(&scene), (1, 1));
}

#[test]
fn an_address_of_another_machine_is_not_loaded() {
    let Some(scene) = Scene::new(CASE) else { return };
    // Both machines have it, and the client reaches its own.
    let address = "10.99.0.1";
    for machine in [&scene.client, &scene.server] {
        run(machine.command("ip").args(["address", "add", &format!("{address}/32"), "dev", "lo"]));
    }
    scene.write(&scene.study().replace("10.83.0.2", address));
    let said = scene.refusal();
    assert!(said.contains("10.99.0.1:") && said.contains("Connection ref"), "{said}");
    assert_eq!(sent(&scene), (1, 0));
}

#[test]
fn each_address_of_a_server_is_proven() {
    let Some(scene) = Scene::new(CASE) else { return };
    scene.write(&scene.study().replace("\"10.83.0.2\"", "\"10.83.0.2\", \"10.99.0.1\""));
    run(scene.server.command("ip").args(["address", "add", "10.99.0.1/32", "dev", "lo"]));
    // Without a route the second is not reached.
    let said = scene.refusal();
    assert!(said.contains("10.99.0.1:") && said.contains("no connection ("), "{said}");
    run(scene.client.command("ip").args(["route", "add", "10.99.0.1/32", "via", "10.83.0.2"]));
    let output = scene.run(&[]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(scene.lines().iter().all(|trial| trial.line.valid));
}

#[test]
fn the_proof_takes_the_way_of_the_load() {
    let Some(scene) = Scene::new(CASE) else { return };
    let from_source = "connections = 4\nsource = \"10.99.0.9\"";
    scene.write(&scene.study().replace("connections = 4", from_source));
    // From that source the client reaches itself at the server's address, else the server.
    let ip = |words: &str| drop(run(scene.client.command("ip").args(words.split(' '))));
    ip("address add 10.99.0.9/32 dev lo");
    ip("route add local 10.83.0.2/32 dev lo table 100");
    ip("rule add pref 5 from 10.99.0.9 lookup 100");
    let said = scene.refusal();
    assert!(said.contains("10.83.0.2:") && said.contains("not proven"), "{said}");
    assert_eq!(sent(&scene), (1, 0));
    ip("rule del pref 5");
    run(scene.server.command("ip").args(["route", "add", "10.99.0.9/32", "via", "10.83.0.1"]));
    let output = scene.run(&[]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(scene.lines().iter().all(|trial| trial.line.valid));
}

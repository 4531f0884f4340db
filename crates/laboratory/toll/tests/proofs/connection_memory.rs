//! What an open connection takes of a server's memory, with servers that allocate as much as they are told.

use std::fs;

use journal::TrialLine;
use support::{Desk, text};
use trial::ConnectionMemory;

/// Answers requests for files in plain HTTP, and keeps so many bytes for each connection.
const SERVER: &str = r#"
import pathlib, selectors, socket, sys
port, each, root = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
listener = socket.create_server(("127.0.0.1", port), backlog=4096)
listener.setblocking(False)
selector = selectors.EpollSelector()
selector.register(listener, selectors.EVENT_READ)
kept = {}
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            connection, _ = listener.accept()
            kept[connection] = b"x" * each
            selector.register(connection, selectors.EVENT_READ)
            continue
        request = key.fileobj.recv(65536)
        if not request:
            selector.unregister(key.fileobj)
            del kept[key.fileobj]
            key.fileobj.close()
            continue
        path = root / request.split(b" ")[1].decode().lstrip("/")
        body = path.read_bytes()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        key.fileobj.sendall(head + body)
"#;

const CONNECTIONS: u64 = 1_500;

/// What two trials say of a server that keeps `each` bytes. Where one of them was disturbed, both are made
/// again, `tries` times at most: one of a continued run would be the first of another process.
fn measured(each: usize, restart: &str, tries: u32) -> Vec<Option<ConnectionMemory>> {
    let desk = Desk::new("");
    let script = desk.path().join("server.py");
    fs::write(&script, SERVER).unwrap();
    let study = format!(
        "schema = 1
        question = \"What does a connection take?\"
        trials = 2
        restart = \"{restart}\"
        [target]
        server = \"command\"
        command = \"exec python3 {} {{plain-port}} {each} {{root}}\"
        object = \"1KiB\"
        [load]
        tls = \"none\"
        operation = \"requests\"
        connections = {CONNECTIONS}
        arrival = \"paced 1s\"
        warmup = \"1500ms\"
        duration = \"500ms\"
        [[case]]
        name = \"idle\"
        ",
        script.display()
    );
    fs::write(desk.study(), study).unwrap();
    let output = desk.run(&[]).output().unwrap();
    if output.status.code() == Some(3) && tries > 1 {
        return measured(each, restart, tries - 1);
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    let journal = fs::read_to_string(desk.journal()).unwrap();
    let lines = journal.lines().filter_map(|line| serde_json::from_str::<TrialLine>(line).ok());
    lines.filter(|trial| trial.line.valid).map(|trial| trial.line.connection_memory).collect()
}

#[test]
fn memory_per_connection_is_what_a_server_allocates() {
    let each = |bytes| -> Vec<f64> {
        let found = measured(bytes, "trial", 5).into_iter();
        found
            .map(|memory| {
                let memory = memory.expect("each trial has a process of its own");
                assert_eq!(memory.connections, CONNECTIONS);
                memory.each()
            })
            .collect()
    };
    let (little, much) = (each(0), each(50_000));
    for (little, much) in little.iter().zip(&much) {
        // Python's own objects for a connection are in both.
        assert!((0.0..8_000.0).contains(little), "{little}");
        assert!((much - little - 50_000.0).abs() < 3_000.0, "{little} {much}");
    }
    // Memory that was freed stays with the process: later loads of it have no figure.
    let kept = measured(50_000, "never", 5);
    assert_eq!(kept.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
}

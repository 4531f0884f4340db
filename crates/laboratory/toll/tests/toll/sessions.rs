//! `toll load --operation session` as a user runs it, against a shop of two pages.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};

use load::WalkCounts;
use tempfile::TempDir;
use trial::{PageFigures, TrialRecord};

const SESSION: &str = "\
schema = 1
[[page]]
name = \"form\"
get = \"/form?bytes={page}\"
contains = \"Form of 4096\"
take.token = { field = \"token\" }
[[page]]
name = \"buy\"
get = \"/buy?token={token}\"
contains = \"Bought by 7\"
";

/// Answers the requests of a connection.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    let mut request = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut first = String::new();
        if request.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut field = String::new();
        while field != "\r\n" {
            field.clear();
            request.read_line(&mut field)?;
        }
        let body = match first.split(['?', ' ', '=']).nth(3) {
            Some("4096") => "Form of 4096 <input name=\"token\" value=\"7\">",
            Some("7") => "Bought by 7",
            _ => "Sorry.",
        };
        let length = body.len();
        stream.write_all(
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes(),
        )?;
    }
}

fn shop() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn session_file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn load(address: SocketAddr, session: &std::path::Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_toll"))
        .arg("load")
        .arg(format!("http://{address}/"))
        .args(["--operation", "session", "--page", "4KiB", "-c", "3", "--session"])
        .arg(session)
        .args(options)
        .output()
        .unwrap()
}

#[test]
fn the_line_has_the_pages_and_the_walks() {
    let (_folder, file) = session_file(SESSION);
    let output = load(shop(), &file, &["--walks", "20", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((line.operations.completed, line.operations.in_flight), (120, 0));
    assert_eq!(line.walks, Some(WalkCounts { completed: 60, failed: 0 }));
    assert!(line.valid && !line.interrupted);
    let pages: Vec<_> = line.pages.iter().map(|page| (&*page.name, page.completed)).collect();
    assert_eq!(pages, [("form", 60), ("buy", 60)]);
    let is_timed = |page: &PageFigures| page.p50_ns.is_some() && page.p50_ns <= page.p99_ns;
    assert!(line.pages.iter().all(|page| is_timed(page) && page.errors.is_empty()));
    let asked = &line.receipt.asked;
    assert_eq!(asked.session.as_deref(), Some(&*file.display().to_string()));
    assert_eq!((asked.page_bytes, asked.walks.map(u32::from)), (Some(4096), Some(20)));
    assert_eq!(asked.receive, Some(load::Receive::Decrypt));
}

#[test]
fn failed_pages_are_named() {
    let (_folder, file) = session_file(&SESSION.replace("Bought by 7", "Bought by 8"));
    let output = load(shop(), &file, &["--walks", "2"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("6 content, ") && text.contains(" page buy: "), "{text}");
    assert!(text.contains("0 walks completed, 6 failed"), "{text}");
}

#[test]
fn what_cannot_be_walked_is_refused() {
    let (_folder, file) = session_file(SESSION);
    let (_wrong_folder, wrong) = session_file(&SESSION.replace("take.token", "takes.token"));
    // Nobody listens there, so nothing may be sent.
    let address = "127.0.0.1:1".parse().unwrap();
    for (file, options, why) in [
        (&wrong, &[][..], "shop.toml, line 6: unknown field `takes`; did you mean take?"),
        (&file, &["--receive", "walk"], "contradicts --receive walk"),
        (&file, &["--client", "wrk"], "contradicts --client wrk"),
        (&file, &["--arrival", "poisson 5/s"], "contradicts --arrival poisson 5/s"),
        (&file, &["--walks", "2", "--warmup", "1s"], "contradicts --warmup 1s"),
        (&file, &["--object", "1KiB"], "leave --object"),
    ] {
        let output = load(address, file, options);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {error}");
        assert!(error.contains(why) && error.lines().count() == 1, "{options:?}: {error}");
    }
}

//! Trials of a shop that stands where Tomcat does, behind a `java` that only announces it: it stores as many
//! orders for a page as the test says, and counts what it is asked.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cpus::CpuList;
use trial::TrialRecord;
use units::Bytes;

const SESSION: &str = "\
schema = 1
[[page]]
name = \"shelf\"
get = \"/shelf\"
contains = \"Shelf\"
[[page]]
name = \"buy\"
post = \"/buy\"
order = true
contains = \"Thank you\"
";

const STUDY: &str = "\
schema = 1
question = \"?\"
trials = 1
[target]
server = \"tomcat\"
object = \"1KiB\"
[load]
operation = \"session\"
session = \"shop.toml\"
tls = \"none\"
connections = 3
warmup = \"300ms\"
duration = \"300ms\"
[[case]]
name = \"c\"
";

/// What the shop says of its cryptography.
const CRYPTO: &str = r#"{"providers":{"AES/CBC/NoPadding":"SunJCE","AES/GCM/NoPadding":"SunJCE"},"ns_per_byte":{},"disabled":""}"#;

/// What the shop does and has done.
struct Shop {
    /// How many orders it stores for each order page.
    stores: u64,
    orders: AtomicU64,
    /// How often it was asked for its cryptography.
    asked: AtomicU64,
    /// How many connections have asked for a page at the same time, at most.
    users: AtomicU64,
    most_users: AtomicU64,
    /// How many pages it has served, and `most_users` when it had served [`EARLY`].
    pages: AtomicU64,
    early_users: AtomicU64,
}

/// More pages than five users ask for before all of them have asked for one.
const EARLY: u64 = 50;

impl Shop {
    fn start(stores: u64) -> (Arc<Self>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let zero = || AtomicU64::new(0);
        let shop = Arc::new(Self {
            stores,
            orders: AtomicU64::new(7),
            asked: zero(),
            users: zero(),
            most_users: zero(),
            pages: zero(),
            early_users: zero(),
        });
        let serving = shop.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shop = serving.clone();
                std::thread::spawn(move || {
                    let mut is_user = false;
                    let _ = shop.serve(stream, &mut is_user);
                    shop.users.fetch_sub(u64::from(is_user), Relaxed);
                });
            }
        });
        (shop, address)
    }

    /// Answers the requests of a connection.
    fn serve(&self, stream: TcpStream, is_user: &mut bool) -> std::io::Result<()> {
        let mut request = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        stream.set_nodelay(true)?;
        loop {
            let mut first = String::new();
            if request.read_line(&mut first)? == 0 {
                return Ok(());
            }
            let (mut field, mut form, mut closes) = (String::new(), 0, false);
            while field != "\r\n" {
                field.clear();
                request.read_line(&mut field)?;
                closes |= field == "Connection: close\r\n";
                if let Some(length) = field.strip_prefix("Content-Length: ") {
                    form = length.trim().parse().unwrap();
                }
            }
            request.read_exact(&mut vec![0; form])?;
            let mut body = Vec::new();
            match first.split(' ').nth(1).unwrap() {
                "/orders" => body.extend(self.orders.load(Relaxed).to_string().bytes()),
                "/crypto" => {
                    self.asked.fetch_add(1, Relaxed);
                    body.extend(CRYPTO.bytes());
                }
                "/shelf" => {
                    if !std::mem::replace(is_user, true) {
                        let users = 1 + self.users.fetch_add(1, Relaxed);
                        self.most_users.fetch_max(users, Relaxed);
                    }
                    if self.pages.fetch_add(1, Relaxed) == EARLY {
                        self.early_users.store(self.most_users.load(Relaxed), Relaxed);
                    }
                    body.extend(b"Shelf");
                }
                "/buy" => {
                    self.orders.fetch_add(self.stores, Relaxed);
                    body.extend(b"Thank you");
                }
                path => objects::write_to(&mut body, objects::size_of(path).unwrap_or(Bytes(0)))?,
            }
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
            stream.write_all(&body)?;
            if closes {
                return Ok(());
            }
        }
    }
}

/// A folder with a `java` and a `jcmd` in whose place the shop at this address answers.
fn programs(folder: &Path, shop: SocketAddr) -> String {
    // The CPUs that it starts on are written before it serves: they may change as soon as it does.
    let java = format!(
        "cpus() {{ sed -n 's/^Cpus_allowed_list:\t//p' /proc/$$/status >> {}; }}
         cpus
         echo '{{\"tls\":\"{shop}\",\"plain\":\"{shop}\",\"tomcat\":\"a stub\",\"java\":\"17\"}}'
         while sleep 0.02; do cpus; done",
        folder.join("cpus").display()
    );
    let jcmd = "for flag in UseAES UseAESIntrinsics UseGHASHIntrinsics; do echo \"bool $flag = true\"; done";
    for (name, script) in [("java", java.as_str()), ("jcmd", jcmd)] {
        let source = folder.join("source");
        fs::write(&source, format!("#!/bin/sh\n{script}\n")).unwrap();
        // Another process writes the program, since a file that this one has open for writing while
        // another test forks is "busy" for exec.
        let mut install = Command::new("install");
        install.args(["-m", "755"]).arg(source).arg(folder.join(name));
        assert!(install.status().unwrap().success());
    }
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// Runs a study in this folder and gives what its journal holds.
fn run(folder: &Path, shop: SocketAddr, study: &str, session: &str) -> Vec<TrialRecord> {
    for (name, text) in [("study.toml", study), ("shop.toml", session), ("petstore.jar", "")] {
        fs::write(folder.join(name), text).unwrap();
    }
    let output = toll(folder, shop, &["run", "--quiet", "study.toml", "--out", "results"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let journal = fs::read_to_string(folder.join("results/journal.jsonl")).expect(&said);
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn toll(folder: &Path, shop: SocketAddr, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_toll"))
        .args(arguments)
        .env("PATH", programs(folder, shop))
        .env("TOLL_PETSTORE", folder.join("petstore.jar"))
        .current_dir(folder)
        .output()
        .unwrap()
}

/// The folder of the only run.
fn result(folder: &Path) -> PathBuf {
    folder.join("results")
}

#[test]
fn a_trial_is_valid_only_where_the_shop_has_an_order_for_each_order_page() {
    for (stores, is_valid) in [(1, true), (0, false), (2, false)] {
        let folder = tempfile::tempdir().unwrap();
        let (_, shop) = Shop::start(stores);
        let lines = run(folder.path(), shop, STUDY, SESSION);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let obtained = &line.receipt.obtained;
        // The warm-up's pages are in it, and the window's alone are fewer.
        let (orders, pages) = (obtained.orders.unwrap(), obtained.order_pages.unwrap());
        assert!(pages > line.pages[1].completed && line.pages[1].completed > 3, "{line:?}");
        assert_eq!(orders.before, 7);
        assert!((orders.after - 7).abs_diff(stores * pages) <= 3 * stores, "{orders:?} {pages}");
        let mismatch: Vec<_> = line.receipt.mismatch.iter().map(ToString::to_string).collect();
        assert_eq!(line.valid, is_valid, "{mismatch:?}");
        assert_eq!(mismatch.len(), usize::from(!is_valid), "{mismatch:?}");
        let of_orders = |why: &String| why.starts_with("orders: asked one for each of ");
        assert!(mismatch.iter().all(of_orders), "{mismatch:?}");
    }
}

#[test]
fn an_application_that_runs_already_is_walked_too() {
    let folder = tempfile::tempdir().unwrap();
    let (shop, address) = Shop::start(1);
    let study = STUDY.replace(
        "server = \"tomcat\"\nobject = \"1KiB\"\n",
        &format!("server = \"address\"\nurl = \"http://{address}/\"\n"),
    );
    let lines = run(folder.path(), address, &study, SESSION);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.valid && line.receipt.mismatch.is_empty(), "{line:?}");
    let pages: Vec<_> = line.pages.iter().map(|page| (&*page.name, page.errors.len())).collect();
    assert_eq!(pages, [("shelf", 0), ("buy", 0)]);
    assert!(line.pages.iter().all(|page| page.completed > 3), "{line:?}");
    let completed: u64 = line.pages.iter().map(|page| page.completed).sum();
    assert_eq!(line.operations.completed, completed);
    // Only toll's own shop is asked for its orders.
    assert_eq!(line.receipt.obtained.orders, None);
    assert!(shop.orders.load(Relaxed) - 7 >= line.pages[1].completed);
}

#[test]
fn a_process_is_warmed_up_with_few_users_and_more_cpus_then_with_all_users_and_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let (shop, address) = Shop::start(1);
    let all = CpuList::allowed().unwrap();
    let own = all.first(1);
    let study =
        STUDY.replace("connections = 3\nwarmup = \"300ms\"\nduration = \"300ms\"\n", "").replace(
            "object = \"1KiB\"",
            &format!("object = \"1KiB\"\nwarmup = \"1s\"\ncpus = \"{own}\""),
        ) + "load.walks = 2\nsweep.\"load.connections\" = [1, 5]\nload.warmup = \"0s\"\n";
    let lines = run(folder.path(), address, &study, SESSION);
    let receipts: Vec<_> = lines.iter().map(|line| &line.receipt).collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.valid), "{lines:?}");
    // Users of the warm-up do not stop after two walks.
    let first = receipts.iter().map(|receipt| receipt.obtained.orders.unwrap().before).min();
    assert!(first.unwrap() > 7 + 2 * 5, "{receipts:?}");
    assert!(receipts.iter().all(|receipt| receipt.obtained.crypto.len() == 2), "{receipts:?}");
    assert_eq!(shop.asked.load(Relaxed), 1);
    assert_eq!((shop.early_users.load(Relaxed), shop.most_users.load(Relaxed)), (2, 5));
    let cpus = fs::read_to_string(folder.path().join("cpus")).unwrap();
    let mut cpus: Vec<_> = cpus.lines().collect();
    cpus.dedup();
    let (own, all) = (own.to_string(), all.to_string());
    let expected = if own == all { vec![&*own] } else { vec![&*own, &*all, &*own] };
    assert_eq!(cpus, expected);
}

#[test]
fn a_run_that_is_continued_walks_the_pages_that_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The shop stores nothing, so the trial is not valid and is made again.
    let (_, shop) = Shop::start(0);
    assert!(!run(folder, shop, STUDY, SESSION)[0].valid);
    let result = result(folder);
    assert_eq!(fs::read_to_string(result.join("session-1.toml")).unwrap(), SESSION);
    fs::write(folder.join("shop.toml"), SESSION.replace("Shelf", "Attic")).unwrap();
    toll(folder, shop, &["run", "--quiet", "--continue", result.to_str().unwrap()]);
    let journal = fs::read_to_string(result.join("journal.jsonl")).unwrap();
    let last: TrialRecord = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
    assert_eq!(journal.lines().count(), 2);
    assert!(last.pages[0].completed > 0 && last.pages[0].errors.is_empty(), "{last:?}");
    assert_eq!(last.receipt.asked.session.as_deref(), result.join("session-1.toml").to_str());
}

#[test]
fn a_wrong_session_file_is_refused_with_its_line_before_a_server_starts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("study.toml"), STUDY).unwrap();
    fs::write(folder.join("petstore.jar"), "").unwrap();
    for (wrong, why) in [
        (
            SESSION.replace("contains = \"Shelf\"", "contain = \"Shelf\""),
            "line 5: unknown field `contain`; did you mean contains?",
        ),
        (SESSION.replace("/buy", "/buy/{item}"), "line 8: no earlier page takes `item`"),
        (SESSION.replace("contains = \"Shelf\"", "take.x = '(x'"), "line 5: `(x` is not a pattern"),
        (SESSION.replace("contains = \"Shelf\"", ""), "line 2: a page needs contains or take"),
    ] {
        fs::write(folder.join("shop.toml"), wrong).unwrap();
        let nowhere = "127.0.0.1:1".parse().unwrap();
        let output = toll(folder, nowhere, &["run", "study.toml", "--out", "results"]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(&format!("shop.toml, {why}")), "{error}");
    }
}

//! What a connection costs the server, in instructions: the same whether the client's key exchange is
//! fixed or fresh, and a sum of its parts. Time is too coarse to show it, so the server runs in
//! callgrind, which counts.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::process::{Command, Stdio};

use load::{Engine, Job, KeyExchangeMode, Load, OneIn, Operation, Plan, Url};
use openssl::pkey::PKey;
use openssl::rsa::Padding;
use support::{Serve, first_cpu, peer, run, text, toll_path};
use tempfile::TempDir;
use tls::{Group, OrPlain, Version};
use units::Nanos;

/// Connections that make the server do all that it does only once.
const FIRST: u64 = 2;
/// Operations that are counted at once. OpenSSL makes a new blinding for each 32 operations of an RSA
/// key, which no count is to include: the first ones and two counts are fewer.
const COUNTED: u64 = 14;
/// Two counts of the same differ by less: signatures and keys are random, and so are their lengths and
/// the paths through what computes them.
const TOLERANCE: f64 = 0.005;

#[test]
fn fixed_and_fresh_shares_cost_the_server_the_same_instructions() {
    let key = Key::new(&["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    let of_groups = [Group::X25519, Group::Secp256r1].map(|group| {
        let version = Some(OrPlain::Tls(Version::Tls13));
        let plan = Plan { tls: version, group: Some(group), ..Plan::default() };
        fixed_and_fresh(&key, &plan)
    });
    // Otherwise nothing would be shown: what is another key exchange counts otherwise.
    assert!((of_groups[0] / of_groups[1] - 1.0).abs() > 10.0 * TOLERANCE, "{of_groups:?}");
}

#[test]
fn a_premaster_secret_that_comes_again_costs_the_server_the_same_instructions() {
    let each = fixed_and_fresh(&Key::new(&["-newkey", "rsa:2048"]), &static_rsa());
    // Otherwise nothing would be shown: it is the decryption that counts.
    assert!(each > 1e6, "{each}");
}

#[test]
fn a_get_costs_the_same_with_each_key_and_a_larger_key_costs_its_decryption() {
    let parts = [2048, 4096].map(|bits| {
        let key = Key::new(&["-newkey", &format!("rsa:{bits}")]);
        let mut server = Counted::start(&key, &static_rsa());
        let handshake = server.each(Operation::Handshakes, KeyExchangeMode::Fixed);
        let with_get = server.each(Operation::OneRequestPerConnection, KeyExchangeMode::Fixed);
        let (get, decryption) = (with_get - handshake, key.decryption());
        eprintln!("RSA-{bits}: handshake {handshake:.0}, GET {get:.0}, decryption {decryption:.0}");
        [handshake, get, decryption]
    });
    let [handshake, get, decryption] = [0, 1, 2].map(|part| [parts[0][part], parts[1][part]]);
    assert!((get[1] / get[0] - 1.0).abs() < 0.05, "{get:?}");
    let larger = |[small, large]: [f64; 2]| large - small;
    assert!((larger(handshake) / larger(decryption) - 1.0).abs() < 0.1, "{parts:?}");
}

#[test]
fn a_handshake_of_openssl_costs_the_server_the_same_instructions() {
    for bits in [2048, 4096] {
        let key = Key::new(&["-newkey", &format!("rsa:{bits}")]);
        let mut server = Counted::start(&key, &static_rsa());
        let toll = server.each(Operation::Handshakes, KeyExchangeMode::Fixed);
        let openssl = server.each_of_s_client();
        eprintln!("RSA-{bits}: {toll:.0} instructions with toll, {openssl:.0} with s_client");
        assert!((openssl / toll - 1.0).abs() < TOLERANCE, "RSA-{bits}: {toll} and {openssl}");
    }
}

/// The key on the CPU, on an accelerator that is waited for asynchronously, and on one that answers at once.
#[test]
fn offload_costs_the_server_a_small_part_of_what_it_saves() {
    let key = Key::new(&["-newkey", "rsa:2048"]);
    let model = ["--accelerator", "model", "--accelerator-latency", "1us", "--offload"];
    let ways: [&[&str]; 3] =
        [&[], &[&model[..], &["asynchronous"]].concat(), &[&model[..], &["inline"]].concat()];
    let [software, asynchronous, inline] = ways.map(|options| {
        let mut server = Counted::start_with(&key, &static_rsa(), options);
        // Each load has one handshake whose premaster secret is new.
        server.more(Operation::Handshakes, KeyExchangeMode::Fixed)
    });
    eprintln!("software {software:.0}, asynchronous {asynchronous:.0}, inline {inline:.0}");
    assert!(inline < asynchronous && asynchronous < software);
    assert!(asynchronous - inline <= 0.1 * software);
}

/// Not a test: decrypts as often as the environment asks, in callgrind.
#[test]
#[ignore = "started by the test above, in callgrind"]
fn helper_that_decrypts() {
    let key = std::fs::read(std::env::var("TOLL_TEST_KEY").unwrap()).unwrap();
    let key = PKey::private_key_from_pem(&key).unwrap().rsa().unwrap();
    let (mut secret, mut back) = (vec![0; key.size() as usize], vec![0; key.size() as usize]);
    key.public_encrypt(&[3; 48], &mut secret, Padding::PKCS1).unwrap();
    let decryptions: u64 = std::env::var("TOLL_TEST_DECRYPTIONS").unwrap().parse().unwrap();
    for _ in 0..decryptions {
        assert_eq!(key.private_decrypt(&secret, &mut back, Padding::PKCS1).unwrap(), 48);
    }
}

fn static_rsa() -> Plan {
    Plan { suite: "AES128-SHA".parse().ok(), ..Plan::default() }
}

/// The server's instructions for each handshake, which are the same with a fixed key exchange and with
/// a fresh one.
#[track_caller]
fn fixed_and_fresh(key: &Key, plan: &Plan) -> f64 {
    let mut server = Counted::start(key, plan);
    let [fixed, fresh] = [KeyExchangeMode::Fixed, KeyExchangeMode::Fresh]
        .map(|mode| server.each(Operation::Handshakes, mode));
    let what = plan.group.map_or("static RSA".to_owned(), |group| group.to_string());
    eprintln!("{what}: {fixed:.0} instructions with a fixed exchange, {fresh:.0} with a fresh one");
    assert!((fixed / fresh - 1.0).abs() < TOLERANCE, "{what}: {fixed} and {fresh}");
    fresh
}

/// One key and its certificate for all that is compared: a key of its own would make a difference.
struct Key {
    folder: TempDir,
}

impl Key {
    /// As `openssl req` makes it with these options.
    fn new(options: &[&str]) -> Self {
        let key = Self { folder: tempfile::tempdir().unwrap() };
        let mut openssl = peer("openssl");
        openssl.args(["req", "-x509", "-nodes", "-subj", "/CN=localhost"]).args(options);
        openssl.args(["-out", &key.path("certificate.pem"), "-keyout", &key.path("key.pem")]);
        run(&mut openssl);
        key
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    /// The instructions of one decryption alone.
    fn decryption(&self) -> f64 {
        let count = |decryptions: u64| {
            let out = self.path("decryptions");
            let mut callgrind = callgrind(&out);
            callgrind.arg(std::env::current_exe().unwrap());
            callgrind.args(["--exact", "serve::instructions::helper_that_decrypts", "--ignored"]);
            callgrind.env("TOLL_TEST_KEY", self.path("key.pem"));
            callgrind.env("TOLL_TEST_DECRYPTIONS", decryptions.to_string());
            assert!(run(&mut callgrind).contains("1 passed"));
            instructions(&out)
        };
        (count(FIRST + COUNTED) - count(FIRST)) / COUNTED as f64
    }
}

/// A server in callgrind.
struct Counted {
    server: Serve,
    plan: Plan,
    /// callgrind's files, to which it adds the number of the dump.
    out: String,
    dumps: u32,
}

impl Counted {
    /// Started with that key, and done with all that only the first connections cost.
    fn start(key: &Key, plan: &Plan) -> Self {
        Self::start_with(key, plan, &[])
    }

    fn start_with(key: &Key, plan: &Plan, further: &[&str]) -> Self {
        let out = key.path("callgrind");
        let mut callgrind = callgrind(&out);
        callgrind.arg(toll_path());
        let (certificate, private) = (key.path("certificate.pem"), key.path("key.pem"));
        let cpu = first_cpu().to_string();
        let mut options = vec!["--certificate", &certificate, "--key", &private, "--cpus", &cpu];
        // What toll does not offer, other clients do.
        options.extend(["--tickets", "off", "--session-cache", "off", "--encrypt-then-mac", "off"]);
        options.extend(further);
        let server = Serve::start_by(callgrind, "127.0.0.1", &options);
        let plan = Plan {
            connections: 1,
            cpus: first_cpu(),
            verify: Some(OneIn(NonZeroU32::MIN)),
            timeout: Nanos(180_000_000_000),
            insecure: true,
            ..plan.clone()
        };
        let mut counted = Self { server, plan, out, dumps: 0 };
        let first = Plan { operation: Operation::OneRequestPerConnection, ..counted.plan.clone() };
        connect(counted.server.tls, first, FIRST);
        counted.dump();
        counted
    }

    /// The instructions of each connection.
    fn each(&mut self, operation: Operation, mode: KeyExchangeMode) -> f64 {
        let plan = Plan { operation, key_exchange: Some(mode), ..self.plan.clone() };
        connect(self.server.tls, plan, COUNTED);
        self.dump() / COUNTED as f64
    }

    /// The instructions of each further connection of a load.
    fn more(&mut self, operation: Operation, mode: KeyExchangeMode) -> f64 {
        let plan = Plan { operation, key_exchange: Some(mode), ..self.plan.clone() };
        let [few, many] = [FIRST, FIRST + COUNTED].map(|connections| {
            connect(self.server.tls, plan.clone(), connections);
            self.dump()
        });
        (many - few) / COUNTED as f64
    }

    /// The instructions of each connection of `openssl s_client`, an OpenSSL client that makes as many
    /// as it is started for; s_time does not.
    fn each_of_s_client(&mut self) -> f64 {
        for _ in 0..COUNTED {
            let mut client = peer("openssl");
            client.args(["s_client", "-connect", &self.server.tls.to_string()]);
            client.args(["-tls1_2", "-cipher", "AES128-SHA"]).stdin(Stdio::null());
            let said = text(&client.output().unwrap().stdout);
            assert!(said.contains("New, SSLv3, Cipher is AES128-SHA"), "{said}");
        }
        self.dump() / COUNTED as f64
    }

    /// The instructions since the last dump.
    fn dump(&mut self) -> f64 {
        self.dumps += 1;
        run(peer("vgdb").arg(format!("--pid={}", self.server.pid())).arg("dump"));
        instructions(&format!("{}.{}", self.out, self.dumps))
    }
}

/// callgrind, without the program to run in it.
fn callgrind(out: &str) -> Command {
    let mut callgrind = peer("valgrind");
    callgrind.args(["--tool=callgrind", "--quiet", &format!("--callgrind-out-file={out}")]);
    callgrind
}

/// All instructions of one of callgrind's files.
fn instructions(out: &str) -> f64 {
    let report = std::fs::read_to_string(out).unwrap();
    let summary = report.lines().find_map(|line| line.strip_prefix("summary: "));
    summary.and_then(|count| count.trim().parse().ok()).expect("callgrind reports a summary")
}

/// Makes connections with a full handshake each, one after another.
fn connect(address: SocketAddr, plan: Plan, connections: u64) {
    let (group, suite) = (plan.group, plan.only_suite());
    let job = Job::new(plan, Url::at(true, address, "/bytes/1B"), address);
    let outcome = Engine::start(Job { operations: Some(connections), ..job }).unwrap().join();
    assert_eq!(
        (outcome.completed, outcome.failures.total()),
        (connections, 0),
        "{:?}",
        outcome.failures
    );
    let [(negotiated, count)] = outcome.negotiated[..] else { panic!("{:?}", outcome.negotiated) };
    assert_eq!((negotiated.group, negotiated.resumed, count), (group, false, connections));
    assert!(suite.is_none_or(|suite| suite == negotiated.suite));
}

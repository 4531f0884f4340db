//! OpenSSL's own commands with the provider in their configuration.

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Killed, last_cpu, run, text, toll};
use targets::{AcceleratorCounts, SendCounters};
use tempfile::TempDir;

use super::study::library;

/// A configuration of OpenSSL with the provider, and a key.
struct Configured {
    folder: TempDir,
}

impl Configured {
    /// With further lines in the provider's section.
    fn new(settings: &str) -> Self {
        let configured = Self { folder: tempfile::tempdir().unwrap() };
        let text = format!(
            "openssl_conf = all\n\
             [all]\nproviders = providers\nalg_section = algorithms\n\
             [providers]\ndefault = default_provider\ntoll = toll_provider\n\
             [default_provider]\nactivate = 1\n\
             [toll_provider]\nmodule = {}\nactivate = 1\ncounters = {}\n{settings}\n\
             [algorithms]\ndefault_properties = ?provider=toll\n\
             [req]\ndistinguished_name = name\n[name]\n",
            library().display(),
            configured.path("counts").display(),
        );
        std::fs::write(configured.path("openssl.cnf"), text).unwrap();
        configured
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An OpenSSL command in the folder.
    fn openssl(&self, arguments: &str) -> Command {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(&self.folder);
        command.env("OPENSSL_CONF", self.path("openssl.cnf"));
        command
    }

    fn run(&self, arguments: &str) -> String {
        run(&mut self.openssl(arguments))
    }

    fn counts(&self) -> AcceleratorCounts {
        SendCounters::read(&self.path("counts")).unwrap().1.accelerator.unwrap_or_default()
    }
}

fn read(path: &Path) -> String {
    text(&std::fs::read(path).unwrap())
}

#[test]
fn the_provider_is_listed_as_active() {
    let said = Configured::new("").run("list -providers");
    assert!(said.contains("name: toll: private keys on an accelerator"), "{said}");
    assert!(said.contains("status: active"), "{said}");
}

#[test]
fn a_wrong_setting_is_named() {
    for (setting, why) in [
        ("accelerator-rate = 5", "accelerator-rate = 5: `5` is not a key with its rate"),
        ("accelerator-latency = 5", "accelerator-latency = 5: "),
        ("accelerator-queue = 0", "accelerator-queue = 0: "),
        ("accelerator = none", "accelerator = none needs no provider"),
        (
            "accelerator = multi-buffer\noffload = inline",
            "accelerator = multi-buffer waits for company and cannot be inline",
        ),
        (
            "offload = never",
            "offload = never: Matching variant not found; write asynchronous, synchronous or inline",
        ),
    ] {
        let output = Configured::new(setting).openssl("list -providers").output().unwrap();
        let said = text(&output.stderr);
        let line = format!("toll's OpenSSL provider: {why}");
        assert!(said.lines().any(|said| said.starts_with(&line)), "{said}");
    }
}

#[test]
fn pkeyutl_signs_verifies_and_decrypts() {
    let configured = Configured::new("");
    configured.run("genrsa -out key.pem 2048");
    configured.run("rsa -in key.pem -pubout -out public.pem");
    std::fs::write(configured.path("text"), "a text of toll's own").unwrap();
    for (name, options) in
        [("pkcs1", ""), ("pss", " -pkeyopt rsa_padding_mode:pss -pkeyopt rsa_pss_saltlen:digest")]
    {
        let options = format!("-rawin -digest sha256 -in text{options}");
        configured.run(&format!("pkeyutl -sign -inkey key.pem {options} -out {name}"));
        let verify = format!("pkeyutl -verify -pubin -inkey public.pem {options} -sigfile {name}");
        assert!(configured.run(&verify).contains("Verified Successfully"));
        // By OpenSSL without the provider too.
        let mut alone = configured.openssl(&verify);
        assert!(run(alone.env_remove("OPENSSL_CONF")).contains("Verified Successfully"));
    }
    for padding in ["pkcs1", "oaep"] {
        let padding = format!("-pkeyopt rsa_padding_mode:{padding}");
        configured.run(&format!(
            "pkeyutl -encrypt -pubin -inkey public.pem -in text -out secret {padding}"
        ));
        configured.run(&format!("pkeyutl -decrypt -inkey key.pem -in secret -out back {padding}"));
        assert_eq!(read(&configured.path("back")), "a text of toll's own");
    }
    // Only the padding of TLS is the accelerator's.
    assert_eq!(configured.counts(), AcceleratorCounts::default());
}

#[test]
fn speed_runs_and_asks_nothing_of_the_accelerator() {
    let configured = Configured::new("");
    for options in ["", " -async_jobs 4"] {
        let said = configured.run(&format!("speed -seconds 1{options} rsa1024"));
        assert!(said.lines().any(|line| line.starts_with("rsa 1024 bits")), "{said}");
    }
    assert_eq!(configured.counts(), AcceleratorCounts::default());
}

#[test]
fn s_server_has_its_handshakes_answered() {
    for (way, option) in [("synchronous", ""), ("asynchronous", " -async")] {
        let configured = Configured::new(&format!("offload = {way}"));
        configured.run(
            "req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem -out cert.pem",
        );
        let mut server = configured.openssl(&format!(
            "s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem -cipher AES128-SHA -tls1_2 -www{option}"
        ));
        let mut server = Killed::piped(&mut server);
        let line = server.first_line_with("ACCEPT ");
        let address = line.strip_prefix("ACCEPT ").unwrap();
        let mut load = toll();
        load.arg("load").arg(format!("https://{address}/"));
        load.args(["--insecure", "--suite", "AES128-SHA", "--operation", "handshakes"]);
        load.args(["--connections", "1", "--count", "4", "--warmup", "0s", "--json"]);
        load.args(["--cpus", &last_cpu().to_string()]);
        run(&mut load);
        let counts = configured.counts();
        // One is computed, and one more where the load looks at the server before it begins.
        assert!(counts.completed >= 3 && counts.computed >= 1, "{way}: {counts:?}");
        assert_eq!((counts.in_flight(), counts.refused, counts.in_flight_max), (0, 0, 1));
    }
}

//! Providers by name and path: what toll knows of them is that they are loaded.

use std::path::Path;

use support::toll;

use super::study::{RSA, library, line, refusal, study};

/// Of OpenSSL's own modules; it implements nothing that a handshake needs.
const LEGACY: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/ossl-modules/legacy.so",
    "/usr/lib/aarch64-linux-gnu/ossl-modules/legacy.so",
];

#[test]
fn handshakes_are_measured_with_any_provider() {
    let toll = format!("toll={}", library().display());
    let legacy = LEGACY.into_iter().find(|path| Path::new(path).exists());
    let legacy = legacy.map(|path| format!("legacy={path}"));
    for provider in [Some(toll), legacy].into_iter().flatten() {
        for (server, offload) in
            [("embedded", "asynchronous"), ("haproxy", "asynchronous"), ("nginx", "synchronous")]
        {
            let target = format!("provider = \"{provider}\"\noffload = \"{offload}\"");
            let line = line(&study(server, &target, RSA));
            assert!(line.valid && line.receipt.obtained.full > Some(0), "{server}: {line:?}");
            let asked = format!("provider {provider}, {offload}");
            assert_eq!(line.receipt.asked.accelerator, Some(asked));
            assert_eq!(line.receipt.obtained.accelerator, None);
        }
    }
}

#[test]
fn a_provider_that_cannot_be_used_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    let of = |path: &Path| format!("provider = \"qat={}\"", path.display());
    for server in ["embedded", "haproxy"] {
        let said = refusal(&study(server, &of(Path::new("/nowhere/qat.so")), RSA));
        assert!(said.contains("/nowhere/qat.so"), "{said}");
        refusal(&study(server, &of(&text), RSA));
        let said = refusal(&study(server, "provider = \"qat.so\"", RSA));
        assert!(said.contains("NAME=/PATH"), "{said}");
        let both = format!("{}\naccelerator = \"model\"", of(&library()));
        assert!(refusal(&study(server, &both, RSA)).contains("provider"));
        let inline = format!("{}\noffload = \"inline\"", of(&library()));
        assert!(refusal(&study(server, &inline, RSA)).contains("provider"));
    }
    let serve = ["serve", "--listen", "127.0.0.1:0", "--provider", "qat=/nowhere/qat.so"];
    let output = toll().args(serve).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = support::text(&output.stderr);
    assert!(said.contains("/nowhere/qat.so") && said.lines().count() == 1, "{said}");
}

/// As an asynchronous nginx is used: the command loads the provider, and toll looks whether it did.
#[test]
fn a_command_must_have_loaded_its_provider() {
    let library = library();
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("openssl.cnf");
    let text = format!(
        "openssl_conf = all\n[all]\nproviders = providers\n[providers]\ndefault = one\ntoll = two\n\
         [one]\nactivate = 1\n[two]\nmodule = {}\nactivate = 1\n",
        library.display()
    );
    std::fs::write(&configuration, text).unwrap();
    let server = "exec openssl s_server -quiet -www -accept {port} -cert {cert} -key {key}";
    let target = |environment: &str| {
        let provider = format!("toll={}", library.display());
        format!("command = \"{server}\"\nprovider = \"{provider}\"\n{environment}")
    };
    let load = "tls = \"1.3\"";
    let loaded = format!("environment = \"OPENSSL_CONF={}\"", configuration.display());
    let line = line(&study("command", &target(&loaded), load));
    assert!(line.receipt.obtained.full > Some(0), "{line:?}");
    let asked = format!("provider toll={}, asynchronous", library.display());
    assert_eq!(line.receipt.asked.accelerator, Some(asked));
    let said = refusal(&study("command", &target(""), load));
    assert!(said.contains("has not loaded the provider"), "{said}");
}

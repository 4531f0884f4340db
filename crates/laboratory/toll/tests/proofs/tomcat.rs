//! Studies of the pet store on Tomcat: what the receipt says of its cryptography.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use targets::{Aes, Crypto};
use tempfile::TempDir;
use trial::TrialRecord;

/// A study of the shop with these lines in its case, ready to run.
fn study(folder: &TempDir, case: &str) -> Command {
    let file = folder.path().join("study.toml");
    let text = format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"tomcat\"\nobject = \"16KiB\"\n\
         [load]\nconnections = 4\nsuite = \"TLS_RSA_WITH_AES_128_GCM_SHA256\"\nwarmup = \"300ms\"\n\
         duration = \"500ms\"\n[[case]]\nname = \"c\"\n{case}\n"
    );
    fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toll"));
    command.args(["run", "--quiet"]).arg(&file).arg("--out").arg(folder.path().join("results"));
    command
}

/// The text of a file in the result folder.
fn result(folder: &TempDir, output: &Output, file: &str) -> String {
    let text = fs::read_to_string(folder.path().join("results").join(file));
    text.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn journal(folder: &TempDir, output: &Output) -> Vec<TrialRecord> {
    let text = result(folder, output, "journal.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_receipt_says_what_encrypted_and_how() {
    let folder = tempfile::tempdir().unwrap();
    let case = "sweep.\"target.crypto\" = [\"jdk\", \"nss\"]\ntarget.aes = \"off\"";
    let output = study(&folder, case).output().unwrap();
    let lines = journal(&folder, &output);
    assert_eq!(lines.len(), 2, "{}", String::from_utf8_lossy(&output.stderr));
    for line in &lines {
        let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
        assert!(line.receipt.mismatch.is_empty(), "{:?}", line.receipt.mismatch);
        assert_eq!(asked.aes, Some(Aes::Off));
        let (provider, switch, off) = match asked.crypto {
            Some(Crypto::Jdk) => ("SunJCE", "UseAES", "false"),
            Some(Crypto::Nss) => ("SunPKCS11-NSS", "NSS_DISABLE_HW_AES", "1"),
            None => panic!("{asked:?}"),
        };
        assert_eq!(obtained.crypto["AES/GCM/NoPadding"], provider);
        assert_eq!(obtained.aes[switch], off);
        assert!(obtained.ns_per_byte.values().all(|ns| *ns > 0.0));
        let orders = obtained.orders.unwrap();
        assert_eq!((orders.before, orders.after), (0, 0));
    }
}

#[test]
fn a_dry_run_names_what_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let case = "sweep.\"target.aes\" = [\"on\", \"off\"]";
    let output = study(&folder, case).arg("--dry-run").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains(", AES instructions, ") && said.contains(", no AES instructions, "),
        "{said}"
    );
}

#[test]
fn three_users_who_walk_twenty_times_make_sixty_orders() {
    let folder = tempfile::tempdir().unwrap();
    let case = "load.operation = \"session\"\nload.session = \"petstore\"\nload.page = \"4KiB\"\n\
                load.connections = 3\nload.walks = 20\nload.warmup = \"0s\"";
    // jcmd is a Java program too, and has a file of its own.
    let options = format!("-Xlog:class+load:file={}/loaded-%p", folder.path().display());
    let output = study(&folder, case).env("JAVA_TOOL_OPTIONS", options).output().unwrap();
    let lines = journal(&folder, &output);
    let [line] = &lines[..] else { panic!("{}", String::from_utf8_lossy(&output.stderr)) };
    assert!(line.valid, "{line:?}");
    // The plan of a statement is a class. Each of the shop's 17 statements has one, also after 60 orders.
    let files = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.to_str().unwrap().contains("/loaded-"));
    let loaded: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(loaded.matches(" org.apache.derby.exe.").count(), 17);
    assert_eq!(line.operations.completed, 3 * 20 * 13);
    assert!(line.pages.len() == 13 && line.pages.iter().all(|page| page.completed == 60));
    assert_eq!(line.walks.map(|walks| (walks.completed, walks.failed)), Some((60, 0)));
    let orders = line.receipt.obtained.orders.unwrap();
    assert_eq!(orders.after - orders.before, 60);
}

#[test]
fn a_switch_without_effect_makes_the_trial_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let programs = java_without_switches(folder.path());
    let case = "sweep.\"target.crypto\" = [\"jdk\", \"nss\"]\ntarget.aes = \"off\"";
    let output = study(&folder, case).env("PATH", programs).output().unwrap();
    let lines = journal(&folder, &output);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines.len(), 2);
    for line in &lines {
        let mismatch: Vec<_> = line.receipt.mismatch.iter().map(ToString::to_string).collect();
        assert_eq!((line.valid, mismatch[0].starts_with("aes: ")), (false, true));
    }
}

/// A `PATH` that begins with a `java` that leaves out all flags which switch something off, and the
/// variables that do it for NSS.
fn java_without_switches(folder: &Path) -> String {
    let (source, programs) = (folder.join("source"), folder.join("programs"));
    let script = "#!/bin/bash\nfor word; do [[ $word == -XX:-* ]] || words+=(\"$word\"); done\n\
                  unset NSS_DISABLE_HW_AES NSS_DISABLE_PCLMUL\n\
                  PATH=${PATH#*:} exec java \"${words[@]}\"\n";
    fs::write(&source, script).unwrap();
    fs::create_dir(&programs).unwrap();
    // Another process writes the program, since a file that this one has open for writing while
    // another test forks is "busy" for exec.
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(source).arg(programs.join("java"));
    assert!(install.status().unwrap().success());
    format!("{}:{}", programs.display(), std::env::var("PATH").unwrap())
}

#[test]
fn without_the_jar_its_cells_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let output = study(&folder, "sweep.\"target.server\" = [\"embedded\", \"tomcat\"]")
        .env("TOLL_PETSTORE", "/nowhere/petstore.jar")
        .output()
        .unwrap();
    let targets = result(&folder, &output, "targets.json");
    let why = "(looked for /nowhere/petstore.jar); run make petstore";
    assert!(targets.contains(why), "{targets}");
    assert_eq!(journal(&folder, &output).len(), 1);
}

#[test]
fn without_java_one_line_names_its_package() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = study(&folder, "target.if-missing = \"fail\"");
    let output = study.env("PATH", "/nowhere").output().unwrap();
    let said = crate::errors(&output.stderr);
    assert!(!output.status.success() && said.lines().count() == 1, "{said}");
    assert!(said.contains("apt-get install openjdk-17-jdk-headless"), "{said}");
}

//! `make systems`, with an apt and a mirror that fail. No package is fetched.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::{Killed, text, until, write_program};

/// A clone of toll's that has only `scripts/system`, and a folder of programs that stand before this machine's.
struct Checkout(tempfile::TempDir);

/// apt, which "fetches" the one package that is there.
const APT: &str = "#!/bin/sh
for word; do case $word in Dir::State=*) part=${word#*=} ;; esac; done
case \" $* \" in
*' update '*)
    [ ! -e $STUB/fails ] || { echo 'E: Could not connect to mirror:80' && exit 100; }
    echo 'Date: Sat, 01 Jan 2028 00:00:00 UTC' > $part/lists/mirror_dists_trixie_InRelease
    echo 'Date: Sun, 02 Jan 2028 00:00:00 UTC' > $part/lists/mirror_dists_trixie-security_InRelease ;;
*' install '*) cp $STUB/package.deb $part/cache/archives/ ;;
*' show '*) echo 'Filename: package.deb' ;;
esac
";

/// dpkg-deb, which never ends where it is to be slow.
const DPKG: &str = "#!/bin/sh
[ ! -e $STUB/slow ] || { touch $STUB/begun && sleep 600; }
PATH=${PATH#*:} exec dpkg-deb \"$@\"
";

impl Checkout {
    /// `None` where this machine has not what is needed, which is said.
    fn new() -> Option<Self> {
        let keys = Path::new("/usr/share/keyrings/debian-archive-keyring.gpg");
        if !keys.exists() || Command::new("dpkg-deb").arg("--version").output().is_err() {
            println!("skipped: this machine has no keys of Debian, or no dpkg");
            return None;
        }
        let checkout = Self(tempfile::tempdir().unwrap());
        let tree = checkout.stub().join("tree");
        let base = tree.join("usr/share/base-passwd");
        for folder in [&checkout.path("scripts"), &tree.join("DEBIAN"), &tree.join("etc"), &base] {
            fs::create_dir_all(folder).unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/system");
        fs::copy(script, checkout.path("scripts/system")).unwrap();
        for name in ["passwd.master", "group.master"] {
            fs::write(base.join(name), "root:*:0:0::/root:/bin/sh\n").unwrap();
        }
        // More than the small disk holds, and a small package.
        fs::write(tree.join("usr/large"), vec![0; 8 << 20]).unwrap();
        let control =
            "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@x.org>\nDescription: x\n";
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        let package = checkout.stub().join("package.deb");
        support::run(Command::new("dpkg-deb").arg("--build").arg(tree).arg(package));
        for (name, program) in [("apt-get", APT), ("apt-cache", APT), ("dpkg-deb", DPKG)] {
            write_program(&checkout.stub().join(name), program);
        }
        Some(checkout)
    }

    fn path(&self, inner: &str) -> PathBuf {
        self.0.path().join(inner)
    }

    fn stub(&self) -> PathBuf {
        self.path("stub")
    }

    /// The script, after these words.
    fn script(&self, before: &[&str]) -> Command {
        let script = self.path("scripts/system");
        let words: Vec<&str> = before.iter().copied().chain([script.to_str().unwrap()]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("debian-13").env("STUB", self.stub());
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.stub().display()));
        command
    }

    fn make(&self, before: &[&str]) -> Output {
        self.script(before).output().unwrap()
    }

    fn mark(&self) -> Option<String> {
        fs::read_to_string(self.path("target/systems/debian-13/toll-system")).ok()
    }

    /// It ends with a line that has these words, and makes nothing.
    fn check_refusal(&self, output: &Output, code: i32, words: &str) {
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("system: ")).collect();
        assert!(lines.len() == 1 && lines[0].contains(words), "{said}");
        assert!(!self.path("target/systems/debian-13").exists());
    }

    /// Run again it makes the system, with the date of the newest part of the archive.
    fn check_makes(&self) {
        let output = self.make(&["sh"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let mark = self.mark().unwrap();
        assert!(mark.starts_with("debian-13\nSun, 02 Jan 2028 00:00:00 UTC\n"), "{mark}");
        let entries = fs::read_dir(self.path("target/systems")).unwrap();
        assert_eq!(entries.count(), 1);
        assert!(text(&self.make(&["sh"]).stdout).contains("is there"));
    }
}

/// CI passes without other releases where their mirror fails, and says so.
#[test]
fn a_mirror_that_does_not_answer_is_named_and_told_from_other_faults() {
    let Some(checkout) = Checkout::new() else { return };
    let fails = checkout.stub().join("fails");
    fs::write(&fails, "").unwrap();
    checkout.check_refusal(&checkout.make(&["sh"]), 75, ": E: Could not connect");
    fs::remove_file(fails).unwrap();
    checkout.check_makes();
}

#[test]
fn a_disk_that_is_full_is_named() {
    let Some(checkout) = Checkout::new() else { return };
    fs::create_dir_all(checkout.path("target/systems")).unwrap();
    let systems = checkout.path("target/systems").display().to_string();
    let mount = format!("mount -t tmpfs -o size=2m none {systems} || exit 77; exec sh \"$@\"");
    let before = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &mount, "sh"];
    let output = checkout.make(&before);
    if !matches!(output.status.code(), Some(1)) || text(&output.stderr).contains("unshare:") {
        return println!("skipped: no small disk can be made here: {}", text(&output.stderr));
    }
    checkout.check_refusal(&output, 1, "cannot be unpacked (0 free): tar: ");
    checkout.check_makes();
}

#[test]
fn what_is_stopped_on_its_way_leaves_no_system_and_another_start_makes_it() {
    let Some(checkout) = Checkout::new() else { return };
    let (slow, begun) = (checkout.stub().join("slow"), checkout.stub().join("begun"));
    fs::write(&slow, "").unwrap();
    for signal in ["-INT", "-KILL"] {
        let mut command = checkout.script(&["sh"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut making = Killed::start(&mut command);
        until("it unpacks", || begun.exists());
        checkout.check_refusal(&checkout.make(&["sh"]), 1, "is being made already");
        let group = format!("-{}", making.pid());
        support::run(Command::new("kill").args([signal, "--", &group]));
        making.exit_code();
        fs::remove_file(&begun).unwrap();
        assert!(!checkout.path("target/systems/debian-13").exists());
    }
    fs::remove_file(&slow).unwrap();
    checkout.check_makes();
}

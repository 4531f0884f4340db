//! Systems that are not whole, or not this machine's: each is refused in one line that says what makes it.

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use support::{Desk, text};

fn libraries(root: &Path) -> PathBuf {
    root.join(format!("usr/lib/{ARCH}-linux-gnu"))
}

/// A file of this machine that this process has mapped.
fn own(start: &str) -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    paths.find(|path| path.contains(start)).unwrap().into()
}

/// A system in the current folder of a desk that lacks nothing but a real nginx.
fn whole(desk: &Desk) -> PathBuf {
    let root = desk.path().join("target/systems/debian-99");
    for inner in ["usr/sbin", "etc"].map(|inner| root.join(inner)).iter().chain([&libraries(&root)])
    {
        fs::create_dir_all(inner).unwrap();
    }
    for library in [own("/libc.so"), own("/ld-linux")] {
        fs::copy(&library, libraries(&root).join(library.file_name().unwrap())).unwrap();
    }
    fs::copy("/bin/true", root.join("usr/sbin/nginx")).unwrap();
    fs::write(root.join("toll-system"), "debian-99\nSat, 1 Jan 2028\nnginx\n").unwrap();
    root
}

fn remove(path: &'static str) -> impl Fn(&Path) {
    move |root| fs::remove_file(root.join(path)).unwrap()
}

fn write(path: &'static str, text: &[u8]) -> impl Fn(&Path) {
    move |root| {
        let path = root.join(path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_system_that_is_not_whole_is_refused_in_a_line_and_nothing_of_it_is_used() {
    let of_another_architecture = |root: &Path| {
        fs::remove_dir_all(libraries(root)).unwrap();
        let theirs = root.join("usr/lib/another-linux-gnu");
        fs::create_dir_all(&theirs).unwrap();
        fs::write(theirs.join("ld-linux-another.so.1"), "").unwrap();
    };
    let without_libc = |root: &Path| {
        let file = libraries(root).join(own("/libc.so").file_name().unwrap());
        fs::remove_file(file).unwrap();
    };
    let cut = fs::read("/bin/true").unwrap()[..3000].to_owned();
    type Damage<'a> = (&'a str, &'a str, &'a dyn Fn(&Path));
    let damages: [Damage; 9] = [
        ("nginx", "half made", &remove("toll-system")),
        ("embedded", "half made", &remove("toll-system")),
        ("nginx", "half made", &write("toll-system", b"debi")),
        ("nginx", "is debian-98", &write("toll-system", b"debian-98\nSat, 1 Jan 2028\nnginx\n")),
        ("nginx", "another architecture", &of_another_architecture),
        ("embedded", "another architecture", &of_another_architecture),
        ("nginx", "has no nginx", &remove("usr/sbin/nginx")),
        ("nginx", "cannot load", &write("usr/sbin/nginx", &cut)),
        ("nginx", "lacks libc", &without_libc),
    ];
    for (server, expected, damage) in damages {
        for missing in ["skip", "fail"] {
            let desk = Desk::new(&format!(
                "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"{server}\"\nsystem = \
                 \"debian-99\"\nif-missing = \"{missing}\"\n[load]\nconnections = 1\nduration = \
                 \"100ms\"\n[[case]]\nname = \"c\"\n"
            ));
            damage(&whole(&desk));
            let output = desk.run(&["--quiet"]).current_dir(desk.path()).output().unwrap();
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{expected}: {said}");
            assert!(said.contains(expected), "{expected}: {said}");
            assert!(said.contains("make systems SYSTEMS=debian-99"), "{said}");
            assert!(missing == "skip" || said.lines().count() == 1, "{said}");
            assert!(desk.lines::<serde_json::Value>().is_empty());
        }
    }
}

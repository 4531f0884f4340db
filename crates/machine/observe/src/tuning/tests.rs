use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use super::*;

const REUSE: &str = "/proc/sys/net/ipv4/tcp_tw_reuse";
const RMEM: &str = "/proc/sys/net/ipv4/tcp_rmem";
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

/// A tree with three settings, and a folder for their record.
struct Desk {
    folder: tempfile::TempDir,
    root: Root,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path().join("root"));
        let desk = Self { folder, root };
        desk.write("/proc/sys/kernel/random/boot_id", "boot-1\n");
        desk.write(REUSE, "0\n");
        desk.write(RMEM, "4096\t131072\t212992\n");
        desk.write(GOVERNOR, "powersave\n");
        desk.be_in("net:[1]");
        desk
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.root.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn be_in(&self, namespace: &str) {
        let link = self.root.path("/proc/self/ns/net");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(namespace, link).unwrap();
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state/toll")
    }

    fn value(&self, file: &str) -> String {
        value(&self.root, file).unwrap()
    }

    fn values(&self) -> [String; 3] {
        [REUSE, RMEM, GOVERNOR].map(|file| self.value(file))
    }

    fn apply(&self, changes: &[Change]) -> Result<Vec<Made>, TuningError> {
        apply(&self.root, &self.state(), changes, &mut |_| {})
    }

    fn restore(&self) -> Result<Vec<Made>, TuningError> {
        restore(&self.root, &self.state())
    }

    fn record(&self) -> Option<Record> {
        Record::read(&self.state()).unwrap()
    }
}

const BEFORE: [&str; 3] = ["0", "4096 131072 212992", "powersave"];
const AFTER: [&str; 3] = ["1", "4096 131072 16777216", "performance"];

fn changes() -> Vec<Change> {
    [REUSE, RMEM, GOVERNOR]
        .into_iter()
        .zip(AFTER)
        .map(|(file, to)| Change { file: file.to_owned(), to: to.to_owned() })
        .collect()
}

#[test]
fn what_is_set_is_put_back_and_the_record_removed() {
    let desk = Desk::new();
    let made = desk.apply(&changes()).unwrap();
    assert_eq!(desk.values(), AFTER);
    let reported: Vec<_> = made.iter().map(|made| (made.from.as_str(), made.to.as_str())).collect();
    assert_eq!(reported, BEFORE.into_iter().zip(AFTER).collect::<Vec<_>>());
    assert!(made.iter().all(|made| made.refused.is_none()));
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(Record::path(&desk.state())), mode(desk.state())), (0o600, 0o700));
    assert_eq!(desk.restore().unwrap().len(), 3);
    assert_eq!(desk.values(), BEFORE);
    assert!(matches!(desk.restore(), Err(TuningError::NothingToRestore { .. })));
}

#[test]
fn what_is_set_twice_keeps_its_first_former_value() {
    let desk = Desk::new();
    desk.apply(&changes()[..1]).unwrap();
    let other = Change { file: REUSE.to_owned(), to: "2".to_owned() };
    desk.apply(&[other]).unwrap();
    desk.apply(&changes()[1..]).unwrap();
    assert_eq!(desk.value(REUSE), "2");
    desk.restore().unwrap();
    assert_eq!(desk.values(), BEFORE);
}

#[test]
fn what_has_the_value_already_is_not_set() {
    let desk = Desk::new();
    desk.write(REUSE, "1\n");
    assert_eq!(desk.apply(&changes()[..1]).unwrap(), []);
    assert_eq!(desk.record(), None);
}

#[test]
fn a_crash_between_two_settings_loses_no_former_value() {
    for settings_before_the_crash in 1..=3 {
        let desk = Desk::new();
        let mut made = 0;
        let crash = catch_unwind(AssertUnwindSafe(|| {
            // The first setting is reported after it was made.
            let mut report = |_: &Made| {
                made += 1;
                assert!(made < settings_before_the_crash, "a crash on purpose");
            };
            apply(&desk.root, &desk.state(), &changes(), &mut report)
        }));
        assert!(crash.is_err());
        assert_eq!(desk.record().unwrap().settings.len(), 3);
        desk.restore().unwrap();
        assert_eq!(desk.values(), BEFORE, "{settings_before_the_crash}");
        assert_eq!(desk.record(), None);
    }
}

#[test]
fn a_crash_before_the_record_is_whole_changes_nothing() {
    let desk = Desk::new();
    // The record cannot take its place: a folder is there.
    std::fs::create_dir_all(Record::path(&desk.state()).join("x")).unwrap();
    assert!(matches!(desk.apply(&changes()), Err(TuningError::Record { .. })));
    assert_eq!(desk.values(), BEFORE);
}

#[test]
fn a_setting_that_fails_is_reported_and_the_others_are_made() {
    let desk = Desk::new();
    let mut all = changes();
    all.push(Change { file: "/proc/sys/no/such".to_owned(), to: "1".to_owned() });
    // A folder in the place of a file takes no value.
    std::fs::remove_file(desk.root.path(GOVERNOR)).unwrap();
    std::fs::create_dir(desk.root.path(GOVERNOR)).unwrap();
    let made = desk.apply(&all).unwrap();
    let refused: Vec<_> = made.iter().filter(|made| made.refused.is_some()).collect();
    assert_eq!(refused.len(), 2, "{made:?}");
    assert_eq!(refused[1].file, "/proc/sys/no/such");
    assert_eq!((desk.value(REUSE), desk.value(RMEM)), (AFTER[0].into(), AFTER[1].into()));
    assert_eq!(desk.record().unwrap().settings.len(), 2);
    desk.restore().unwrap();
    assert_eq!((desk.value(REUSE), desk.value(RMEM)), (BEFORE[0].into(), BEFORE[1].into()));
}

#[test]
fn what_cannot_be_put_back_stays_in_the_record() {
    let desk = Desk::new();
    desk.apply(&changes()).unwrap();
    std::fs::remove_file(desk.root.path(GOVERNOR)).unwrap();
    std::fs::create_dir(desk.root.path(GOVERNOR)).unwrap();
    let made = desk.restore().unwrap();
    assert_eq!(made.iter().filter(|made| made.refused.is_some()).count(), 1);
    assert_eq!(desk.record().unwrap().settings[0].file, GOVERNOR);
    std::fs::remove_dir(desk.root.path(GOVERNOR)).unwrap();
    desk.write(GOVERNOR, "performance\n");
    desk.restore().unwrap();
    assert_eq!(desk.values(), BEFORE);
}

#[test]
fn another_boot_ends_the_settings_and_another_namespace_has_its_own() {
    let desk = Desk::new();
    desk.apply(&changes()).unwrap();
    desk.be_in("net:[2]");
    for refused in [desk.apply(&changes()), desk.restore()] {
        let error = refused.unwrap_err();
        assert!(matches!(error, TuningError::OtherNamespace { .. }), "{error}");
    }
    assert_eq!(desk.values(), AFTER);
    desk.write("/proc/sys/kernel/random/boot_id", "boot-2\n");
    assert!(matches!(desk.restore(), Err(TuningError::Rebooted)));
    assert_eq!((desk.values(), desk.record()), (AFTER.map(str::to_owned), None));
    // A record of an earlier boot is no reason not to begin a new one.
    desk.write(REUSE, "0\n");
    desk.apply(&changes()).unwrap();
    assert_eq!(desk.record().unwrap().settings.len(), 1);
}

#[test]
fn a_record_that_names_another_file_is_refused() {
    let desk = Desk::new();
    desk.apply(&changes()).unwrap();
    let path = Record::path(&desk.state());
    let text = std::fs::read_to_string(&path).unwrap();
    for other in ["/etc/passwd", "/proc/sys/../../etc/passwd"] {
        std::fs::write(&path, text.replace(REUSE, other)).unwrap();
        assert!(matches!(desk.restore(), Err(TuningError::Damaged { .. })));
    }
    std::fs::write(&path, &text[..30]).unwrap();
    assert!(matches!(desk.restore(), Err(TuningError::Damaged { .. })));
    assert_eq!(desk.values(), AFTER);
}

#[test]
fn two_at_once_do_not_mix_their_records() {
    let desk = Desk::new();
    let _held = record::lock(&desk.state()).unwrap();
    assert!(matches!(desk.apply(&changes()), Err(TuningError::Busy { .. })));
    assert_eq!(desk.values(), BEFORE);
}

//! Trees written by hand after the kernel: the formats and events of Intel's controllers are those of
//! arch/x86/events/intel/uncore_snbep.c (Sapphire Rapids) and uncore_snb.c, those of AMD's units of
//! arch/x86/events/amd/uncore.c with the events of tools/perf/pmu-events/arch/x86/amdzen3 and amdzen4;
//! resctrl's are of Documentation/filesystems/resctrl.rst.

use super::*;

const DEVICES: &str = "/sys/bus/event_source/devices";

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn root(&self) -> Root {
        Root::at(self.0.path())
    }

    fn set(&self, file: &str, text: &str) {
        let path = self.root().path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    /// A unit with files below its folder.
    fn unit(&self, name: &str, files: &[(&str, &str)]) {
        for (file, text) in files {
            self.set(&format!("{DEVICES}/{name}/{file}"), text);
        }
    }
}

fn sapphire_rapids(tree: &Tree, number: u32) {
    let files = [
        ("type", &*(100 + number).to_string()),
        ("cpumask", "0,56"),
        ("format/event", "config:0-7"),
        ("format/umask", "config:8-15"),
        ("events/clockticks", "event=0x01,umask=0x00"),
        ("events/cas_count_read", "event=0x05,umask=0xcf"),
        ("events/cas_count_read.scale", "6.103515625e-5"),
        ("events/cas_count_read.unit", "MiB"),
        ("events/cas_count_write", "event=0x05,umask=0xf0"),
        ("events/cas_count_write.scale", "6.103515625e-5"),
        ("events/cas_count_write.unit", "MiB"),
    ];
    tree.unit(&format!("uncore_imc_{number}"), &files);
}

fn counted(events: &[Event], counts: &[f64]) -> MemoryBytes {
    assert_eq!(events.len(), counts.len(), "{events:?}");
    sum(&events.iter().zip(counts.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn intels_controllers_count_lines_on_each_socket() {
    let tree = Tree::new();
    sapphire_rapids(&tree, 0);
    sapphire_rapids(&tree, 1);
    let (source, events) = controllers::find(&tree.root()).unwrap();
    assert_eq!(source, MemorySource::UncoreImc);
    let selected: Vec<_> = events.iter().map(|e| (e.kind, e.config, e.cpu, e.direction)).collect();
    let (read, write) = (Direction::Read, Direction::Write);
    assert_eq!(
        selected,
        [
            (100, 0xcf05, 0, read),
            (100, 0xcf05, 56, read),
            (100, 0xf005, 0, write),
            (100, 0xf005, 56, write),
            (101, 0xcf05, 0, read),
            (101, 0xcf05, 56, read),
            (101, 0xf005, 0, write),
            (101, 0xf005, 56, write),
        ]
    );
    // The scale is 64 / 2^20: a count is a line of 64 bytes.
    let bytes = counted(&events, &[1e9, 0.0, 5e8, 0.0, 1e9, 1.0, 5e8, 0.0]);
    let (read, written) = (64 * 2_000_000_001, 64_000_000_000);
    let expected = MemoryBytes { read: Some(read), written: Some(written), total: read + written };
    assert_eq!(bytes, expected);
}

#[test]
fn controllers_that_only_run_freely_are_read_so() {
    let tree = Tree::new();
    tree.unit(
        "uncore_imc_free_running_0",
        &[
            ("type", "30"),
            ("cpumask", "0"),
            ("format/event", "config:0-7"),
            ("format/umask", "config:8-15"),
            ("events/data_total", "event=0xff,umask=0x10"),
            ("events/data_read", "event=0xff,umask=0x20"),
            ("events/data_read.scale", "6.103515625e-5"),
            ("events/data_read.unit", "MiB"),
            ("events/data_write", "event=0xff,umask=0x30"),
            ("events/data_write.scale", "6.103515625e-5"),
            ("events/data_write.unit", "MiB"),
        ],
    );
    let (_, events) = controllers::find(&tree.root()).unwrap();
    assert_eq!(events.iter().map(|event| event.config).collect::<Vec<_>>(), [0x20ff, 0x30ff]);
    assert_eq!(counted(&events, &[10.0, 5.0]).total, 960);
    // Nothing is counted twice.
    sapphire_rapids(&tree, 0);
    let (_, events) = controllers::find(&tree.root()).unwrap();
    assert!(events.iter().all(|event| event.kind == 100), "{events:?}");
}

#[test]
fn amds_controllers_count_both_directions() {
    let tree = Tree::new();
    let format = [("format/event", "config:0-7"), ("format/rdwrmask", "config:8-9")];
    for (name, kind) in [("amd_umc_0", "40"), ("amd_umc_1", "41")] {
        tree.unit(name, &[("type", kind), ("cpumask", "0"), format[0], format[1]]);
    }
    let (source, events) = controllers::find(&tree.root()).unwrap();
    assert_eq!(source, MemorySource::AmdUmc);
    let configs: Vec<_> = events.iter().map(|event| (event.kind, event.config)).collect();
    assert_eq!(configs, [(40, 0x10a), (40, 0x20a), (41, 0x10a), (41, 0x20a)]);
    let bytes = counted(&events, &[3.0, 1.0, 2.0, 0.0]);
    assert_eq!(bytes, MemoryBytes { read: Some(320), written: Some(64), total: 384 });
}

#[test]
fn amds_fabric_does_not_tell_directions_apart() {
    let tree = Tree::new();
    let unit = |umask| {
        [
            ("type", "13"),
            ("cpumask", "0,64"),
            ("format/event", "config:0-7,32-35,59-60"),
            ("format/umask", umask),
        ]
    };
    tree.unit("amd_df", &unit("config:8-15"));
    let (source, events) = controllers::find(&tree.root()).unwrap();
    assert_eq!((source, events.len()), (MemorySource::AmdDf, 16));
    // Channel 4 is event 0x107, whose ninth bit is bit 32.
    assert_eq!(events[0].config, 0x3807);
    assert_eq!(events[8].config, 0x1_0000_3807);
    let bytes = counted(&events, &[1.0; 16]);
    assert_eq!(bytes, MemoryBytes { read: None, written: None, total: 1024 });
    // From Zen 4 on the field is wider, and the same numbers count something else.
    tree.unit("amd_df", &unit("config:8-15,24-27"));
    assert!(controllers::find(&tree.root()).unwrap_err().contains("amd_df"));
}

#[test]
fn a_value_that_does_not_fit_its_field_selects_nothing() {
    let tree = Tree::new();
    sapphire_rapids(&tree, 0);
    tree.unit("uncore_imc_0", &[("format/umask", "config:8-11")]);
    assert!(controllers::find(&tree.root()).is_err());
    tree.unit("uncore_imc_0", &[("format/umask", "config1:8-15")]);
    assert!(controllers::find(&tree.root()).is_err());
    sapphire_rapids(&tree, 0);
    tree.unit("uncore_imc_0", &[("events/cas_count_read.unit", "Lines")]);
    let (_, events) = controllers::find(&tree.root()).unwrap();
    assert!(events.iter().all(|event| event.direction == Direction::Write));
}

#[test]
fn events_that_took_turns_are_scaled_to_the_whole_time() {
    let values = |count: u64, enabled: u64, running: u64| {
        let bytes = [count, enabled, running].map(u64::to_ne_bytes).concat();
        of_whole_time(bytes.try_into().unwrap())
    };
    assert_eq!(values(500, 1000, 1000), 500.0);
    assert_eq!(values(500, 1000, 250), 2000.0);
    assert_eq!(values(0, 1000, 0), 0.0);
}

#[test]
fn resctrl_is_the_sum_over_caches() {
    let tree = Tree::new();
    let why = Resctrl::find(&tree.root()).unwrap_err();
    assert!(why.contains("not mounted"), "{why}");
    let domain = |number, bytes| {
        let folder = format!("/sys/fs/resctrl/mon_data/mon_L3_0{number}");
        tree.set(&format!("{folder}/mbm_total_bytes"), bytes);
        tree.set(&format!("{folder}/mbm_local_bytes"), "1");
    };
    domain(0, "3000000000");
    domain(1, "5");
    let resctrl = Resctrl::find(&tree.root()).unwrap();
    assert_eq!(resctrl.read().unwrap(), 3_000_000_005);
    domain(1, "Unavailable");
    let why = resctrl.read().unwrap_err().to_string();
    assert!(why.contains("mon_L3_01/mbm_total_bytes"), "{why}");
}

#[test]
fn what_is_not_there_has_a_reason_of_one_line() {
    match MemoryTraffic::open() {
        Ok(traffic) => {
            let first = traffic.read().unwrap().total;
            assert!(traffic.read().unwrap().total >= first);
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
}

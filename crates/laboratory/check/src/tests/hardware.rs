//! The settings of two processors and what accelerates them. The trees are written by hand after the
//! kernel's documentation: Documentation/admin-guide/pm (`intel_pstate.rst`, `intel_epb.rst`,
//! `amd-pstate.rst`, `cpuidle.rst`), Documentation/admin-guide/hw-vuln, and
//! Documentation/ABI/testing/sysfs-devices-system-cpu. Ids of devices are those of
//! drivers/crypto/intel/qat.

use std::os::unix::fs::FileExt;

use super::*;
use observe::machine::{Accelerators, Settings};

const INTEL_SERVER: &str = include_str!("intel_server.tree");
const AMD_SERVER: &str = include_str!("amd_server.tree");

/// Gives a register of CPU 0 a value.
fn set_register(tree: &Tree, register: u64, value: u64) {
    tree.set("/dev/cpu/0/msr", "");
    let msr = std::fs::File::options().write(true).open(tree.root().path("/dev/cpu/0/msr"));
    msr.unwrap().write_all_at(&value.to_le_bytes(), register).unwrap();
}

/// The settings in words, each in a line; what is not known as its reason.
fn settings_in_words(settings: &Settings) -> Vec<String> {
    let words = settings.in_words().into_iter().map(|(name, words)| match words {
        Fact::Known(words) => format!("{name}: {words}"),
        Fact::Unknown { not_available_here } => format!("{name} - {not_available_here}"),
    });
    words.collect()
}

#[test]
fn intels_settings_are_read_and_judged() {
    let tree = Tree::of(INTEL_SERVER);
    // The L1 prefetcher by instruction and that of adjacent lines are off.
    set_register(&tree, 0x1a4, 0b1010);
    let found = Settings::read(&tree.root(), 0);
    support::insta::assert_snapshot!(settings_in_words(&found).join("\n"));
    let states = found.idle_states.known().unwrap();
    let c6 = states.last().unwrap();
    assert_eq!((c6.is_allowed, c6.entered, c6.slept_us), (false, 400, 5_000_000));

    let measured = measured(&tree);
    support::assert_golden!(in_words(&tree, &measured));
    let cpu = "/sys/devices/system/cpu";
    let policy = assert_warning(&tree, &measured, "power-policy");
    let preference = "cpufreq/energy_performance_preference";
    let files = [0, 1].map(|n| format!("{cpu}/cpu{n}/{preference}=performance"));
    assert_eq!(settings(&policy), files);
    for n in [0, 1] {
        tree.set(&format!("{cpu}/cpu{n}/{preference}"), "performance");
    }
    let policy = assert_warning(&tree, &measured, "power-policy");
    let files = [0, 1].map(|n| format!("{cpu}/cpu{n}/power/energy_perf_bias=0"));
    assert_eq!(settings(&policy), files);

    assert_warning(&tree, &measured, "prefetchers");
    set_register(&tree, 0x1a4, 0);
    assert_ok(&tree, &measured, "prefetchers");
    assert_ok(&tree, &measured, "microcode");
    assert_warning(&tree, &measured, "mitigations");
    assert_ok(&tree, &measured, "idle-states");
    tree.set(&format!("{cpu}/cpu1/cpuidle/state3/disable"), "0");
    let idle = assert_warning(&tree, &measured, "idle-states");
    assert_eq!(settings(&idle), [format!("{cpu}/cpu1/cpuidle/state3/disable=1")]);
}

#[test]
fn amds_settings_are_read_and_judged() {
    let tree = Tree::of(AMD_SERVER);
    set_register(&tree, 0xc000_0108, 1 << 5);
    support::insta::assert_snapshot!(
        settings_in_words(&Settings::read(&tree.root(), 0)).join("\n")
    );
    let measured = measured(&tree);
    support::assert_golden!(in_words(&tree, &measured));
    assert_ok(&tree, &measured, "power-policy");
    assert_warning(&tree, &measured, "prefetchers");
    assert_warning(&tree, &measured, "mitigations");
    tree.set("/sys/devices/system/cpu/vulnerabilities/spec_rstack_overflow", "Vulnerable");
    assert_ok(&tree, &measured, "mitigations");
}

#[test]
fn a_virtual_machine_without_settings_says_why() {
    let tree = Tree::of(SMALL_VM);
    for words in settings_in_words(&Settings::read(&tree.root(), 0)) {
        assert!(words.contains(" - ") && words.lines().count() == 1, "{words}");
    }
    tree.set("/proc/cpuinfo", "vendor_id : GenuineIntel");
    let root = tree.root();
    let prefetchers = Settings::read(&root, 0).prefetchers;
    let Fact::Unknown { not_available_here: why } = prefetchers else { panic!("no register") };
    assert!(why.contains("/dev/cpu/0/msr"), "{why}");
}

#[test]
fn a_processor_that_follows_the_kernel_has_no_hardware_p_states() {
    let tree = Tree::of(INTEL_SERVER);
    let cpu = "sys/devices/system/cpu/cpu0/cpufreq";
    tree.remove(format!("{cpu}/energy_performance_preference"));
    assert_eq!(Settings::read(&tree.root(), 0).hardware_p_states, Fact::Known(false));
    tree.remove(format!("{cpu}/scaling_driver"));
    assert_eq!(Settings::read(&tree.root(), 0).hardware_p_states.known(), None);
}

#[test]
fn quickassist_devices_and_ifma_are_found() {
    let tree = Tree::of(INTEL_SERVER);
    for (slot, event) in [
        ("0000:00:1f.6", "DRIVER=igb\nPCI_CLASS=20000\nPCI_ID=8086:1539"),
        ("0000:01:00.0", "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:4940"),
        ("0000:6b:00.0", "DRIVER=4xxx\nPCI_CLASS=B4000\nPCI_ID=8086:4940"),
        ("0000:6b:00.1", "PCI_CLASS=B4000\nPCI_ID=8086:4941"),
        ("0000:70:00.0", "PCI_CLASS=B4000\nPCI_ID=8086:37C8"),
    ] {
        tree.set(&format!("/sys/bus/pci/devices/{slot}/uevent"), event);
    }
    let accelerators = Accelerators::read(&tree.root());
    let devices: Vec<_> = accelerators
        .quickassist
        .iter()
        .map(|one| (one.pci_id.as_str(), one.is_virtual_function, one.driver.as_deref()))
        .collect();
    let expected =
        [("8086:4940", false, Some("4xxx")), ("8086:4941", true, None), ("8086:37c8", false, None)];
    assert_eq!(devices, expected);
    let ifma = ["avx512ifma", "avx_ifma"].map(str::to_owned).to_vec();
    assert_eq!(accelerators.ifma, Fact::Known(ifma));

    let measured = measured(&tree);
    let idle = assert_warning(&tree, &measured, "accelerators");
    assert_eq!(command(&idle), "modprobe qat_c62x");
    tree.remove("sys/bus/pci/devices/0000:70:00.0");
    assert_eq!(item(&tree, &measured, "accelerators").judgement, Judgement::Ok);

    let amd = Tree::of(AMD_SERVER);
    assert_ok(&amd, &measured, "accelerators");
    amd.set("/proc/cpuinfo", "flags : aes");
    assert_not_available(&amd, &measured, "accelerators");
}

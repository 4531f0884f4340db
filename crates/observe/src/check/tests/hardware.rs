//! The settings of two processors and what accelerates them. The trees are written by hand after the
//! kernel's documentation: Documentation/admin-guide/pm (`intel_pstate.rst`, `intel_epb.rst`,
//! `amd-pstate.rst`, `cpuidle.rst`), Documentation/admin-guide/hw-vuln, and
//! Documentation/ABI/testing/sysfs-devices-system-cpu. Ids of devices are those of
//! drivers/crypto/intel/qat.

use std::os::unix::fs::FileExt;

use super::*;
use crate::machine::{Accelerators, Settings};

const INTEL_SERVER: &str = include_str!("intel_server.tree");
const AMD_SERVER: &str = include_str!("amd_server.tree");

/// Gives a register of CPU 0 a value.
fn set_register(tree: &Tree, register: u64, value: u64) {
    tree.set("/dev/cpu/0/msr", "");
    let msr = std::fs::File::options().write(true).open(tree.root().path("/dev/cpu/0/msr"));
    msr.unwrap().write_all_at(&value.to_le_bytes(), register).unwrap();
}

/// The settings in words, each in a line; what is not known as its reason.
fn in_words(settings: &Settings) -> Vec<String> {
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
    assert_eq!(
        in_words(&found),
        [
            "hyper-threading: on",
            "deepest idle state: C1E, 2 µs to leave",
            "frequency driver: intel_pstate",
            "frequency range: 800 to 3800 MHz",
            "hardware P-states: on",
            "energy preference: balance_performance",
            "turbo: on",
            "energy and performance bias: 6",
            "prefetchers: L2 stream on, L2 adjacent line off, L1 stream on, L1 by instruction off",
            "microcode: 0x2b000603",
            "mitigations: mds: Mitigation: Clear CPU buffers; SMT vulnerable; meltdown: Mitigation: \
             PTI; retbleed: Mitigation: Enhanced IBRS; spectre_v2: Mitigation: Enhanced / Automatic \
             IBRS; IBPB: conditional; RSB filling; vmscape: Vulnerable",
        ]
    );
    let states = found.idle_states.known().unwrap();
    let c6 = states.last().unwrap();
    assert_eq!((c6.is_allowed, c6.entered, c6.slept_us), (false, 400, 5_000_000));

    let measured = measured(&tree);
    let cpu = "/sys/devices/system/cpu";
    let seen = "the processor prefers balance_performance, its energy and performance bias is 6";
    let policy = assert_warning(&tree, &measured, "power-policy", seen);
    let preference = "cpufreq/energy_performance_preference";
    let files = [0, 1].map(|n| format!("{cpu}/cpu{n}/{preference}=performance"));
    assert_eq!(settings(&policy), files);
    for n in [0, 1] {
        tree.set(&format!("{cpu}/cpu{n}/{preference}"), "performance");
    }
    let seen = "the processor prefers performance, its energy and performance bias is 6";
    let policy = assert_warning(&tree, &measured, "power-policy", seen);
    let files = [0, 1].map(|n| format!("{cpu}/cpu{n}/power/energy_perf_bias=0"));
    assert_eq!(settings(&policy), files);

    let seen = "2 of 4 are off: L2 adjacent line, L1 by instruction";
    assert_warning(&tree, &measured, "prefetchers", seen);
    set_register(&tree, 0x1a4, 0);
    assert_ok(&tree, &measured, "prefetchers", "all 4 are on");
    assert_ok(&tree, &measured, "microcode", "revision 0x2b000603");
    let seen = "at each system call: mds (Clear CPU buffers; SMT vulnerable), meltdown (PTI); \
                vulnerable: vmscape";
    assert_warning(&tree, &measured, "mitigations", seen);
    assert_ok(&tree, &measured, "idle-states", "none takes more than 20 µs to leave");
    tree.set(&format!("{cpu}/cpu1/cpuidle/state3/disable"), "0");
    let seen = "C6 takes 190 µs to leave; CPUs entered it 801 times since the machine was started";
    let idle = assert_warning(&tree, &measured, "idle-states", seen);
    assert_eq!(settings(&idle), [format!("{cpu}/cpu1/cpuidle/state3/disable=1")]);
}

#[test]
fn amds_settings_are_read_and_judged() {
    let tree = Tree::of(AMD_SERVER);
    set_register(&tree, 0xc000_0108, 1 << 5);
    assert_eq!(
        in_words(&Settings::read(&tree.root(), 0)),
        [
            "hyper-threading: off",
            "deepest idle state: C2, 18 µs to leave",
            "frequency driver: amd-pstate-epp",
            "frequency range: 400 to 3700 MHz",
            "hardware P-states: on",
            "energy preference: performance",
            "turbo: on",
            "energy and performance bias - cannot read \
             /sys/devices/system/cpu/cpu0/power/energy_perf_bias: No such file or directory (os \
             error 2)",
            "prefetchers: L1 stream on, L1 stride on, L1 region on, L2 stream on, L2 up/down off",
            "microcode: 0xa10113e",
            "mitigations: spec_rstack_overflow: Mitigation: Safe RET; spectre_v2: Mitigation: \
             Enhanced / Automatic IBRS; IBPB: conditional; STIBP: always-on",
        ]
    );
    let measured = measured(&tree);
    assert_ok(&tree, &measured, "power-policy", "the processor prefers performance");
    assert_warning(&tree, &measured, "prefetchers", "1 of 5 are off: L2 up/down");
    let seen = "at each system call: spec_rstack_overflow (Safe RET)";
    assert_warning(&tree, &measured, "mitigations", seen);
    tree.set("/sys/devices/system/cpu/vulnerabilities/spec_rstack_overflow", "Vulnerable");
    let seen = "none works at each system call; vulnerable: spec_rstack_overflow";
    assert_ok(&tree, &measured, "mitigations", seen);
}

#[test]
fn a_virtual_machine_without_settings_says_why() {
    let tree = Tree::of(SMALL_VM);
    for words in in_words(&Settings::read(&tree.root(), 0)) {
        assert!(words.contains(" - ") && words.lines().count() == 1, "{words}");
    }
    tree.set("/proc/cpuinfo", "vendor_id : GenuineIntel");
    let root = tree.root();
    let prefetchers = Settings::read(&root, 0).prefetchers;
    let Fact::Unknown { not_available_here: why } = prefetchers else { panic!("no register") };
    assert!(why.starts_with("cannot read /dev/cpu/0/msr: No such file"), "{why}");
    assert!(why.ends_with("it needs root and the module `msr`"), "{why}");
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
    let seen = "QuickAssist 4xxx 8086:4940 at 0000:6b:00.0 (4xxx); QuickAssist 4xxx 8086:4941 at \
                0000:6b:00.1, a virtual function (no driver); QuickAssist c62x 8086:37c8 at \
                0000:70:00.0 (no driver); IFMA (avx512ifma, avx_ifma)";
    let idle = assert_warning(&tree, &measured, "accelerators", seen);
    assert_eq!(command(&idle), "modprobe qat_c62x");
    tree.remove("sys/bus/pci/devices/0000:70:00.0");
    assert_eq!(item(&tree, &measured, "accelerators").judgement, Judgement::Ok);

    let amd = Tree::of(AMD_SERVER);
    assert_ok(&amd, &measured, "accelerators", "IFMA (avx512ifma)");
    amd.set("/proc/cpuinfo", "flags : aes");
    assert_not_available(&amd, &measured, "accelerators", "no QuickAssist device");
}

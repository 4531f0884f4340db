//! The machine: a small virtual one.

use observe::Machine;
use serde_json::json;

pub(super) fn machine() -> Machine {
    let cpu = |cpu: usize| json!({"cpu": cpu, "core_hz": 2_293_525_378.0_f64});
    serde_json::from_value(json!({
        "processor": {
            "architecture": "x86_64", "model": "Intel(R) Xeon(R) Processor", "vendor": "GenuineIntel",
            "flags": ["ssse3", "aes", "pclmulqdq", "avx", "avx2", "bmi2", "adx", "sha_ni", "gfni", "vaes",
                "vpclmulqdq", "avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512ifma"],
            "hypervisor": "KVMKVMKVM", "online_cpus": 2, "kernel_siblings": ["0", "1"],
            "measured_siblings": [{"cpus": [0, 1], "throughput_ratio": 0.52, "share_a_core": true}],
            "caches": [{"name": "L1d", "bytes": 49152, "shared_by_cpus": "0"},
                {"name": "L2", "bytes": 2097152, "shared_by_cpus": "0"}],
            "frequency_governor": {"not_available_here": "cannot read /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: No such file or directory (os error 2)"},
            "frequencies": [cpu(0), cpu(1)], "tsc_hz": 2_000_014_810.0_f64
        },
        "memory": {"total_bytes": 25_276_502_016_u64, "numa_nodes": [{"node": 0, "cpus": "0-1"}]},
        "system": {"kernel_release": "6.18.44", "distribution": "Debian GNU/Linux 12 (bookworm)",
            "descriptors": {"soft": 20000, "hard": 20000}, "descriptors_of_root": 1_048_576},
        "network": {"tcp_congestion_control": "bbr", "tcp_rmem_bytes": [4096, 131_072, 33_554_432],
            "tcp_wmem_bytes": [4096, 16384, 4_194_304], "rmem_max_bytes": 4_194_304, "wmem_max_bytes": 4_194_304,
            "local_port_range": [32768, 60999], "somaxconn": 4096, "tcp_max_syn_backlog": 2048},
        "openssl": "OpenSSL 3.0.22 25 Aug 2026",
        "kernel_tls": "not available here: the kernel has no TLS layer (CONFIG_TLS), or its module `tls` is not loaded",
        "hardware_counters": "not available here: perf_event_open of cycles: No such file or directory (os error 2)"
    }))
    .unwrap()
}

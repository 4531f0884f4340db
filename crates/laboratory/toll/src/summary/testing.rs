//! A trial for the tests of a summary to change.

use load::Outcome;
use report::Style;
use trial::Measured;

use super::{Detail, of_trial};
use crate::screen::Screen;

/// A trial with what a test gives, all else as short as it may be.
pub(crate) fn line(change: impl FnOnce(&mut serde_json::Value)) -> Measured {
    let mut value = serde_json::json!({
        "schema": 1, "valid": true, "interrupted": false, "started_unix_ms": 0,
        "window_ns": 600_000_000,
        "operations": {"completed": 600, "in_flight": 64, "errors": {}, "first_errors": {}},
        "bytes": {"body": 629_145_600, "decrypted": 9_830_400, "unproven": 0},
        "rate_per_s": 1000.0, "goodput_bps": 8_388_608_000u64,
        "cpu_ns": {"server": 594_000_000, "client": 60_000_000,
                   "server_run_queue_wait": 0, "client_run_queue_wait": 0},
        "core_hz": {"before": null, "after": null},
        "latency_ns": {"p50": 310_000, "p90": 400_000, "p99": 1_500_000, "p99_9": 1_900_000,
                       "max": 2_000_000},
        "cpu_share": [],
        "receipt": {
            "asked": {"operation": "requests", "tls": "1.3", "connections": 64},
            "obtained": {"tls": {"1.3": 64}, "suite": {"TLS_AES_128_GCM_SHA256": 64},
                         "group": {"x25519": 64}, "certificate_key": {"rsa:2048": 64},
                         "full": 64, "resumed": 0},
            "mismatch": []
        },
        "verdict": {"limit": "server-cpu",
                    "evidence": {"completed": 600, "server_busy": 0.99, "client_busy": 0.1}},
        "warnings": []
    });
    change(&mut value);
    let line = serde_json::from_value(value).unwrap();
    Measured { line, outcome: Outcome::default() }
}

/// What a plain screen of this width shows.
pub(super) fn shown(measured: Measured, width: usize) -> String {
    let screen = Screen { width, style: Style::Plain, is_utf8: true };
    of_trial(&measured, Detail::Usual, screen)
}

/// All that there is, in lines as long as they need.
pub(super) fn verbose(measured: Measured) -> String {
    let screen = Screen { width: usize::MAX, style: Style::Plain, is_utf8: true };
    of_trial(&measured, Detail::Verbose, screen)
}

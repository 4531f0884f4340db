//! The journal's lines.

use journal::TrialLine;
use serde_json::{Value, json};
use trial::Limit;

use super::{GCM128, HOSTILE, INVALID, PLAIN, Spec, siblings};

const WINDOW_NS: f64 = 600e6;

pub(super) fn line(spec: &Spec, round: usize, order: usize) -> TrialLine {
    let server_busy = if spec.limit == Limit::ClientCpu { 0.62 } else { 0.986 };
    let server_ns = WINDOW_NS * server_busy;
    let of_one_core = spec.of_round(round);
    let is_valid = order != INVALID;
    let (completed, body, client_ns) = if spec.is_handshakes() {
        let completed = (of_one_core * server_ns / 1e9) as u64;
        (completed, 0, completed as f64 * spec.client)
    } else {
        let body = of_one_core * server_ns / 1e9 / 8.0;
        ((body / 1_048_576.0) as u64, body as u64, body * spec.client)
    };
    let client_busy = if spec.limit == Limit::ClientCpu { 0.934 } else { client_ns / WINDOW_NS };
    let latency = 64.0 * WINDOW_NS / completed as f64;
    let steps = |share: f64| json!([share, share, (share * 0.97), share, (share * 0.99), share]);
    let core = |cpu: usize, user: f64, system: f64, idle: f64| {
        json!({"cpu": cpu, "step_ns": [100_416_459, 100_416_459, 100_416_459, 100_416_459, 100_416_459, 97_917_705],
            "user": steps(user), "system": steps(system), "softirq": steps(0.06), "steal": steps(0.0), "idle": steps(idle)})
    };
    let is_tls = spec.value != PLAIN;
    let suite = if spec.is_handshakes() { GCM128.0 } else { spec.value.0 };
    let mut receipt = match is_tls {
        true => json!({
            "asked": {"tls": "1.3", "suite": suite, "group": "x25519", "certificate_key": "rsa:2048",
                "encrypt_then_mac": false, "resumption_percent": 0, "key_exchange": "fixed",
                "operation": "requests", "url": "https://127.0.0.1:48531/bytes/1MiB", "connections": 64,
                "receive": "walk", "verify": "1/64", "client_cpus": "1", "server_cpus": "0"},
            "obtained": {"tls": {"1.3": 64}, "suite": {suite: 64}, "group": {"x25519": 64},
                "signature_scheme": {"rsa_pss_rsae_sha256": 64}, "certificate_key": {"rsa:2048": 64},
                "encrypt_then_mac": false, "full": 64, "resumed": 0, "requests_per_connection": 5.203,
                "signatures_verified": 1, "bodies_walked": 327, "bodies_authenticated": 6, "bodies_compared": 6},
            "mismatch": []}),
        false => json!({
            "asked": {"tls": "none", "operation": "requests", "url": "http://127.0.0.1:42469/bytes/1MiB",
                "connections": 64, "verify": "1/64", "client_cpus": "1", "server_cpus": "0"},
            "obtained": {"bodies_compared": 41}, "mismatch": []}),
    };
    let mut errors = json!({});
    let mut first_errors = json!({});
    if !is_valid {
        receipt["mismatch"] = json!([{"what": "suite", "asked": suite, "obtained": format!("{HOSTILE} in 3 handshakes")}]);
        errors = json!({"alert": 3});
        first_errors = json!({"alert": HOSTILE});
    }
    let warnings: Value = serde_json::to_value([siblings()]).unwrap();
    serde_json::from_value(json!({
        "schema": 1, "case": spec.case, "cell": spec.name(), "params": spec.params(), "role": "measure",
        "round": round, "order": order, "valid": is_valid, "interrupted": false,
        "started_unix_ms": 1_795_296_801_103_u64 + 900 * order as u64, "window_ns": WINDOW_NS as u64,
        "operations": {"completed": completed, "in_flight": 64, "errors": errors, "first_errors": first_errors},
        "bytes": {"body": body, "decrypted": body / 64, "unproven": 0},
        "rate_per_s": completed as f64 / 0.6, "goodput_bps": (body as f64 * 8.0 / 0.6) as u64,
        "cpu_ns": {"server": server_ns as u64, "client": client_ns as u64,
            "server_run_queue_wait": 7_184_341, "client_run_queue_wait": 8_891_605},
        "core_hz": {"before": 2_277_943_667_u64, "after": 2_260_929_949_u64},
        "latency_ns": {"connect_p50": 309_247, "p50": latency as u64, "p90": (latency * 1.1) as u64,
            "p99": (latency * 1.4) as u64, "max": (latency * 1.6) as u64},
        "cpu_share": [core(0, 0.3, 0.62, 1.0 - server_busy), core(1, 0.1, 0.2, 1.0 - client_busy)],
        "receipt": receipt,
        "verdict": {"limit": spec.limit.to_string(), "evidence": {"completed": completed, "failed": 0,
            "failed_share": 0.0, "listen_overflows": 0, "accept_queue_loss": 0.0, "client_busy": client_busy,
            "client_waiting": 0.0148, "server_busy": server_busy, "server_waiting": 0.012,
            "server_cpus_idle": 0.004, "steal": 0.0, "foreign": -0.0039}},
        "warnings": warnings
    }))
    .unwrap()
}

//! The modelled device under servers that are not toll's, and by events.

use targets::AcceleratorCounts;

use super::study::{RSA, line, refusal, study, used};

const MODEL: &str = "accelerator = \"model\"";

/// Handshakes that the device completed: that it was asked for as these words say, and whether several
/// operations were under way at once.
#[track_caller]
fn completes(server: &str, target: &str, asked: &str, has_several: bool) {
    let line = line(&study(server, &format!("{MODEL}\n{target}"), RSA));
    assert_eq!(line.receipt.mismatch, [], "{line:?}");
    let counts = used(&line).counts;
    assert!(counts.completed as f64 >= 0.99 * line.receipt.obtained.full.unwrap() as f64);
    assert!(counts.completed > 0 && counts.in_flight() == 0, "{counts:?}");
    assert_eq!((counts.timed_out, counts.refused), (0, 0), "{counts:?}");
    assert_eq!(counts.in_flight_max > 1, has_several, "{counts:?}");
    let said = line.receipt.asked.accelerator.unwrap();
    assert!(said.starts_with(asked), "{said}");
}

#[test]
fn haproxy_serves_others_while_the_device_works() {
    let slow = "offload = \"asynchronous\"\naccelerator-latency = \"5ms\"";
    completes("haproxy", slow, "model, asynchronous by events, rsa:2048 40000/s", true);
}

#[test]
fn haproxy_waits_for_the_device_or_has_the_answer_at_once() {
    let slow = "offload = \"synchronous\"\naccelerator-latency = \"5ms\"";
    completes("haproxy", slow, "model, synchronous, rsa:2048 40000/s", false);
    completes("haproxy", "offload = \"inline\"", "model, inline", false);
}

#[test]
fn the_embedded_server_is_woken_by_events() {
    let events = "accelerator-completion = \"event\"\naccelerator-latency = \"5ms\"";
    completes("embedded", events, "model, asynchronous by events, rsa:2048 40000/s", true);
}

#[test]
fn nginx_waits_for_the_device_and_never_pauses() {
    let slow = "offload = \"synchronous\"\naccelerator-latency = \"5ms\"";
    completes("nginx", slow, "model, synchronous, rsa:2048 40000/s", false);
    let said = refusal(&study("nginx", MODEL, RSA));
    assert!(said.contains("nginx never"), "{said}");
}

#[test]
fn a_handshake_under_haproxy_that_the_device_did_not_complete_is_a_mismatch() {
    let slow =
        "accelerator = \"model\"\naccelerator-rate = \"rsa:2048 10/s\"\naccelerator-queue = 1";
    let fresh = "suite = \"AES128-SHA\"\nkey-exchange = \"fresh\"";
    let ecdhe = "suite = \"ECDHE-RSA-AES128-GCM-SHA256\"";
    let tls13 = "tls = \"1.3\"";
    for (target, load, which) in [
        (MODEL, fresh, "computed"),
        (slow, RSA, "refused"),
        (MODEL, ecdhe, "signed"),
        (MODEL, tls13, "signed with PSS"),
    ] {
        let line = line(&study("haproxy", target, load));
        let said = line.why_invalid().unwrap_or_else(|| panic!("{which}: {line:?}"));
        assert!(said.contains("accelerator: "), "{said}");
        // Only the device is missing; the handshakes are what was asked.
        assert!(line.receipt.mismatch.len() == 1 && line.receipt.obtained.full > Some(0));
        let AcceleratorCounts { completed, computed, refused, .. } = used(&line).counts;
        match which {
            "computed" => assert!(computed > 10 && completed < computed, "{line:?}"),
            "refused" => assert!(refused > completed, "{line:?}"),
            _ => assert_eq!((computed, completed, refused), (0, 0, 0), "{line:?}"),
        }
    }
}

#[test]
fn haproxy_cannot_poll() {
    let said =
        refusal(&study("haproxy", &format!("{MODEL}\naccelerator-completion = \"poll\""), RSA));
    assert!(said.contains("write event"), "{said}");
    let waits = format!("{MODEL}\noffload = \"synchronous\"\naccelerator-completion = \"event\"");
    let said = refusal(&study("haproxy", &waits, RSA));
    assert!(said.contains("handshake"), "{said}");
}

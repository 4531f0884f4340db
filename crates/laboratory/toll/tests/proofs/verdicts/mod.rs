//! Each verdict of `toll load`, provoked for real, and receipts made false from outside.
//!
//! Where other work on the machine may rightly change what limited a trial, the evidence is judged
//! and not the limit alone.

mod accelerator;
mod bench;
mod congestion;
mod connections;
mod cpu;
pub(crate) mod cpu_quota;
mod cpu_time;
mod flow_control;
mod handshakes;
mod littles_law;
mod network;
mod receipts;
mod secure;
mod stub;
mod udp_buffers;

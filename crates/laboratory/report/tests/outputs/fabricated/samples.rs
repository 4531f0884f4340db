//! Profiles of the cells: shares by class, the trials that they were sampled in, and their stacks.

use std::sync::Arc;

use journal::{Role, TrialLine};
use observe::Fact;
use profile::{Class, Event, Futexes, Profile};

use super::{Fabricated, HOSTILE};

/// In thousandths; each is a stack of its own.
const CLASSES: [(Class, u64); 12] = [
    (Class::SymmetricCrypto, 380),
    (Class::Hashing, 14),
    (Class::TlsLibrary, 26),
    (Class::HttpServer, 60),
    (Class::SystemCallEntry, 30),
    (Class::Copies, 210),
    (Class::TcpIp, 120),
    (Class::SoftirqAndDriver, 30),
    (Class::Loopback, 70),
    (Class::PageCache, 16),
    (Class::MemoryManagement, 24),
    (Class::Scheduler, 20),
];

pub const SAMPLES: u64 = 10_000;

/// The cells of a run with a profile each.
pub fn sampled(mut run: Fabricated) -> Fabricated {
    for cell in &mut run.analysis.cells {
        let mut stacks: String = CLASSES
            .iter()
            .map(|(class, share)| format!("nginx;main;work;{} {}\n", class.words(), share * 10))
            .collect();
        stacks = stacks.replacen("main", HOSTILE, 1);
        run.stacks.push((cell.name.clone(), stacks));
        let measured = run.lines.iter().find(|trial| trial.place.cell == cell.name).unwrap();
        let sampled = in_trial(measured);
        Arc::make_mut(cell).profiles.extend(sampled.line.profile.clone());
        run.lines.push(sampled);
    }
    run
}

/// A trial of the same cell, with its samples.
fn in_trial(measured: &TrialLine) -> TrialLine {
    let mut trial = measured.clone();
    (trial.place.role, trial.place.order) = (Role::Profile, trial.place.order + 1_000);
    trial.line.valid = true;
    trial.line.profile = Some(Profile {
        event: Event::CpuClock,
        frequency_hz: profile::FREQUENCY,
        server: CLASSES.map(|(class, share)| (class, share * 10)).into(),
        kernel_threads: [("ksoftirqd".to_owned(), 400)].into(),
        idle: 0,
        foreign: 0,
        lost: 0,
        lacks_frame_pointers: false,
        futexes: Fact::Known(Futexes { calls: 1, operations: 4 }),
    });
    trial
}

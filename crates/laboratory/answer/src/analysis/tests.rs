//! What a run found, from studies and journals made by hand.

mod accelerator;
mod bills;
pub(crate) mod ciphers;
mod cross_checks;
mod decisions;
mod doubts;
mod gates;
mod hit_rates;
mod json;
mod offered;
mod predictions;
mod profiles;
mod projections;
mod properties;
mod purity;
mod ranks;
pub(crate) mod scene;
mod selection;
mod several;
mod users;
mod written;

use study::Metric;
use study::testing::server;
use trial::Limit;

use scene::{CBC, CHACHA, EIGHT, GCM, Scene};

const NONE: &str = "none";
const SUITE: &str = "load.suite";

/// nginx over plain HTTP and with three suites, measured in eight rounds.
fn bulk(metric: Metric, baseline: &str) -> Scene {
    let mut scene = Scene::suites(&[server("nginx")], &[NONE, GCM, CHACHA, CBC])
        .answer(metric, SUITE, baseline);
    scene.measure(0, 40e9, &EIGHT);
    scene.measure(1, 8.5e9, &EIGHT);
    scene.measure(2, 4.7e9, &[1.0, 0.98, 1.01, 0.99, 1.02, 0.99, 1.01, 1.0]);
    scene.measure(3, 2.2e9, &[1.0, 0.98, 1.01, 0.99, 1.02, 0.99, 1.01, 1.0]);
    scene
}

fn limit(scene: &mut Scene, cell: usize, round: u32, limit: Limit) {
    let line = scene.trial(cell, round);
    line.verdict_mut().limit = limit;
    line.verdict_mut().evidence.client_busy = Some(0.99);
}

impl super::Analysis {
    /// What is shown of it, without what all cells did, which is of no answer.
    fn answered(&self) -> crate::findings::Findings {
        let mut findings = self.findings();
        findings.answers.retain(|answer| answer.title != "Rates and latencies");
        findings
    }
}

//! Loads one URL for a few seconds, in any pattern, and prints what came of it.
//!
//! ```text
//! cargo run --release -p load --example load_url -- URL [ARRIVAL [CONNECTIONS [OPERATION [RESUMPTION]]]]
//! cargo run --release -p load --example load_url -- https://127.0.0.1:8443/bytes/1MiB "paced 2s" 5000
//! ```

use std::error::Error;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use load::{Arrival, Engine, Job, Load, Operation, Plan, Url};
use units::{BitsPerSecond, Nanos, PerSecond};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().ok_or("give a URL")?.parse()?;
    let mut plan = Plan {
        arrival: arguments.next().map_or(Ok(Arrival::CLOSED), |text| text.parse())?,
        connections: arguments.next().map_or(Ok(64), |text| text.parse())?,
        operation: arguments
            .next()
            .map_or(Ok(Operation::Requests), |text| Operation::from_str(&text, false))?,
        cpus: cpus::CpuList::from(1),
        // Long enough to open some thousand connections.
        warmup: Some(Nanos(5_000_000_000)),
        duration: Nanos(4_000_000_000),
        timeout: Nanos(5_000_000_000),
        ..Plan::default()
    };
    if let Some(text) = arguments.next() {
        plan.resumption = text.parse()?;
    }
    plan.insecure = true;
    let address = url.address(false)?;
    let job = Job::new(plan, url, address);
    load::probe(&job, &AtomicBool::new(false))?;
    let outcome = Engine::start(job)?.join();
    let seconds = outcome.window.seconds();
    println!("{}", PerSecond(outcome.completed as f64 / seconds));
    println!("{}", BitsPerSecond(outcome.bytes.body as f64 * 8.0 / seconds));
    println!("{:?} {:?} in flight {}", outcome.bytes, outcome.verified, outcome.in_flight);
    println!("{:?}", outcome.arrivals);
    for (name, latencies) in [
        ("from the intended start", &outcome.latencies.whole),
        ("from the real start", &outcome.latencies.service),
    ] {
        let [p50, p99] = [0.5, 0.99].map(|q| Nanos(latencies.value_at_quantile(q)));
        println!("{name}: p50 {p50}, p99 {p99}, {} in all", latencies.len());
    }
    for (kind, count, first) in outcome.failures.iter() {
        println!("{count} {kind}: {first}");
    }
    for (negotiated, count) in outcome.negotiated {
        println!("{count} {negotiated:?}");
    }
    Ok(())
}

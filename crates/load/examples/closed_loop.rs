//! Loads one URL with 64 connections for two seconds and prints what came of it.
//!
//! ```text
//! cargo run --release -p load --example closed_loop -- https://127.0.0.1:8443/bytes/1MiB [SUITE] [OPERATION]
//! ```

use std::error::Error;
use std::num::NonZeroU32;

use load::{Engine, OneIn, Operation, Plan, Receive, Stop, TlsPlan, Trust, Url};
use units::{BitsPerSecond, Nanos, PerSecond};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().ok_or("give a URL")?.parse()?;
    let mut tls = TlsPlan { trust: Trust::Anyone, ..TlsPlan::any() };
    if url.is_tls() {
        tls.suite = arguments.next().map(|name| tls::Suite::parse(&name)).transpose()?;
    }
    let plan = Plan {
        address: url.resolve()?,
        url,
        tls,
        operation: arguments.next().map_or(Ok(Operation::Requests), |name| name.parse())?,
        connections: 64,
        cpus: cpus::CpuList::from(1),
        stop: Stop::After { warmup: Nanos(200_000_000), duration: Nanos(2_000_000_000) },
        receive: Receive::Walk,
        verify: OneIn(NonZeroU32::new(64).ok_or("64 is not 0")?),
        timeout: Nanos(5_000_000_000),
    };
    load::probe(&plan)?;
    let outcome = Engine::start(plan)?.join();
    let seconds = outcome.window.seconds();
    println!("{}", PerSecond(outcome.completed as f64 / seconds));
    println!("{}", BitsPerSecond(outcome.bytes.body as f64 * 8.0 / seconds));
    println!("{:?} {:?} in flight {}", outcome.bytes, outcome.verified, outcome.in_flight);
    for (kind, count, first) in outcome.failures.iter() {
        println!("{count} {kind}: {first}");
    }
    for (negotiated, count) in outcome.negotiated {
        println!("{count} {negotiated:?}");
    }
    Ok(())
}

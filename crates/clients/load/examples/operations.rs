//! So many operations of a load, with the flags of `toll load`: short enough for callgrind, which
//! scripts/bench-client-instructions runs it in.
//!
//! ```text
//! cargo run --release -p load --example operations -- URL --count 320 [FLAGS]
//! ```

use std::error::Error;

use clap::Parser;
use cpus::CpuList;
use load::{Engine, Job, Load, Plan, Url};

#[derive(Parser)]
struct Arguments {
    url: Url,
    #[command(flatten)]
    plan: Plan,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { url, plan } = Arguments::parse();
    let operations = plan.operations().ok_or("give --count")?;
    let last = CpuList::allowed()?.as_slice().last().copied().ok_or("no CPU")?;
    let plan = Plan { cpus: last.into(), ..plan };
    let address = url.address(false)?;
    let job = Job { operations: Some(operations.get().into()), ..Job::new(plan, url, address) };
    let outcome = Engine::start(job)?.join();
    match outcome.failures.iter().next() {
        Some((kind, count, first)) => Err(format!("{count} {kind}: {first}").into()),
        None if outcome.completed != u64::from(operations.get()) => {
            Err(format!("{} operations completed", outcome.completed).into())
        }
        None => Ok(()),
    }
}

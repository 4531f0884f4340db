//! Prints what toll knows of this machine, as in `machine.json`.

use cpus::CpuList;
use observe::Machine;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = Machine::read(&CpuList::allowed()?);
    println!("{}", serde_json::to_string_pretty(&machine)?);
    Ok(())
}

//! The counters of memory controllers, as the kernel describes them in `/sys/bus/event_source/devices`
//! (Documentation/ABI/testing/sysfs-bus-event_source-devices-events and -format).

use cpus::CpuList;

use super::source::MemorySource;
use crate::root::Root;

const FOLDER: &str = "/sys/bus/event_source/devices";

/// One event of one unit, counted on one CPU for all that the unit serves.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) kind: u32,
    pub(super) config: u64,
    pub(super) cpu: usize,
    /// What a count stands for.
    pub(super) bytes: f64,
    pub(super) direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
    Both,
}

/// A cache line: what AMD's events count (tools/perf/pmu-events/arch/x86/amdzen*).
const LINE: f64 = 64.0;

/// The events that together count all that moves.
pub(super) fn find(root: &Root) -> Result<(MemorySource, Vec<Event>), String> {
    let units = root.names(FOLDER);
    let of = |prefix: &str| -> Vec<String> {
        units.iter().filter(|name| name.starts_with(prefix)).cloned().collect()
    };
    let imc = intel(root, &of("uncore_imc"));
    if !imc.is_empty() {
        return Ok((MemorySource::UncoreImc, imc));
    }
    let umc: Vec<Event> = of("amd_umc").iter().flat_map(|unit| amd_umc(root, unit)).collect();
    if !umc.is_empty() {
        return Ok((MemorySource::AmdUmc, umc));
    }
    let df: Vec<Event> = of("amd_df").iter().flat_map(|unit| amd_df(root, unit)).collect();
    match df.is_empty() {
        true => Err("the kernel shows no counters of memory controllers (uncore_imc, amd_umc, or \
                     amd_df before Zen 4)"
            .to_owned()),
        false => Ok((MemorySource::AmdDf, df)),
    }
}

/// The kernel names Intel's events, and gives the scale of each. Where controllers have both counters
/// that are set to an event and counters that run always, the former are taken.
fn intel(root: &Root, units: &[String]) -> Vec<Event> {
    let (free, set): (Vec<_>, Vec<_>) =
        units.iter().partition(|unit| unit.contains("free_running"));
    let events = |units: &[&String]| -> Vec<Event> {
        units.iter().flat_map(|unit| named_events(root, unit)).collect()
    };
    Some(events(&set)).filter(|events| !events.is_empty()).unwrap_or_else(|| events(&free))
}

fn named_events(root: &Root, unit: &str) -> Vec<Event> {
    let folder = format!("{FOLDER}/{unit}/events");
    let mut events = Vec::new();
    for name in root.names(&folder) {
        let direction = match name.as_str() {
            name if name.contains('.') => continue,
            name if name.starts_with("cas_count_read") => Direction::Read,
            name if name.starts_with("cas_count_write") => Direction::Write,
            "data_read" | "data_reads" | "read" => Direction::Read,
            "data_write" | "data_writes" | "write" => Direction::Write,
            _ => continue,
        };
        let file = format!("{folder}/{name}");
        let bytes = bytes(root, &file);
        let terms = root.line(&file).known().and_then(|terms| config(root, unit, terms));
        if let (Some(bytes), Some(config)) = (bytes, terms) {
            events.extend(on_each_cpu(root, unit, config, bytes, direction));
        }
    }
    events
}

/// What a count of an event stands for, by its files `.scale` and `.unit`.
fn bytes(root: &Root, event: &str) -> Option<f64> {
    let scale: f64 = *root.number(&format!("{event}.scale")).known()?;
    let factor = match root.line(&format!("{event}.unit")).known()?.as_str() {
        "Bytes" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        _ => return None,
    };
    Some(scale * factor)
}

/// `umc_cas_cmd.rd` and `.wr`.
fn amd_umc(root: &Root, unit: &str) -> Vec<Event> {
    let event = |terms: &str, direction| {
        let config = config(root, unit, terms);
        config.map(|config| on_each_cpu(root, unit, config, LINE, direction)).unwrap_or_default()
    };
    let read = event("event=0x0a,rdwrmask=0x1", Direction::Read);
    [read, event("event=0x0a,rdwrmask=0x2", Direction::Write)].concat()
}

/// `dram_channel_data_controller_0` to `_7`. From Zen 4 on (a wider `umask`) these events are others.
fn amd_df(root: &Root, unit: &str) -> Vec<Event> {
    let umask = root.line(&format!("{FOLDER}/{unit}/format/umask"));
    if umask.known().is_none_or(|format| format != "config:8-15") {
        return Vec::new();
    }
    let of_channel = |channel: u64| {
        let config = config(root, unit, &format!("event={:#x},umask=0x38", 0x40 * channel + 7))?;
        Some(on_each_cpu(root, unit, config, LINE, Direction::Both))
    };
    (0..8).filter_map(of_channel).flatten().collect()
}

/// One event for each CPU that counts for a socket or a die.
fn on_each_cpu(
    root: &Root,
    unit: &str,
    config: u64,
    bytes: f64,
    direction: Direction,
) -> Vec<Event> {
    let kind = root.number(&format!("{FOLDER}/{unit}/type")).known().copied();
    let cpus = root.line(&format!("{FOLDER}/{unit}/cpumask"));
    let cpus = cpus.known().and_then(|cpus| cpus.parse::<CpuList>().ok());
    let (Some(kind), Some(cpus)) = (kind, cpus) else { return Vec::new() };
    let event = |&cpu: &usize| Event { kind, config, cpu, bytes, direction };
    cpus.as_slice().iter().map(event).collect()
}

/// The number that selects an event described as `event=0x04,umask=0x03`; `None` where the unit has no
/// such field.
fn config(root: &Root, unit: &str, terms: &str) -> Option<u64> {
    terms.split(',').try_fold(0, |config, term| {
        let (field, value) = term.split_once('=')?;
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => value.parse().ok()?,
        };
        let format = root.line(&format!("{FOLDER}/{unit}/format/{field}"));
        Some(config | scattered(format.known()?.strip_prefix("config:")?, value)?)
    })
}

/// A value in the bits of a format such as `0-7,32-35`, its lowest bits first; `None` where they are
/// too few for it.
fn scattered(format: &str, mut value: u64) -> Option<u64> {
    let mut config = 0;
    for range in format.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let width = last.checked_sub(first)? + 1;
        let mask = 1u64.checked_shl(width)?.wrapping_sub(1);
        config |= (value & mask).checked_shl(first)?;
        value = value.checked_shr(width)?;
    }
    (value == 0).then_some(config)
}

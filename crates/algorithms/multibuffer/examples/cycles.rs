//! Core cycles per byte, by algorithm, backend and length, warm cache: as many equal messages as lanes, and four
//! times as many of 1 to 16 KiB, in an order that is nothing to the kernels.
//!
//! `cargo run --release -p multibuffer --example cycles [CPU] [ROUNDS]`
//!
//! A round is ten samples of about 100 µs between two readings of the core's frequency. A round
//! does not count if the readings differ by more than 1% or if a busy hyperthread shared the core.
//! Rounds of all rows are interleaved, so drift affects all rows equally. A dash means that no
//! round counted: the machine was busy.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cpus::{CpuList, pin_current_thread};
use multibuffer::{Algorithm, Hasher, Sha1, Sha256, Sha512};
use units::Hertz;

const LENGTHS: [usize; 2] = [1024, 8192];
const KIB: usize = 1024;
const SAMPLES: usize = 10;
const SAMPLE: Duration = Duration::from_micros(100);

/// One line of the table.
struct Row {
    name: String,
    lengths: String,
    /// Of all messages.
    bytes: usize,
    hash: Box<dyn FnMut()>,
    cycles_per_byte: Vec<f64>,
    dropped: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let cpu: usize = arguments.next().map_or(Ok(0), |cpu| cpu.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(30), |rounds| rounds.parse())?;
    pin_current_thread(&CpuList::from(cpu))?;

    let mut rows = Vec::new();
    let equal = LENGTHS.map(|bytes| (bytes.to_string(), vec![bytes], 1));
    let varying = (1..=16).map(|i| (i * 7 % 16 + 1) * KIB).collect();
    for (name, lengths, times) in equal.into_iter().chain([("1-16 KiB".to_owned(), varying, 4)]) {
        rows_of::<Sha1>(&name, &lengths, times, &mut rows);
        rows_of::<Sha256>(&name, &lengths, times, &mut rows);
        rows_of::<Sha512>(&name, &lengths, times, &mut rows);
    }
    for _ in 0..rounds {
        for row in &mut rows {
            row.round(cpu)?;
        }
    }

    println!(
        "{:<28} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "bytes", "quartile", "median", "quartile", "dropped"
    );
    for row in &mut rows {
        let samples = &mut row.cycles_per_byte;
        samples.sort_by(f64::total_cmp);
        let at = |part: usize| match samples.get(samples.len() * part / 4) {
            Some(cycles) => format!("{cycles:.3}"),
            None => "-".to_owned(),
        };
        println!(
            "{:<28} {:>8} {:>8} {:>8} {:>8} {:>8}",
            row.name,
            row.lengths,
            at(1),
            at(2),
            at(3),
            row.dropped
        );
    }
    Ok(())
}

/// Rows of messages with these lengths in turn, `times` as many as lanes.
fn rows_of<A: Algorithm>(name: &str, lengths: &[usize], times: usize, rows: &mut Vec<Row>) {
    for hasher in Hasher::<A>::available() {
        let lengths = lengths.iter().cycle().take(times * hasher.lanes());
        let messages: Vec<_> = lengths.map(|bytes| vec![0x5a; *bytes]).collect();
        let mut digests = vec![A::ZEROS; messages.len()];
        rows.push(Row {
            name: format!("{} {}", A::NAME, hasher.backend()),
            lengths: name.to_owned(),
            bytes: messages.iter().map(Vec::len).sum(),
            hash: Box::new(move || {
                // The numbers of digests and messages are equal, so there is no error.
                let _ = black_box(hasher.hash_many(black_box(&messages), &mut digests));
                black_box(&digests);
            }),
            cycles_per_byte: Vec::new(),
            dropped: 0,
        });
    }
}

impl Row {
    fn round(&mut self, cpu: usize) -> Result<(), Box<dyn Error>> {
        let calls = self.calls_per_sample();
        let quiet = observe::is_quiet(cpu)?;
        let Hertz(before) = observe::core_hz(cpu)?;
        (0..calls).for_each(|_| (self.hash)());
        let times: [Duration; SAMPLES] = std::array::from_fn(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| (self.hash)());
            start.elapsed()
        });
        let Hertz(after) = observe::core_hz(cpu)?;
        if !quiet || !observe::is_quiet(cpu)? || (before / after - 1.0).abs() > 0.01 {
            self.dropped += SAMPLES;
            return Ok(());
        }
        let hz = before.midpoint(after);
        let bytes = (self.bytes * calls) as f64;
        self.cycles_per_byte.extend(times.map(|time| time.as_secs_f64() * hz / bytes));
        Ok(())
    }

    /// How often the messages are hashed in a sample, at least once.
    fn calls_per_sample(&mut self) -> usize {
        let start = Instant::now();
        (self.hash)();
        (SAMPLE.as_nanos() / start.elapsed().as_nanos().max(1)).max(1) as usize
    }
}

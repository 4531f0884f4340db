mod instructions;
mod json;
mod one_round;

use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use cpus::CpuList;
use primitives::bench::{Bench, BenchProgress as Stage, Measurement};
use primitives::row::Reason;
use primitives::{Algorithm, Cache, Hardware, Library, library};
use study::primitive::{MessageSize, SIZES};
use targets::System;

use self::one_round::OneRound;
use crate::progress::{ProgressLine, in_minutes};
use crate::{Exit, Failure, interrupt};

/// Measure what algorithms cost in each library, in core cycles per byte and operations per second.
///
/// Each result is checked against a second library; a wrong one has no figure. A sample takes about
/// 100 µs between two readings of the core, and counts only if nothing else used the core. Without
/// names, all libraries are measured with all algorithms; of the handshakes only those of RSA-2048 and
/// P-256 over X25519 (`toll bench handshakes` has the others). The tables show OpenSSL and the fastest
/// library of each algorithm; with --all or --library they show every one.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to measure: aes-128-gcm, "rsa-2048 sign", rsa-2048, or a kind: aes, gcm, cbc, ctr,
    /// ciphers, sha, hmac, hashes, rsa, ecdsa, signatures, key-exchange, public-key, records,
    /// handshakes (full-handshakes, resumed-handshakes), or tls for records and handshakes. Default: all.
    /// Or `instructions`: latency and throughput of single instructions, and the least that algorithms
    /// cost with them
    #[arg(value_name = "ALGORITHM")]
    algorithms: Vec<String>,

    /// A library: openssl (the system's), aws-lc, ring, rustcrypto, rustls-ring, rustls-aws-lc,
    /// multibuffer (toll's own kernels), multibuffer-avx2 and so on, isa-l (if the variable ISAL names
    /// its folder), crypto-mb (Intel's, of make crypto-mb: private keys, eight operations at once) or
    /// crypto-mb-4, -2, -1 (fewer), or the path of a libcrypto, with the libssl beside it for records and
    /// handshakes; repeatable
    #[arg(long = "library", value_name = "NAME|PATH")]
    libraries: Vec<String>,

    /// The release of Debian or Ubuntu whose OpenSSL and C library toll runs on, one of make systems, such as debian-13
    #[arg(long, value_name = "NAME", default_value_t)]
    system: System,

    /// Bytes of a message; repeatable [default: 16B 256B 1KiB 8KiB 16KiB 64KiB]
    #[arg(long = "size", value_name = "SIZE")]
    sizes: Vec<MessageSize>,

    /// CPUs that work at the same time, a thread pinned to each
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,

    /// Where the data lies when a run begins: warm (in the cache) or cold (in memory)
    #[arg(long, default_value_t)]
    cache: Cache,

    /// Mask features of the processor: all (none masked), avx2 (no AVX-512, VAES, SHA-NI), sse (no
    /// AVX either), none (no AES and PCLMULQDQ instructions either); toll restarts itself for that
    #[arg(long, value_name = "LEVEL", default_value_t)]
    hardware: Hardware,

    /// How many quiet samples each figure takes
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    samples: u16,

    /// Show the figures of all libraries, not only of OpenSSL and the fastest
    #[arg(long)]
    all: bool,

    /// Print the names of algorithms and libraries, and measure nothing
    #[arg(long)]
    list: bool,

    /// Print one JSON object, and nothing else
    #[arg(long)]
    json: bool,

    /// Show no progress, only the figures
    #[arg(long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  toll bench
      all libraries, in half a minute to a minute
  toll bench aes-128-gcm --size 16KiB --library openssl --library /opt/openssl-4/lib/libcrypto.so
      the system's OpenSSL and another one, which is loaded at run time
  toll bench sha --library openssl --library multibuffer --size 8KiB --cache cold
      one message at a time, and many at once, with the data in memory
  toll bench handshakes gcm --library openssl --system debian-13
      with the OpenSSL of another release, which make systems has unpacked
  toll bench records handshakes --size 1KiB --size 16KiB
      TLS in memory, without sockets; server side and client side separately
  toll bench instructions
      what AESENC, PCLMULQDQ and similar instructions cost here: bounds and estimates for every library
  toll bench gcm cbc --hardware none
      what the AES instructions gain: the same without them
  toll bench rsa ecdsa --threads 2 --json | jq '.rows[] | [.algorithm, .library, .ops_per_s]'
      operations per second of two CPUs together, as JSON";

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.hardware != Hardware::of_this_process() {
        return Err(again(arguments.hardware));
    }
    if let Some(failure) = enter(&arguments.system)? {
        return Err(failure);
    }
    if arguments.list {
        crate::print(&listed());
        return Ok(Exit::Done);
    }
    let interrupted = interrupt::flag()?;
    if arguments.algorithms.iter().any(|word| word == instructions::WORD) {
        let cpu = arguments.instructions_alone()?.as_slice()[0];
        return instructions::main(cpu, arguments.json, &interrupted);
    }
    let algorithms = arguments.algorithms()?;
    let libraries = arguments.libraries()?;
    arguments.check_files(Failure::request)?;
    // Whatever is measured, all that are here may be asked for a second opinion.
    let checkers: Vec<_> =
        library::DEFAULT.iter().filter_map(|name| library::open(name).ok()).collect();
    let cpus = arguments.cpus()?;
    let sizes = arguments.sizes();
    let request = Bench {
        algorithms: &algorithms,
        libraries: &libraries,
        checkers: &checkers,
        sizes: &sizes,
        cache: arguments.cache,
        cpus: &cpus,
        samples: arguments.samples.into(),
    };
    let is_wanted = !arguments.quiet && !arguments.json;
    let bar = ProgressLine::new(is_wanted, "{bar:24} {wide_msg}");
    let mut sampling_began = None;
    let mut report = |stage| match stage {
        Stage::Preparing { done, all } => bar.show(done as u64, all as u64, || {
            "making keys and checking each library against a second one".to_owned()
        }),
        Stage::Sampling { done, all } => bar.show(done as u64, all as u64, || {
            let elapsed = sampling_began.get_or_insert_with(Instant::now).elapsed();
            let left = elapsed.mul_f64((all - done) as f64 / done.max(1) as f64);
            format!("{} left  sampling; Ctrl-C keeps what was measured", in_minutes(left))
        }),
    };
    let measurement = request.run(&interrupted, &mut report)?;
    drop(bar);
    arguments.check_files(Failure::measurement)?;
    let bounds = match (arguments.hardware, measurement.interrupted || arguments.json) {
        (Hardware::All, false) => {
            let (costs, _) = primitives::instructions::measure(cpus.as_slice()[0], &interrupted)?;
            primitives::instructions::bounds(&costs)
        }
        _ => Vec::new(),
    };
    let root = arguments.system.root().map_err(Failure::request)?;
    let round = OneRound {
        measurement: &measurement,
        libraries: &libraries,
        sizes: &sizes,
        cache: arguments.cache,
        cpus: &cpus,
        hardware: arguments.hardware,
        samples: arguments.samples,
        shows_all: arguments.all || !arguments.libraries.is_empty(),
        system: root.as_ref().map(|root| root.release().to_owned()),
    };
    let costs = round.costs(bounds);
    if arguments.json {
        crate::json::print(crate::json::BENCH, &json::of(&round, &costs))?;
    } else {
        one_round::print(&round.findings(costs));
    }
    ended(&measurement)
}

/// The names of all algorithms and libraries.
fn listed() -> String {
    let mut text = String::from("Algorithms:\n");
    for algorithm in Algorithm::all() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {algorithm}");
    }
    text += "Libraries (or the path of any libcrypto):\n";
    for name in library::NAMES {
        let _ = match library::open(name) {
            Ok(library) => writeln!(text, "  {name:<22} {}", library.title()),
            Err(why) => writeln!(text, "  {name:<22} not available here: {why}"),
        };
    }
    text
}

/// The exit code, and the line for what is not whole.
fn ended(measurement: &Measurement) -> Result<Exit, Failure> {
    if measurement.interrupted {
        crate::note("interrupted; the figures use the samples until then");
        return Ok(Exit::Interrupted);
    }
    let outcomes = || measurement.rows.iter().map(|row| &row.outcome);
    let refused = outcomes().filter_map(|outcome| outcome.no_figure());
    let refused = refused.filter(|none| none.reason == Reason::Refused).count();
    let measured = outcomes().filter(|outcome| outcome.measured().is_some()).count();
    match (refused, measured) {
        (0, 0) => Err(Failure::request(
            "none of these libraries has any of these algorithms; see toll bench --list",
        )),
        (0, _) => Ok(Exit::Done),
        _ => Err(Failure::measurement(format!("{refused} rows have no figure, see above"))),
    }
}

impl Arguments {
    /// Refuses to measure with a file of another release than the one that is asked for.
    fn check_files(&self, failure: fn(String) -> Failure) -> Result<(), Failure> {
        match self.system.foreign_files().map_err(Failure::request)?.first() {
            None => Ok(()),
            Some(path) => {
                let system = &self.system;
                Err(failure(format!("--system: toll has mapped {path}, which is not of {system}")))
            }
        }
    }

    /// The CPU of single instructions, which have no library, size or cache.
    fn instructions_alone(&self) -> Result<CpuList, Failure> {
        let is_alone = self.algorithms.len() == 1
            && self.libraries.is_empty()
            && self.sizes.is_empty()
            && self.threads == 1
            && self.cache == Cache::Warm
            && self.hardware == Hardware::All;
        if is_alone {
            return self.cpus();
        }
        Err(Failure::request(
            "instructions are measured alone, on one CPU: toll bench instructions [--json]",
        ))
    }

    fn algorithms(&self) -> Result<Vec<Algorithm>, Failure> {
        if self.algorithms.is_empty() {
            return Ok(Algorithm::usual().collect());
        }
        let mut chosen = Vec::new();
        for word in &self.algorithms {
            chosen.extend(Algorithm::select(word).map_err(Failure::request)?);
        }
        // Each once, in the order of tables, whatever the words.
        Ok(Algorithm::all().filter(|algorithm| chosen.contains(algorithm)).collect())
    }

    fn libraries(&self) -> Result<Vec<Box<dyn Library>>, Failure> {
        let open = |name: &str| {
            library::open(name).map_err(|why| Failure::request(format!("--library: {why}")))
        };
        if self.libraries.is_empty() {
            return library::open_default().map_err(Failure::request);
        }
        self.libraries.iter().map(|name| open(name)).collect()
    }

    fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = match self.sizes.is_empty() {
            true => SIZES.iter().map(|size| size.0 as usize).collect(),
            false => self.sizes.iter().map(|MessageSize(size)| size.0 as usize).collect(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn cpus(&self) -> Result<CpuList, Failure> {
        let allowed = crate::allowed_cpus()?;
        if self.threads == 0 || self.threads > allowed.len() {
            return Err(Failure::request(format!(
                "--threads: {} threads need as many CPUs, and this process may use {}: {allowed}",
                self.threads,
                allowed.len()
            )));
        }
        Ok(allowed.first(self.threads))
    }
}

/// The variable by which a process knows that it was started in a system.
const INSIDE: &str = "TOLL_SYSTEM";

/// Replaces this process by one in a system, where it is not there yet; it returns a failure only where that fails.
fn enter(system: &System) -> Result<Option<Failure>, Failure> {
    let name = system.to_string();
    if std::env::var(INSIDE).as_ref() == Ok(&name) {
        return Ok(None);
    }
    let refused = |why| Failure::request(format!("--system: {why}"));
    let command = system.own_command().map_err(refused)?;
    Ok(command.map(|mut command| replace(command.env(INSIDE, name), "--system")))
}

/// Replaces this process by one with the same words; it returns only where that fails.
fn replace(command: &mut Command, why: &str) -> Failure {
    let error = command.args(std::env::args_os().skip(1)).exec();
    Failure::request(format!("{why}: toll cannot start itself again: {error}"))
}

/// Replaces this process by one with the features masked; it returns only where that fails.
fn again(hardware: Hardware) -> Failure {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Failure::request(format!("--hardware: cannot find toll: {error}")),
    };
    let mut command = Command::new(program);
    for variable in [primitives::hardware::VARIABLE, primitives::hardware::OPENSSL_VARIABLE] {
        command.env_remove(variable);
    }
    command.envs(hardware.environment());
    replace(&mut command, "--hardware")
}

#[cfg(test)]
mod tests {
    use primitives::bench::BenchError;

    use super::*;

    #[test]
    fn a_measurement_that_panics_has_failed() {
        let error = BenchError::Panicked { cpu: 1, why: "no".into() };
        assert_eq!(Failure::from(error).exit, Exit::Failed);
    }

    #[test]
    fn every_name_is_listed() {
        let names = listed();
        assert!(names.contains("  AES-128-GCM\n") && names.contains("  rustcrypto "), "{names}");
    }
}

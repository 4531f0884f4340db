//! A routine with its buffers: what is timed.

use crate::algorithm::{Algorithm, Unit};
use crate::cache::{self, Cache};
use crate::check::Checker;
use crate::connection;
use crate::libraries::library::Library;
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};
use crate::row::NoFigure;
use crate::sampler::{Instruments, Spent, Subject};
use crate::work::Work;

/// A library's routine on inputs of one size, whose results were checked.
struct Workload {
    algorithm: Algorithm,
    material: Material,
    routine: Routine,
    buffers: Vec<Buffers>,
    next: usize,
    cache: Cache,
    /// What came out of the first run, and who confirmed it.
    confirmed: Confirmed,
}

/// Sets up an algorithm of a library, runs it once, and has the result checked.
pub fn set_up(
    library: &dyn Library,
    algorithm: Algorithm,
    size: usize,
    cache: Cache,
    checker: &Checker<'_>,
) -> Result<Box<dyn Work>, NoFigure> {
    if algorithm.takes_a_connection() {
        return connection::set_up(library, algorithm, size, cache, checker);
    }
    Ok(Box::new(Workload::new(library, algorithm, size, cache, checker)?))
}

#[derive(Clone)]
struct Buffers {
    inputs: Vec<Vec<u8>>,
    output: Vec<u8>,
    output_bytes: usize,
}

struct Confirmed {
    output: Vec<u8>,
    by: String,
}

impl Workload {
    /// Sets it up, runs it once, and has the result checked.
    fn new(
        library: &dyn Library,
        algorithm: Algorithm,
        size: usize,
        cache: Cache,
        checker: &Checker<'_>,
    ) -> Result<Self, NoFigure> {
        if cache == Cache::Cold && (algorithm.unit() == Unit::Operation || !cache::CAN_EVICT) {
            let why = "cold caches are for algorithms that go over bytes, on x86-64 and aarch64";
            return Err(Unavailable::because(why).into());
        }
        let material = Material::new(algorithm, size)?;
        let mut routine = library.prepare(algorithm, &material)?;
        algorithm.check_size(size)?;
        let buffers = Buffers::new(&routine, algorithm, &material)?;
        let mut first = buffers.clone();
        first.run(&mut routine)?;
        let confirmed = first.confirm(library, algorithm, &material, &routine, checker)?;
        let copies = match cache {
            Cache::Warm => 1,
            Cache::Cold => (cache::ARENA / buffers.bytes().max(1)).max(1),
        };
        Ok(Self {
            algorithm,
            material,
            routine,
            buffers: vec![buffers; copies],
            next: 0,
            cache,
            confirmed,
        })
    }
}

impl Work for Workload {
    fn message_bytes(&self) -> usize {
        match (&self.routine, self.algorithm.unit()) {
            (_, Unit::Operation) => 0,
            (Routine::Many { lanes, .. }, Unit::Byte) => lanes * self.material.input.len(),
            (_, Unit::Byte) => self.material.input.len(),
        }
    }

    fn lanes(&self) -> usize {
        match &self.routine {
            Routine::Many { lanes, .. } => *lanes,
            _ => 1,
        }
    }

    fn confirmed_by(&self) -> &str {
        &self.confirmed.by
    }

    /// A routine that works in its buffer has worked on its own results; it gets the input again and
    /// runs once more.
    fn confirm_again(
        &mut self,
        library: &dyn Library,
        checker: &Checker<'_>,
    ) -> Result<(), Failed> {
        let last = (self.next + self.buffers.len() - 1) % self.buffers.len();
        if matches!(self.routine, Routine::InPlace { .. }) {
            self.buffers[last] = Buffers::new(&self.routine, self.algorithm, &self.material)?;
            self.buffers[last].run(&mut self.routine)?;
        }
        let buffers = &self.buffers[last];
        if buffers.result() == self.confirmed.output {
            return Ok(());
        }
        // With chance in it, each result is another one.
        buffers.confirm(library, self.algorithm, &self.material, &self.routine, checker).map(drop)
    }
}

impl Buffers {
    fn new(routine: &Routine, algorithm: Algorithm, material: &Material) -> Result<Self, Failed> {
        let bytes = algorithm.output_bytes(material.input.len());
        let mut output = vec![0; bytes];
        let inputs = match routine {
            Routine::Apart(_) => vec![material.input.clone()],
            Routine::InPlace { front, .. } => {
                output[*front..*front + material.input.len()].copy_from_slice(&material.input);
                Vec::new()
            }
            Routine::Many { lanes, .. } => {
                output = vec![0; bytes * lanes];
                material.of_lanes(algorithm, *lanes)?
            }
        };
        let output_bytes = output.len();
        Ok(Self { inputs, output, output_bytes })
    }

    fn bytes(&self) -> usize {
        self.inputs.iter().map(Vec::len).sum::<usize>() + self.output.len()
    }

    fn evict(&self) {
        self.inputs.iter().for_each(|input| cache::evict(input));
        cache::evict(&self.output);
    }

    fn run(&mut self, routine: &mut Routine) -> Result<(), Failed> {
        match routine {
            Routine::Apart(step) => {
                self.output_bytes = step(&self.inputs[0], &mut self.output)?;
                Ok(())
            }
            Routine::InPlace { seal, .. } => seal(&mut self.output),
            Routine::Many { run, .. } => run(&self.inputs, &mut self.output),
        }
    }

    fn result(&self) -> &[u8] {
        &self.output[..self.output_bytes]
    }

    /// Has the result checked; of many messages, each.
    fn confirm(
        &self,
        library: &dyn Library,
        algorithm: Algorithm,
        material: &Material,
        routine: &Routine,
        checker: &Checker<'_>,
    ) -> Result<Confirmed, Failed> {
        let by = match routine {
            Routine::Many { lanes, .. } => {
                let results = self.output.chunks_exact(self.output.len() / lanes);
                let mut by = String::new();
                for (input, result) in self.inputs.iter().zip(results) {
                    let material = material.with_input(input.clone());
                    let result = &result[..algorithm.result_bytes(result)];
                    by = checker.check(library, algorithm, &material, result)?;
                }
                by
            }
            _ => checker.check(library, algorithm, material, self.result())?,
        };
        Ok(Confirmed { output: self.result().to_vec(), by })
    }
}

impl Subject for Workload {
    fn run(&mut self, runs: u64, instruments: &mut dyn Instruments) -> Result<Spent, Failed> {
        if self.cache == Cache::Cold {
            self.buffers.iter().for_each(Buffers::evict);
        }
        let start = instruments.tick();
        for _ in 0..runs {
            self.buffers[self.next].run(&mut self.routine)?;
            self.next = (self.next + 1) % self.buffers.len();
        }
        let end = instruments.tick();
        Ok(Spent::between(start, end))
    }

    fn fixed_runs(&self) -> Option<u64> {
        (self.cache == Cache::Cold).then_some(self.buffers.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{Hash, Protection, Way};
    use crate::library;
    use crate::row::Reason;

    #[test]
    fn a_record_holds_16_kib_by_hand_and_in_a_connection() {
        let libraries = ["openssl", "rustcrypto", "rustls-ring"];
        let libraries = libraries.map(|name| library::open(name).unwrap());
        let checker = Checker::new(&libraries);
        let in_a_connection = Algorithm::Record(Protection::Tls13Aes128Gcm, Way::Seal);
        for algorithm in [Algorithm::CbcHmac(Hash::Sha1), in_a_connection] {
            for (size, is_one) in [(0, false), (1, true), (16 << 10, true), (1 + (16 << 10), false)]
            {
                match set_up(libraries[0].as_ref(), algorithm, size, Cache::Warm, &checker) {
                    Ok(_) => assert!(is_one, "{algorithm} {size}"),
                    Err(NoFigure { why, reason }) => {
                        assert!(!is_one, "{algorithm} {size}: {why}");
                        assert_eq!(reason, Reason::Unavailable);
                        assert!(why.ends_with("a record holds between 1B and 16KiB"), "{why}");
                    }
                }
            }
        }
    }
}

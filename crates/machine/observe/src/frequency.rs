//! A core's frequency, measured.
//!
//! The TSC counts at a fixed rate that is not the core's, and a virtual machine often has no cycle
//! counter. So a chain of additions of one cycle each runs against the monotonic
//! clock.
//!
//! What disturbs a sample (an interrupt, the hypervisor, another process) only lengthens it, so a
//! disturbed sample looks slow and none looks fast. Therefore the answer lies near the top of the
//! samples: it is their upper decile, not their maximum, because the maximum alone would also
//! collect the reading errors of the clock (some tens of ns in each sample's 100 µs) and the one
//! moment at which a changing frequency was highest.

use std::time::Instant;

use units::Hertz;

use crate::{ObserveError, chains, on_cpu};

/// 200,000 cycles: 50 to 100 µs at the frequencies that servers have.
const BLOCKS: u64 = 1000;
const SAMPLES: usize = 30;

/// The frequency of the core of `cpu` at this moment. Takes two to three milliseconds of that
/// CPU's time.
pub fn core_hz(cpu: usize) -> Result<Hertz, ObserveError> {
    chains::check_supported()?;
    on_cpu::run(cpu, || {
        let mut samples = [0.0; SAMPLES];
        for sample in &mut samples {
            let start = Instant::now();
            chains::one_chain(BLOCKS);
            *sample = (BLOCKS * chains::BLOCK) as f64 / start.elapsed().as_secs_f64();
        }
        Hertz(upper_decile(samples))
    })
}

/// The value that a tenth of the samples exceed.
fn upper_decile(mut samples: [f64; SAMPLES]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES - 1 - SAMPLES / 10]
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpus::CpuList;

    #[test]
    fn disturbed_samples_do_not_count() {
        let mut samples = [2.7e9; SAMPLES];
        samples[..20].fill(1.1e9);
        samples[25] = 2.8e9;
        assert_eq!(upper_decile(samples), 2.7e9);
    }

    #[test]
    fn each_cpu_has_a_frequency() {
        for &cpu in CpuList::allowed().unwrap().as_slice() {
            let Hertz(hz) = core_hz(cpu).unwrap();
            assert!(hz.is_finite() && hz > 0.0, "CPU {cpu}: {hz}");
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(matches!(core_hz(1023), Err(ObserveError::CpuUnusable { cpu: 1023, .. })));
    }
}

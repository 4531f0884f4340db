//! A thread that panics ends the measurement, whatever the others wait for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use cpus::CpuList;
use primitives::bench::{Bench, BenchError};
use primitives::{About, Algorithm, Cache, Library, Material, Routine, Unavailable, library};

/// No wait of this test is longer.
const LIMIT: Duration = Duration::from_secs(120);

/// Right in one thread. In the other its routine panics at a certain run.
struct Panics {
    inner: Box<dyn Library>,
    prepared: AtomicUsize,
    at_run: usize,
}

impl Library for Panics {
    fn about(&self) -> About<'_> {
        About { id: "panics", title: "Panics", origin: "panics" }
    }

    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
        let routine = self.inner.prepare(algorithm, material)?;
        if self.prepared.fetch_add(1, Ordering::SeqCst) == 0 {
            return Ok(routine);
        }
        let Routine::Apart(mut step) = routine else { panic!("another kind of routine") };
        let (mut runs, at_run) = (0, self.at_run);
        Ok(Routine::Apart(Box::new(move |input, output| {
            runs += 1;
            assert!(runs < at_run, "run {runs} is too many");
            step(input, output)
        })))
    }
}

/// How a measurement on two CPUs ends.
fn ends(at_run: usize, cpus: CpuList) -> BenchError {
    let (send, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let inner = library::open("openssl").unwrap();
        let libraries: [Box<dyn Library>; 1] =
            [Box::new(Panics { inner, prepared: AtomicUsize::new(0), at_run })];
        let request = Bench {
            algorithms: &["SHA-256".parse().unwrap(), "SHA-512".parse().unwrap()],
            libraries: &libraries,
            checkers: &[library::open("rustcrypto").unwrap()],
            sizes: &[64],
            cache: Cache::Warm,
            cpus: &cpus,
            samples: 3,
        };
        let _ = send.send(request.run(&AtomicBool::new(false), &mut |_| ()).unwrap_err());
    });
    ended.recv_timeout(LIMIT).expect("the measurement ends")
}

#[test]
fn a_panic_of_one_thread_ends_the_measurement() {
    let cpus = CpuList::allowed().unwrap().first(2);
    if cpus.len() < 2 {
        println!("skipped: this process may use one CPU only");
        return;
    }
    // While rows are set up; at the first visit; and among the samples.
    for at_run in [1, 2, 10] {
        let error = ends(at_run, cpus.clone());
        assert!(matches!(error, BenchError::Panicked { .. }), "{error}");
        let why = format!("panicked: run {at_run} is too many; please report this");
        assert!(error.to_string().ends_with(&why), "{error}");
    }
}

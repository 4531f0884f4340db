//! The backends: names, detection, and errors where instructions are missing.

use std::fmt;

use crate::{Algorithm, kernels::Kernel32};

/// A set of instructions that hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Plain Rust, one message at a time; on every processor.
    Portable,
    /// The SHA extensions, two messages interleaved; not for SHA-512.
    ShaNi,
    /// AVX2: eight messages at once, four with SHA-512.
    Avx2,
    /// AVX-512VL on vectors of 256 bits: as many messages as AVX2, but with ternary logic and
    /// rotations, and without the lower frequencies of some processors with wide vectors.
    Avx512Vl,
    /// AVX-512 (F and BW): sixteen messages at once, eight with SHA-512.
    Avx512,
}

impl Backend {
    /// All backends, including those that this processor lacks.
    pub const ALL: [Self; 5] =
        [Self::Portable, Self::ShaNi, Self::Avx2, Self::Avx512Vl, Self::Avx512];

    /// The backends that this processor has, for at least one algorithm.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|backend| backend.is_available())
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        Kernel32::of(self).is_some()
    }

    /// The fastest that this processor has for an algorithm, with at least as many messages as
    /// lanes. With fewer, [`ShaNi`](Self::ShaNi) is often faster.
    pub fn best<A: Algorithm>() -> Self {
        A::PREFERENCE
            .iter()
            .copied()
            .find(|&backend| A::Kernels::of(backend).is_some())
            .unwrap_or(Self::Portable)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Portable => "portable",
            Self::ShaNi => "SHA-NI",
            Self::Avx2 => "AVX2",
            Self::Avx512Vl => "AVX-512VL (256 bits)",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// A requested backend cannot be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// The processor lacks the instructions, or the operating system does not save their
    /// registers.
    Processor(Backend),
    /// The backend does not have this algorithm.
    Algorithm(Backend, &'static str),
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processor(backend) => {
                write!(f, "this processor has no {backend}; choose one of:")?;
                Backend::available().try_for_each(|available| write!(f, " {available}"))
            }
            Self::Algorithm(backend, algorithm) => {
                write!(f, "{backend} has no {algorithm}; choose another backend")
            }
        }
    }
}

impl std::error::Error for Unavailable {}

/// The kernels for one word width. A value proves that its instructions are available.
pub trait Kernels: Copy + fmt::Debug + Send + Sync + 'static {
    /// The kernels of this backend, if it can be used.
    fn of(backend: Backend) -> Option<Self>;
    fn backend(self) -> Backend;
    fn lanes(self) -> usize;
}

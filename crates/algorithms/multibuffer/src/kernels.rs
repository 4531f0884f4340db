//! The kernels, one file per backend.
//!
//! Each backend has a *proof*, a type whose values exist only where the processor was found to have
//! the instructions. Its methods call them.

use crate::algorithm::Algorithm;
use crate::backend::{Backend, Kernels};
use crate::schedule::{self, Kernel, Work};

mod portable;
pub(crate) use portable::Portable;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512vl;
#[cfg(target_arch = "x86_64")]
mod sha_ni;
#[cfg(target_arch = "x86_64")]
use {avx2::Avx2, avx512::Avx512, avx512vl::Avx512Vl, sha_ni::ShaNi};

/// The kernels for one word width, with their lanes. The first is available on every processor.
macro_rules! kernels {
    ($name:ident: $($backend:ident $lanes:literal),+) => {
        #[derive(Debug, Clone, Copy)]
        pub enum $name {
            $($backend($backend)),+
        }

        impl Kernels for $name {
            fn of(backend: Backend) -> Option<Self> {
                match backend {
                    $(Backend::$backend => $backend::detect().map(Self::$backend),)+
                    #[allow(unreachable_patterns, reason = "not every width has all backends")]
                    _ => None,
                }
            }

            fn backend(self) -> Backend {
                match self {
                    $(Self::$backend(_) => Backend::$backend),+
                }
            }

            fn lanes(self) -> usize {
                match self {
                    $(Self::$backend(_) => $lanes),+
                }
            }
        }

        impl $name {
            /// Hashes as many messages as there are digests with this kernel.
            pub(crate) fn run<'a, A>(
                self,
                message: &dyn Fn(usize) -> &'a [u8],
                digests: &mut [A::Digest],
            ) -> Work
            where
                A: Algorithm,
                $($backend: Kernel<A, $lanes>),+
            {
                match self {
                    $(Self::$backend(proof) => {
                        schedule::run::<A, _, $lanes>(proof, message, digests)
                    }),+
                }
            }

            /// Hashes one more block after each chaining value with this kernel.
            pub(crate) fn step<A>(self, states: &mut [[A::Word; 8]], blocks: &[&A::Block]) -> Work
            where
                A: Algorithm,
                $($backend: Kernel<A, $lanes>),+
            {
                match self {
                    $(Self::$backend(proof) => {
                        schedule::step::<A, _, $lanes>(proof, states, blocks)
                    }),+
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
kernels!(Kernel32: Portable 1, ShaNi 2, Avx2 8, Avx512Vl 8, Avx512 16);
#[cfg(target_arch = "x86_64")]
kernels!(Kernel64: Portable 1, Avx2 4, Avx512Vl 4, Avx512 8);
#[cfg(not(target_arch = "x86_64"))]
kernels!(Kernel32: Portable 1);
#[cfg(not(target_arch = "x86_64"))]
kernels!(Kernel64: Portable 1);

/// A proof that the processor has instructions, and its [`Kernel`]s.
#[cfg(target_arch = "x86_64")]
macro_rules! proof {
    ($name:ident: $($feature:tt)+) => {
        #[doc = concat!("Exists only where the processor has", $(" ", $feature),+, ".")]
        #[derive(Debug, Clone, Copy)]
        pub struct $name(());

        impl $name {
            /// The proof, if the processor has the instructions.
            pub(crate) fn detect() -> Option<Self> {
                ($(std::arch::is_x86_feature_detected!($feature))&&+).then_some(Self(()))
            }
        }
    };
}

/// Kernels whose rounds are written over vectors.
#[cfg(target_arch = "x86_64")]
macro_rules! vector_kernel {
    ($proof:ident, $features:literal) => {
        impl<A: $crate::algorithm::Rounds<Self, L>, const L: usize> $crate::schedule::Kernel<A, L>
            for $proof
        {
            const BACKEND: $crate::Backend = $crate::Backend::$proof;

            fn compress(
                self,
                state: &mut $crate::algorithm::State<A::Word, L>,
                runs: &[$crate::staging::Run<'_, A, L>],
                staged: &mut $crate::staging::Staged<L>,
            ) {
                #[target_feature(enable = $features)]
                fn compress<A: $crate::algorithm::Rounds<$proof, L>, const L: usize>(
                    proof: $proof,
                    state: &mut $crate::algorithm::State<A::Word, L>,
                    runs: &[$crate::staging::Run<'_, A, L>],
                    staged: &mut $crate::staging::Staged<L>,
                ) {
                    A::compress(proof, state, runs, staged);
                }
                // SAFETY: `self` proves the features.
                unsafe { compress(self, state, runs, staged) }
            }
        }
    };
}

/// Methods that call the instructions which their `self` proves.
#[cfg(target_arch = "x86_64")]
macro_rules! proven {
    ($(fn $name:ident $(<const $n:ident>)? ($($x:ident: $t:ty),*) $(-> $r:ty)? = $e:expr;)+) => {
        $(
            #[inline(always)]
            fn $name $(<const $n: i32>)? (self, $($x: $t),*) $(-> $r)? {
                // SAFETY: `self` proves the features; arrays are as long as the vectors that are
                // read from or written to them.
                unsafe { $e }
            }
        )+
    };
}

#[cfg(target_arch = "x86_64")]
use {proof, proven, vector_kernel};

//! Whether the processor's hardware prefetchers are on. They are bits of a model-specific register,
//! which root can read through the kernel's module `msr`.

use std::fs::File;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::root::Root;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefetcher {
    pub name: String,
    pub is_on: bool,
}

/// A register whose bits switch prefetchers off.
struct Register {
    number: u64,
    bits: &'static [(u32, &'static str)],
}

/// Intel, "Disclosure of Hardware Prefetcher Control on Some Intel Processors".
const INTEL: Register = Register {
    number: 0x1a4,
    bits: &[(0, "L2 stream"), (1, "L2 adjacent line"), (2, "L1 stream"), (3, "L1 by instruction")],
};
/// AMD64 Architecture Programmer's Manual, volume 2, "Prefetch Control Register"; family 19h and
/// later.
const AMD: Register = Register {
    number: 0xc000_0108,
    bits: &[
        (0, "L1 stream"),
        (1, "L1 stride"),
        (2, "L1 region"),
        (3, "L2 stream"),
        (5, "L2 up/down"),
    ],
};

pub fn prefetchers(root: &Root, cpu: usize) -> Fact<Vec<Prefetcher>> {
    root.cpuinfo(&["vendor_id"]).and_then(|vendor| {
        let register = match vendor.as_str() {
            "GenuineIntel" => INTEL,
            "AuthenticAMD" => AMD,
            other => {
                return Fact::unknown(format_args!("toll knows no register of {other} for them"));
            }
        };
        read(root, cpu, register.number).map(|value| {
            let bit = |&(bit, name): &(u32, &str)| Prefetcher {
                name: name.to_owned(),
                is_on: (value >> bit) & 1 == 0,
            };
            register.bits.iter().map(bit).collect()
        })
    })
}

/// A register of a CPU (msr(4): the offset in the file is the register's number).
fn read(root: &Root, cpu: usize, register: u64) -> Fact<u64> {
    let path = format!("/dev/cpu/{cpu}/msr");
    let mut value = [0; 8];
    let read = File::open(root.path(&path)).and_then(|msr| msr.read_exact_at(&mut value, register));
    read.map(|()| u64::from_le_bytes(value))
        .map_err(|error| format!("cannot read {path}: {error}; it needs root and the module `msr`"))
        .into()
}

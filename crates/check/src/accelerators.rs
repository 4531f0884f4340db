//! What could take private-key operations from the processor's usual instructions.
use observe::machine::{Accelerators, QuickAssist};

use crate::{Fix, Found, Root, ok, warning};

pub(crate) fn item(root: &Root) -> Found {
    let Accelerators { quickassist, ifma } = Accelerators::read(root);
    let ifma = ifma.known().cloned().unwrap_or_default();
    let ifma = (!ifma.is_empty()).then(|| {
        format!(
            "AVX-512 IFMA ({}): Intel's multi-buffer library can be used (make crypto-mb)",
            ifma.join(", ")
        )
    });
    let words = |device: &QuickAssist| {
        let function = if device.is_virtual_function { ", a virtual function" } else { "" };
        let driver = device.driver.as_deref().unwrap_or("no driver");
        format!(
            "QuickAssist {} {} at {}{function} ({driver})",
            device.family, device.pci_id, device.slot
        )
    };
    let seen: Vec<String> = quickassist.iter().map(words).chain(ifma).collect();
    if seen.is_empty() {
        return Err("no QuickAssist device on the PCI bus, and no AVX-512 IFMA, which Intel's multi-buffer library \
                    needs"
            .to_owned());
    }
    let seen = seen.join("; ");
    // Virtual functions without a driver are for guests.
    let idle = quickassist.iter().find(|one| one.driver.is_none() && !one.is_virtual_function);
    match idle {
        None => ok(seen),
        Some(device) => warning(
            seen,
            "no program can use a QuickAssist device without its driver",
            Fix::Command(format!("modprobe {}", device.module())),
        ),
    }
}

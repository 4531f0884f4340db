//! What the machine has to take work off the processor's usual instructions: QuickAssist devices, and
//! the multiplication of wide numbers (IFMA).

use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::root::Root;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accelerators {
    /// The QuickAssist devices on the PCI bus.
    pub quickassist: Vec<QuickAssist>,
    /// The processor's flags for IFMA: `avx512ifma`, `avx_ifma`.
    pub ifma: Fact<Vec<String>>,
}

/// A QuickAssist device, or a virtual function of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuickAssist {
    /// Its place on the bus, such as `0000:6b:00.0`.
    pub slot: String,
    /// Vendor and device, such as `8086:4940`.
    pub pci_id: String,
    /// Its family, by the name of the kernel's driver.
    pub family: String,
    pub is_virtual_function: bool,
    /// The driver that it is bound to.
    pub driver: Option<String>,
}

const FOLDER: &str = "/sys/bus/pci/devices";
const INTEL: &str = "8086";

/// Device, virtual function, and the kernel's module for the device without its `qat_`: the tables of
/// ids in drivers/crypto/intel/qat.
const DEVICES: [(u16, u16, &str); 7] = [
    (0x0435, 0x0443, "dh895xcc"),
    (0x19e2, 0x19e3, "c3xxx"),
    (0x37c8, 0x37c9, "c62x"),
    (0x4940, 0x4941, "4xxx"),
    (0x4942, 0x4943, "4xxx"),
    (0x4944, 0x4945, "4xxx"),
    (0x4946, 0x4947, "420xx"),
];

impl Accelerators {
    pub fn read(root: &Root) -> Self {
        let devices = root.names(FOLDER).into_iter();
        Self {
            quickassist: devices.filter_map(|slot| QuickAssist::read(root, slot)).collect(),
            ifma: root
                .cpu_flags()
                .map(|flags| flags.into_iter().filter(|flag| flag.ends_with("ifma")).collect()),
        }
    }
}

impl QuickAssist {
    /// The kernel's module that drives it.
    pub fn module(&self) -> String {
        format!("qat_{}", self.family)
    }

    /// From the file in which the kernel tells udev of a device.
    fn read(root: &Root, slot: String) -> Option<Self> {
        let text = root.text(&format!("{FOLDER}/{slot}/uevent")).known()?.clone();
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let (vendor, device) = value("PCI_ID")?.split_once(':')?;
        let device = u16::from_str_radix(device, 16).ok().filter(|_| vendor == INTEL)?;
        let (_, function, family) =
            DEVICES.into_iter().find(|(own, function, _)| [*own, *function].contains(&device))?;
        Some(Self {
            slot,
            pci_id: format!("{vendor}:{device:04x}"),
            family: family.to_owned(),
            is_virtual_function: device == function,
            driver: value("DRIVER").map(str::to_owned),
        })
    }
}

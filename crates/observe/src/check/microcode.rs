//! The microcode decides with the kernel which mitigations are needed; it is shown, not judged.

use super::{Item, Root};
use crate::Fact;

const NAME: &str = "microcode";

pub(super) fn item(root: &Root) -> Item {
    match root.cpuinfo(&["microcode"]) {
        Fact::Known(revision) => Item::ok(NAME, format!("revision {revision}")),
        Fact::Unknown { not_available_here } => Item::not_available(NAME, not_available_here),
    }
}

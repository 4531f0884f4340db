//! The microcode decides with the kernel which mitigations are needed; it is shown, not judged.

use super::{Found, Root, ok};

pub(super) fn item(root: &Root) -> Found {
    ok(format!("revision {}", root.cpuinfo(&["microcode"]).or_why()?))
}

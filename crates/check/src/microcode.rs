//! The microcode decides with the kernel which mitigations are needed; it is shown, not judged.

use crate::{Found, Root, ok};

pub(crate) fn item(root: &Root) -> Found {
    ok(format!("revision {}", root.cpuinfo(&["microcode"]).or_why()?))
}

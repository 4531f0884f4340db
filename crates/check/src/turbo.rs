//! With turbo a core's frequency depends on how many others work, and on how warm it is.
use observe::machine::turbo;

use crate::{Fix, Found, Root, ok, warning};

pub(crate) fn item(root: &Root) -> Found {
    match turbo(root) {
        None => Err("the kernel has no switch for it here".to_owned()),
        Some(turbo) if !turbo.is_on => ok("off"),
        Some(turbo) => warning(
            "on",
            "the frequency falls when more cores work or get warm, which looks like a cost of the \
             load",
            Fix::files(turbo.file, [turbo.file.to_owned()], turbo.off),
        ),
    }
}

//! With turbo a core's frequency depends on how many others work, and on how warm it is.

use super::{Fix, Item, Root};
use crate::machine::turbo;

const NAME: &str = "turbo";

pub(super) fn item(root: &Root) -> Item {
    match turbo(root) {
        None => Item::not_available(NAME, "the kernel has no switch for it here"),
        Some(turbo) if !turbo.is_on => Item::ok(NAME, "off"),
        Some(turbo) => Item::warning(
            NAME,
            "on".to_owned(),
            "the frequency falls when more cores work or get warm, which looks like a cost of the \
             load",
            Fix::files(turbo.file, [turbo.file.to_owned()], turbo.off),
        ),
    }
}

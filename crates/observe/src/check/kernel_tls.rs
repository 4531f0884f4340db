//! Whether the kernel can encrypt records, which studies of kernel TLS need.

use super::{Fix, Item, Measured, Root};
use crate::Availability;

const NAME: &str = "kernel-tls";

pub(super) fn item(root: &Root, measured: &Measured) -> Item {
    let Availability::NotAvailable(why) = &measured.kernel_tls else {
        return Item::ok(NAME, "a socket accepts the TLS layer");
    };
    match root.kernel_config("TLS").known() {
        Some(Some(built)) if built == "m" => Item::warning(
            NAME,
            "the module `tls` is not loaded".to_owned(),
            "servers configured for kernel TLS silently fall back to user TLS",
            Fix::Command("modprobe tls".to_owned()),
        ),
        Some(None) => Item::not_available(NAME, "this kernel is built without CONFIG_TLS"),
        _ => Item::not_available(NAME, why),
    }
}

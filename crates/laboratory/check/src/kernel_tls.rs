//! Whether the kernel can encrypt records, which studies of kernel TLS need.
use observe::Availability;
use observe::machine;

use crate::item::{Fix, Found, ok, warning};
use crate::measured::Measured;
use observe::Root;

const MODULE: &str = "the module `tls` is not loaded";
const LOAD: &str = "modprobe tls";

/// What the kernel lacks, which is not known where only `why` says it; and what to do.
fn lacking<'a>(root: &Root, why: &'a str) -> (&'a str, String) {
    match root.kernel_config("TLS").known() {
        Some(Some(built)) if built == "m" => (MODULE, format!("run {LOAD} as root")),
        Some(None) => {
            ("this kernel is built without CONFIG_TLS", "boot a kernel with CONFIG_TLS".to_owned())
        }
        _ => (why, format!("run {LOAD} as root, or boot a kernel with CONFIG_TLS")),
    }
}

/// What this machine lacks for TLS in the kernel and what to do, in a clause; `None` where it has it.
pub fn kernel_tls_lacking() -> Option<String> {
    let Availability::NotAvailable(why) = machine::kernel_tls() else { return None };
    let (lacking, remedy) = lacking(&Root::machine(), &why);
    Some(format!("{lacking}; {remedy}"))
}

pub(crate) fn item(root: &Root, measured: &Measured) -> Found {
    let Availability::NotAvailable(why) = &measured.kernel_tls else {
        return ok("a socket accepts the TLS layer");
    };
    match lacking(root, why).0 {
        MODULE => warning(
            MODULE,
            "servers configured for kernel TLS silently fall back to user TLS",
            Fix::Command(LOAD.to_owned()),
        ),
        other => Err(other.to_owned()),
    }
}

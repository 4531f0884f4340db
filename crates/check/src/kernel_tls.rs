//! Whether the kernel can encrypt records, which studies of kernel TLS need.
use observe::Availability;
use observe::machine;

use crate::{Fix, Found, Measured, Root, ok, warning};

const LOAD: &str = "modprobe tls";

/// Why the kernel has no TLS layer.
enum Lacking<'a> {
    NotLoaded,
    NotBuilt,
    Unknown(&'a str),
}

impl<'a> Lacking<'a> {
    fn of(root: &Root, why: &'a str) -> Self {
        match root.kernel_config("TLS").known() {
            Some(Some(built)) if built == "m" => Self::NotLoaded,
            Some(None) => Self::NotBuilt,
            _ => Self::Unknown(why),
        }
    }

    fn seen(&self) -> &str {
        match self {
            Self::NotLoaded => "the module `tls` is not loaded",
            Self::NotBuilt => "this kernel is built without CONFIG_TLS",
            Self::Unknown(why) => why,
        }
    }
}

/// What this machine lacks for TLS in the kernel and what to do, in a clause; `None` where it has it.
pub fn kernel_tls_lacking() -> Option<String> {
    let Availability::NotAvailable(why) = machine::kernel_tls() else { return None };
    let lacking = Lacking::of(&Root::machine(), &why);
    let remedy = match lacking {
        Lacking::NotLoaded => format!("run {LOAD} as root"),
        Lacking::NotBuilt => "boot a kernel with CONFIG_TLS".to_owned(),
        Lacking::Unknown(_) => format!("run {LOAD} as root, or boot a kernel with CONFIG_TLS"),
    };
    Some(format!("{}; {remedy}", lacking.seen()))
}

pub(crate) fn item(root: &Root, measured: &Measured) -> Found {
    let Availability::NotAvailable(why) = &measured.kernel_tls else {
        return ok("a socket accepts the TLS layer");
    };
    match Lacking::of(root, why) {
        lacking @ Lacking::NotLoaded => warning(
            lacking.seen(),
            "servers configured for kernel TLS silently fall back to user TLS",
            Fix::Command(LOAD.to_owned()),
        ),
        lacking => Err(lacking.seen().to_owned()),
    }
}

//! Where the kernel counts the time of interrupts decides what "per server CPU-second" means.

use crate::{Fix, Found, Root, ok, warning};

pub(crate) fn item(root: &Root) -> Found {
    let config = root.kernel_config("IRQ_TIME_ACCOUNTING").or_why()?;
    match config.as_deref() {
        Some("y") => ok("CONFIG_IRQ_TIME_ACCOUNTING: interrupts are counted apart from processes"),
        _ => warning(
            "no CONFIG_IRQ_TIME_ACCOUNTING: interrupts are charged to the process that runs",
            "the server's CPU time includes network interrupts, also those of other programs on \
             its CPU",
            Fix::advice(
                "compare figures per CPU-second only with those of a kernel built with the same \
                 setting",
            ),
        ),
    }
}

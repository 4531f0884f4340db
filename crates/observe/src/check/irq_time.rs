//! Where the kernel counts the time of interrupts decides what "per server CPU-second" means.

use super::{Fix, Item, Root};

const NAME: &str = "irq-time";

pub(super) fn item(root: &Root) -> Item {
    let config = match root.kernel_config("IRQ_TIME_ACCOUNTING") {
        crate::Fact::Known(config) => config,
        crate::Fact::Unknown { not_available_here } => {
            return Item::not_available(NAME, not_available_here);
        }
    };
    match config.as_deref() {
        Some("y") => Item::ok(
            NAME,
            "CONFIG_IRQ_TIME_ACCOUNTING: interrupts are counted apart from processes",
        ),
        _ => Item::warning(
            NAME,
            "no CONFIG_IRQ_TIME_ACCOUNTING: interrupts are charged to the process that runs"
                .to_owned(),
            "the server's CPU time includes network interrupts, also those of other programs on \
             its CPU",
            Fix::Advice(
                "compare figures per CPU-second only with those of a kernel built with the same \
                 setting"
                    .to_owned(),
            ),
        ),
    }
}

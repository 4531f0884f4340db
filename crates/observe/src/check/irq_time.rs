//! To whom the kernel charges the time of interrupts decides what "per server CPU-second" means.

use super::{Item, Mend, Root};

const NAME: &str = "irq-time";

pub(super) fn item(root: &Root) -> Item {
    let config = match root.kernel_config("IRQ_TIME_ACCOUNTING") {
        crate::Fact::Known(config) => config,
        crate::Fact::Unknown { not_available_here } => {
            return Item::not_available(NAME, not_available_here);
        }
    };
    match config.as_deref() {
        Some("y") => Item::ok(NAME, "CONFIG_IRQ_TIME_ACCOUNTING: interrupts are nobody's time"),
        _ => Item::warning(
            NAME,
            "no CONFIG_IRQ_TIME_ACCOUNTING: interrupts are charged to whoever runs".to_owned(),
            "the server's CPU time holds network work, its own and that of others on its CPU",
            Mend::Advice(
                "compare figures per CPU-second only with those of a kernel that is built alike"
                    .to_owned(),
            ),
        ),
    }
}

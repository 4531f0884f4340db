//! Prefetchers that are off slow everything that reads memory in order: copies, hashes, ciphers.

use super::{Fix, Item, Measured, Root};
use crate::Fact;
use crate::machine::prefetchers;

const NAME: &str = "prefetchers";

pub(super) fn item(root: &Root, measured: &Measured) -> Item {
    let all = match prefetchers(root, measured.cpus.as_slice()[0]) {
        Fact::Known(all) => all,
        Fact::Unknown { not_available_here } => {
            return Item::not_available(NAME, not_available_here);
        }
    };
    let off: Vec<&str> = all.iter().filter(|one| !one.is_on).map(|one| one.name.as_str()).collect();
    match off.is_empty() {
        true => Item::ok(NAME, format!("all {} are on", all.len())),
        false => Item::warning(
            NAME,
            format!("{} of {} are off: {}", off.len(), all.len(), off.join(", ")),
            "data is fetched from memory only when it is needed, so bulk encryption is slower than \
             on other machines with this processor",
            Fix::Advice("switch them on in the firmware's settings".to_owned()),
        ),
    }
}

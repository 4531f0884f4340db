//! Prefetchers that are off slow everything that reads memory in order: copies, hashes, ciphers.
use observe::machine::prefetchers;

use crate::{Fix, Found, Measured, Root, ok, warning};

pub(crate) fn item(root: &Root, measured: &Measured) -> Found {
    let all = prefetchers(root, measured.cpus.as_slice()[0]).or_why()?;
    let off: Vec<&str> = all.iter().filter(|one| !one.is_on).map(|one| one.name.as_str()).collect();
    match off.is_empty() {
        true => ok(format!("all {} are on", all.len())),
        false => warning(
            format!("{} of {} are off: {}", off.len(), all.len(), off.join(", ")),
            "data is fetched from memory only when it is needed, so bulk encryption is slower than \
             on other machines with this processor",
            Fix::advice("switch them on in the firmware's settings"),
        ),
    }
}

//! Some mitigations of the processor's vulnerabilities work at each system call, which then costs
//! several times as much.
use observe::machine::{Mitigation, mitigations};

use crate::{Fix, Found, Root, ok, warning};

pub(crate) fn item(root: &Root) -> Found {
    let all = mitigations(root).or_why()?;
    let vulnerable: Vec<&str> = all
        .iter()
        .filter(|one| one.status.starts_with("Vulnerable"))
        .map(|one| one.vulnerability.as_str())
        .collect();
    let costly: Vec<String> =
        all.iter().filter(|one| one.is_at_each_system_call()).map(in_words).collect();
    let vulnerable = match vulnerable.is_empty() {
        true => String::new(),
        false => format!("; vulnerable: {}", vulnerable.join(", ")),
    };
    match costly.is_empty() {
        true => ok(format!("none works at each system call{vulnerable}")),
        false => warning(
            format!("at each system call: {}{vulnerable}", costly.join(", ")),
            "system calls cost several times as much as on a processor that needs none of these, \
             most where objects are small",
            Fix::advice(
                "compare with machines that have the same mitigations; they stay on where others \
                 can run code",
            ),
        ),
    }
}

fn in_words(Mitigation { vulnerability, status }: &Mitigation) -> String {
    format!("{vulnerability} ({})", status.trim_start_matches("Mitigation: "))
}

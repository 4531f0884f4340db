//! A clock that is no register of the processor costs a system call or more for each look.

use crate::{Fix, Found, Root, ok, warning};

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
/// Those that are read without leaving the program.
const FAST: [&str; 4] = ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"];

pub(crate) fn item(root: &Root) -> Found {
    let file = format!("{FOLDER}/current_clocksource");
    let Some(current) = root.line(&file).known().cloned() else {
        return Err(format!("cannot read {file}"));
    };
    if FAST.contains(&current.as_str()) {
        return ok(current);
    }
    let available = root.line(&format!("{FOLDER}/available_clocksource"));
    let available = available.known().cloned().unwrap_or_default();
    let better = FAST.into_iter().find(|fast| available.split(' ').any(|name| name == *fast));
    let fix = match better {
        Some(better) => Fix::files(&file, [file.clone()], better),
        None => Fix::advice("boot with a stable processor clock (see dmesg)"),
    };
    let why = "reading the clock costs a microsecond or more, in server and load";
    warning(current, why, fix)
}

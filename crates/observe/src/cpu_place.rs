/// The socket and, within it, the core of a CPU, as the kernel numbers them; `None` where it does not
/// tell. A virtual machine may tell what is not so.
#[must_use]
pub fn cpu_place(cpu: usize) -> Option<(usize, usize)> {
    let number = |name: &str| -> Option<usize> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    Some((number("physical_package_id")?, number("core_id")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_has_no_place() {
        assert_eq!(cpu_place(100_000), None);
    }
}

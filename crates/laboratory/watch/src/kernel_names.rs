//! The names of the kernel's functions (`/proc/kallsyms`).

use profile::Frame;

/// By address.
#[derive(Debug, Default)]
pub(crate) struct KernelNames(Vec<(u64, Frame)>);

impl KernelNames {
    /// None where the kernel hides its addresses.
    pub(crate) fn read() -> Self {
        Self::of(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn of(text: &str) -> Self {
        let line = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok().filter(|at| *at > 0)?;
            let kind = words.next()?;
            let name = words.next()?.to_owned();
            let module = words.next().unwrap_or("[kernel.kallsyms]").to_owned();
            matches!(kind, "t" | "T" | "w" | "W")
                .then_some((address, Frame { library: Some(module), function: Some(name) }))
        };
        let mut all: Vec<_> = text.lines().filter_map(line).collect();
        all.sort_by_key(|(address, _)| *address);
        Self(all)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn frame(&self, address: u64) -> Frame {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        let unnamed = || Frame { library: Some("[kernel.kallsyms]".to_owned()), function: None };
        after.checked_sub(1).map_or_else(unnamed, |place| self.0[place].1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_function_before_it_and_hidden_ones_have_none() {
        let names = KernelNames::of(
            "ffff10 T tcp_sendmsg\nffff40 D a_variable\nffff80 t tls_sw_sendmsg [tls]\n0 T hidden\n",
        );
        let name = |address| {
            let Frame { library, function } = names.frame(address);
            (library.unwrap(), function)
        };
        assert_eq!(name(0xffff7f).1.as_deref(), Some("tcp_sendmsg"));
        assert_eq!(name(0xffff80), ("[tls]".to_owned(), Some("tls_sw_sendmsg".to_owned())));
        assert_eq!(name(0x10), ("[kernel.kallsyms]".to_owned(), None));
        assert!(KernelNames::of("0 T tcp_sendmsg\n").is_empty());
    }
}

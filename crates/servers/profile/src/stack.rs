//! What was sampled.

/// What a CPU ran at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallStack {
    pub process: u32,
    /// The thread's name: `nginx`, `ksoftirqd/0`.
    pub thread: String,
    /// Innermost first.
    pub frames: Vec<Frame>,
}

/// A function that had been called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Frame {
    /// The file name of the program or library, `[kernel.kallsyms]` or a kernel module's name.
    pub library: Option<String>,
    /// `None` where the library has no symbol there.
    pub function: Option<String>,
}

impl Frame {
    pub(crate) fn is_of_kernel(&self) -> bool {
        // `[kernel.kallsyms]`, or a module: `[tls]`. The kernel's own code in a program is the program's.
        self.library.as_deref().is_some_and(|name| name.starts_with('[') && name != "[vdso]")
    }
}

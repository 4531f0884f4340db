//! Descriptors that are readable while they are set (eventfd(2)). No timer of the kernel is behind one: in
//! virtual machines each setting of a timer leaves the machine.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

pub(crate) struct Event {
    descriptor: OwnedFd,
    is_set: AtomicBool,
}

impl Event {
    /// `None` where the process has all the descriptors that it may have.
    pub(crate) fn new(is_set: bool) -> Option<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let descriptor = eventfd(is_set.into(), flags).ok()?;
        Some(Self { descriptor, is_set: AtomicBool::new(is_set) })
    }

    /// Has it be readable, or not. Nobody else changes it meanwhile, unless an operation is left with it.
    pub(crate) fn set(&self, is_set: bool) {
        if self.is_set.swap(is_set, Ordering::AcqRel) == is_set {
            return;
        }
        // Neither fails: its number is 0 or 1.
        let mut number = u64::from(is_set).to_ne_bytes();
        let _ = match is_set {
            true => rustix::io::write(&self.descriptor, &number),
            false => rustix::io::read(&self.descriptor, &mut number),
        };
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

//! A stack for batches. A job of OpenSSL has 32 KiB without a guard, of which Intel's library would take up to 30.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use libc::ucontext_t;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

/// Four times what the library was seen to take.
pub(crate) const SIZE: usize = 128 << 10;
/// Below it: who needs more ends the process, and does not write where somebody else has something.
const GUARD: usize = 4 << 10;

thread_local! {
    static STACK: RefCell<Option<CoroutineStack>> = const { RefCell::new(None) };
    /// What is to run on it.
    static NEXT: Cell<*mut c_void> = const { Cell::new(std::ptr::null_mut()) };
}

/// With the contexts of who is on it and of who waits for that.
struct CoroutineStack {
    memory: NonNull<c_void>,
    contexts: Box<[ucontext_t; 2]>,
}

struct Call<F, T> {
    act: Option<F>,
    result: Option<Result<T, Box<dyn Any + Send>>>,
}

impl CoroutineStack {
    fn new() -> Option<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let (any, length) = (std::ptr::null_mut(), GUARD + SIZE);
        // SAFETY: new memory, nobody else's; contexts are numbers, for which zeros are valid.
        unsafe {
            let memory = mmap_anonymous(any, length, access, MapFlags::PRIVATE).ok()?;
            let contexts = Box::new(std::mem::zeroed());
            let stack = Self { memory: NonNull::new(memory)?, contexts };
            mprotect(memory, GUARD, MprotectFlags::empty()).ok()?;
            Some(stack)
        }
    }

    fn run<T, F: FnOnce() -> T>(&mut self, act: F) -> Option<T> {
        let mut call = Call { act: Some(act), result: None };
        NEXT.set((&raw mut call).cast());
        let [there, back] = &mut *self.contexts;
        // SAFETY: both contexts stay where they are until this returns. The stack is nobody else's, as the caller has
        // this one mutably; what runs there ends before this returns, and no panic leaves it.
        unsafe {
            (libc::getcontext(there) == 0).then_some(())?;
            there.uc_stack.ss_sp = self.memory.as_ptr().byte_add(GUARD);
            there.uc_stack.ss_size = SIZE;
            there.uc_link = &raw mut *back;
            libc::makecontext(there, enter::<T, F>, 0);
            (libc::swapcontext(back, there) == 0).then_some(())?;
        }
        match call.result? {
            Ok(result) => Some(result),
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl Drop for CoroutineStack {
    fn drop(&mut self) {
        // SAFETY: what `new` has mapped, on which nothing runs any more.
        let _ = unsafe { munmap(self.memory.as_ptr(), GUARD + SIZE) };
    }
}

extern "C" fn enter<T, F: FnOnce() -> T>() {
    let call = NEXT.replace(std::ptr::null_mut()).cast::<Call<F, T>>();
    // SAFETY: the call of `run`, which waits for this.
    if let Some(call) = unsafe { call.as_mut() }
        && let Some(act) = call.act.take()
    {
        call.result = Some(catch_unwind(AssertUnwindSafe(act)));
    }
}

/// Runs it on the calling thread's stack for batches; `None`, without a run, where there is no memory for one.
pub(super) fn run<T>(act: impl FnOnce() -> T) -> Option<T> {
    STACK.with_borrow_mut(|stack| {
        if stack.is_none() {
            *stack = CoroutineStack::new();
        }
        stack.as_mut()?.run(act)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_there_has_its_result_and_its_panic() {
        let here = 0u8;
        let place = || {
            let there = 0u8;
            std::hint::black_box(&raw const there).addr()
        };
        for _ in 0..2 {
            let distance = run(place).unwrap().abs_diff((&raw const here).addr());
            assert!(distance > SIZE, "{distance}");
        }
        assert!(catch_unwind(|| run(|| panic!("this is caught"))).is_err());
        assert_eq!(run(|| 7), Some(7));
    }
}

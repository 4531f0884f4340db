//! Nothing is allocated while messages are hashed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use multibuffer::{Algorithm, Hasher, Sha1, Sha256, Sha512};

/// The system's allocator, with a count of each thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

fn check<A: Algorithm>() {
    let messages: Vec<Vec<u8>> = (0..40).map(|i| vec![7; i * 50]).collect();
    let mut digests = vec![A::ZEROS; messages.len()];
    for backend in Hasher::<A>::available().map(|hasher| hasher.backend()) {
        let count = allocations(|| {
            let hasher = Hasher::<A>::with(backend).unwrap();
            hasher.hash_many(&messages, &mut digests).unwrap();
        });
        assert_eq!(count, 0, "{} {backend}", A::NAME);
    }
}

#[test]
fn hashing_does_not_allocate() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
    check::<Sha1>();
    check::<Sha256>();
    check::<Sha512>();
}

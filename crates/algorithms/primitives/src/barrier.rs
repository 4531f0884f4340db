//! Where the threads of a measurement wait for each other, as long as none of them has left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// A barrier that a thread can leave; then no thread waits any more.
pub(crate) struct Barrier {
    members: usize,
    rounds: Mutex<Rounds>,
    changed: Condvar,
    is_over: AtomicBool,
}

/// How often all have met, and how many wait for the next time.
#[derive(Default)]
struct Rounds {
    complete: u64,
    waiting: usize,
}

/// A thread that takes part. Dropping it ends the barrier for all, in a panic's unwinding too.
pub(crate) struct Member<'a>(&'a Barrier);

impl Barrier {
    /// A barrier of `members` threads.
    pub(crate) fn new(members: usize) -> Self {
        Self {
            members,
            rounds: Mutex::default(),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Makes the calling thread a member.
    pub(crate) fn join(&self) -> Member<'_> {
        Member(self)
    }

    /// Waits for all the others; true for one of them, the leader. `None` where a member has left.
    pub(crate) fn wait(&self) -> Option<bool> {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.waiting += 1;
        if rounds.waiting == self.members {
            *rounds = Rounds { complete: rounds.complete + 1, waiting: 0 };
            self.changed.notify_all();
            return Some(true);
        }
        let before = rounds.complete;
        while rounds.complete == before {
            if self.is_over() {
                return None;
            }
            rounds = self.changed.wait(rounds).unwrap_or_else(PoisonError::into_inner);
        }
        Some(false)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        // Under the lock, so that no thread is between looking and waiting.
        let _rounds = self.0.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.is_over.store(true, Ordering::Relaxed);
        self.0.changed.notify_all();
    }
}

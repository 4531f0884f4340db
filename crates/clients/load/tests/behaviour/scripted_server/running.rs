//! A thread of a test that works until its owner is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;

pub struct Running {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// The work ends soon after the flag is set.
    pub fn start(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        Self { is_over, thread: Some(std::thread::spawn(move || work(&flag))) }
    }
}

impl Drop for Running {
    /// Panics as the thread did.
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

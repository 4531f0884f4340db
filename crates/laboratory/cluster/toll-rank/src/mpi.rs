//! Messages through MPI, by its calls that return at once.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use cluster::{Messages, RankProcess};

unsafe extern "C" {
    fn toll_mpi_init(rank: *mut c_int, size: *mut c_int) -> c_int;
    fn toll_mpi_version(text: *mut c_char, room: c_int);
    fn toll_mpi_finalize() -> c_int;
    fn toll_mpi_abort(code: c_int);
    fn toll_mpi_isend(bytes: *const u8, length: c_int, to: c_int) -> *mut c_void;
    fn toll_mpi_iprobe(has_come: *mut c_int, from: *mut c_int, length: *mut c_int) -> c_int;
    fn toll_mpi_receive(bytes: *mut u8, length: c_int, from: c_int) -> *mut c_void;
    fn toll_mpi_ibarrier() -> *mut c_void;
    fn toll_mpi_test(request: *mut c_void, is_done: *mut c_int) -> c_int;
}

/// This process as a rank of `mpirun`.
pub(crate) struct Mpi {
    rank: usize,
    size: usize,
    /// What is being sent.
    sending: Vec<(MpiRequest, Vec<u8>)>,
    /// What is being received, and its sender.
    receiving: Option<(MpiRequest, usize, Vec<u8>)>,
    barrier: Option<MpiRequest>,
}

/// Something that is under way.
struct MpiRequest(NonNull<c_void>);

impl MpiRequest {
    fn new(request: *mut c_void) -> Self {
        // MPI has no memory or was given a rank that is not there.
        Self(NonNull::new(request).unwrap_or_else(|| abort()))
    }

    /// Whether it is over; then it must not be asked again.
    fn is_done(&self) -> bool {
        let mut is_done = 0;
        // SAFETY: the request is one of the shim's, which frees it only where it is done; the callers
        // drop it then.
        if unsafe { toll_mpi_test(self.0.as_ptr(), &mut is_done) } != 0 {
            abort();
        }
        is_done != 0
    }
}

/// MPI cannot go on, and neither can the other ranks.
fn abort() -> ! {
    // SAFETY: MPI is there: only what it made calls this.
    unsafe { toll_mpi_abort(1) };
    std::process::abort()
}

impl Mpi {
    /// # Errors
    /// MPI does not start; it has printed why.
    pub(crate) fn init() -> Result<Self, String> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: it is called once, with places for two numbers.
        if unsafe { toll_mpi_init(&mut rank, &mut size) } != 0 {
            return Err("MPI does not start".to_owned());
        }
        let number = |number| usize::try_from(number).unwrap_or_default();
        let (sending, receiving, barrier) = (Vec::new(), None, None);
        Ok(Self { rank: number(rank), size: number(size), sending, receiving, barrier })
    }
}

impl RankProcess for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn version(&self) -> String {
        let mut text = [0; 256];
        // SAFETY: it writes at most this many bytes, the last of them a zero.
        unsafe { toll_mpi_version(text.as_mut_ptr(), text.len() as c_int) };
        // SAFETY: it has written a zero.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
        // Who built it, and where, follows.
        text.split(',').next().unwrap_or_default().to_owned()
    }

    fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    fn finalize(self) {
        // SAFETY: no other thread uses MPI, and no call of it follows.
        unsafe { toll_mpi_finalize() };
    }
}

impl Messages for Mpi {
    fn size(&self) -> usize {
        self.size
    }

    fn send(&mut self, to: usize, bytes: Vec<u8>) {
        if to >= self.size {
            return;
        }
        let length = c_int::try_from(bytes.len()).unwrap_or_else(|_| abort());
        // SAFETY: the bytes are kept, where they are, until the request is done.
        let request = unsafe { toll_mpi_isend(bytes.as_ptr(), length, to as c_int) };
        self.sending.push((MpiRequest::new(request), bytes));
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        self.sending.retain(|(request, _)| !request.is_done());
        if self.receiving.is_none() {
            let (mut has_come, mut from, mut length) = (0, 0, 0);
            // SAFETY: there are places for three numbers.
            if unsafe { toll_mpi_iprobe(&mut has_come, &mut from, &mut length) } != 0 {
                abort();
            }
            if has_come == 0 {
                return None;
            }
            let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
            // SAFETY: the bytes are kept, where they are, until the request is done, and there are as
            // many as the message has.
            let request = unsafe { toll_mpi_receive(bytes.as_mut_ptr(), length, from) };
            let from = usize::try_from(from).unwrap_or_default();
            self.receiving = Some((MpiRequest::new(request), from, bytes));
        }
        let (request, from, bytes) = self.receiving.take()?;
        if request.is_done() {
            return Some((from, bytes));
        }
        self.receiving = Some((request, from, bytes));
        None
    }

    fn enter_barrier(&mut self) {
        // SAFETY: it takes nothing.
        self.barrier = Some(MpiRequest::new(unsafe { toll_mpi_ibarrier() }));
    }

    fn has_passed_barrier(&mut self) -> bool {
        let has_passed = self.barrier.as_ref().is_none_or(MpiRequest::is_done);
        if has_passed {
            self.barrier = None;
        }
        has_passed
    }
}

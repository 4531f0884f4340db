//! Intel's ISA-L crypto, whose multi-buffer hashes toll's own kernels are held against: loaded from the
//! folder that `ISAL` names.
//!
//! Its job manager takes messages one by one and hands back those that are done. The functions are those
//! of its headers `sha1_mb.h`, `sha256_mb.h` and `sha512_mb.h`, up to 2.25 by their old names and since
//! then by those that begin with `isal_`. Of its structures only three fields are touched, which lie
//! where they have lain in all versions: the digest, in words of the processor, at byte 64, and status
//! and error right after the job.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use multibuffer::Backend;
use shared_library::SharedLibrary;

use crate::algorithm::{Algorithm, Hash};
use crate::libraries::library::{About, Library, OpenError};
use crate::material::Material;
use crate::routine::{Failed, Many, Routine, Unavailable};

/// The environment variable with the folder.
pub(crate) const VARIABLE: &str = "ISAL";

/// The library, or one variant of it.
pub(crate) struct IsaL {
    id: String,
    title: String,
    backend: Option<Backend>,
    library: SharedLibrary,
}

impl IsaL {
    /// By one of the names of libraries: what it chooses itself, or what can be forced where it
    /// exports it.
    pub(crate) fn named(id: &str) -> Result<Self, OpenError> {
        let backend = match id {
            "isa-l-avx512" => Some(Backend::Avx512),
            "isa-l-avx2" => Some(Backend::Avx2),
            _ => None,
        };
        let not_here = |why: String| OpenError::NotHere(format!("{id}: {why}"));
        let folder = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
        let folder = folder.ok_or_else(|| {
            not_here(format!("set {VARIABLE} to the folder of its libisal_crypto.so"))
        })?;
        if let Some(backend) = backend.filter(|backend| !backend.is_available()) {
            return Err(not_here(format!("this processor has no {backend}")));
        }
        let library = load(Path::new(&folder)).map_err(not_here)?;
        let title = match backend {
            None => "ISA-L crypto".to_owned(),
            Some(backend) => format!("ISA-L crypto {backend}"),
        };
        let opened = Self { id: id.to_owned(), title, backend, library };
        Manager::new(&opened, &SHA_256).map_err(|why| not_here(why.to_string()))?;
        Ok(opened)
    }

    /// A function of the library, of this variant.
    ///
    /// # Safety
    /// `F` is the function's type.
    unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        let names = match self.backend {
            None => vec![name.to_owned()],
            // Since 2.25 those of one kind of instructions begin with an underscore.
            Some(backend) => {
                let kind = if backend == Backend::Avx2 { "avx2" } else { "avx512" };
                vec![format!("{name}_{kind}"), format!("_{name}_{kind}")]
            }
        };
        // SAFETY: the caller's.
        names.iter().find_map(|name| unsafe { self.library.symbol(name) })
    }
}

/// From the folder itself, or from where its build and its installation put it.
fn load(folder: &Path) -> Result<SharedLibrary, String> {
    let places = ["", ".libs", "lib", "lib64"].into_iter().flat_map(|below| {
        ["libisal_crypto.so", "libisal_crypto.so.2"].map(|name| folder.join(below).join(name))
    });
    let mut there: Vec<PathBuf> = places.filter(|path| path.exists()).collect();
    if there.is_empty() {
        let folder = folder.display();
        return Err(format!("{VARIABLE}={folder} holds no libisal_crypto.so; name its folder"));
    }
    let path = there.swap_remove(0);
    SharedLibrary::open(&path).map_err(|why| format!("{}: {why}", path.display()))
}

impl Library for IsaL {
    fn about(&self) -> About<'_> {
        About { id: &self.id, title: &self.title, origin: "isa-l" }
    }

    fn prepare(&self, algorithm: Algorithm, _: &Material) -> Result<Routine, Unavailable> {
        match algorithm {
            Algorithm::Hash(Hash::Sha1) => many(self, &SHA_1),
            Algorithm::Hash(Hash::Sha256) => many(self, &SHA_256),
            Algorithm::Hash(Hash::Sha512) => many(self, &SHA_512),
            _ => Err(Unavailable::because("of ISA-L only the multi-buffer hashes are measured")),
        }
    }
}

/// A hash function of ISA-L.
struct Function {
    name: &'static str,
    /// Bytes of a job, which is what a context begins with.
    job: usize,
    digest: usize,
    /// Bytes of the digest's words.
    word: usize,
    /// Messages of a vector of 512 bits.
    lanes: usize,
}

const SHA_1: Function = Function { name: "sha1", job: 128, digest: 20, word: 4, lanes: 16 };
const SHA_256: Function = Function { name: "sha256", job: 128, digest: 32, word: 4, lanes: 16 };
const SHA_512: Function = Function { name: "sha512", job: 192, digest: 64, word: 8, lanes: 8 };

/// Room for a context of any of the three, all of which have less than 512 bytes.
#[repr(C, align(64))]
struct Context([u8; 1024]);

/// Room for a manager of any of the three, all of which have less than 4 KiB.
#[repr(C, align(64))]
struct ManagerRoom([u8; 16 << 10]);

/// Where the digest is in a context.
const DIGEST_AT: usize = 64;
/// `HASH_CTX_STS_COMPLETE`: a context that is done, or new.
const COMPLETE: u32 = 4;
/// `HASH_ENTIRE`: all of a message at once.
const ENTIRE: c_int = 3;

type Init = unsafe extern "C" fn(*mut c_void) -> c_int;
type Submit =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_void, u32, c_int) -> *mut c_void;
type Flush = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type NewSubmit = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *mut *mut c_void,
    *const c_void,
    u32,
    c_int,
) -> c_int;
type NewFlush = unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int;

#[derive(Clone, Copy)]
enum Calls {
    /// What is done comes back.
    Returned(Submit, Flush),
    /// What is done is written to an argument; what comes back is an error's number.
    Written(NewSubmit, NewFlush),
}

struct Manager {
    room: Box<ManagerRoom>,
    init: Init,
    calls: Calls,
}

impl Manager {
    fn new(of: &IsaL, function: &Function) -> Result<Self, Unavailable> {
        let name = function.name;
        let lacking = || Unavailable::because(format_args!("{} has no {name}_ctx_mgr_*", of.title));
        let old = |step: &str| format!("{name}_ctx_mgr_{step}");
        let new = |step: &str| format!("isal_{name}_ctx_mgr_{step}");
        // SAFETY: the types are those of the headers. What an old `init` returns is nothing, which a
        // caller that ignores it need not know.
        let found: Option<(Init, Calls)> = unsafe {
            let old = || {
                let calls =
                    Calls::Returned(of.function(&old("submit"))?, of.function(&old("flush"))?);
                Some((of.function(&old("init"))?, calls))
            };
            let new = || {
                let calls =
                    Calls::Written(of.function(&new("submit"))?, of.function(&new("flush"))?);
                Some((of.function(&new("init"))?, calls))
            };
            old().or_else(new)
        };
        let (init, calls) = found.ok_or_else(lacking)?;
        let room = Box::new(ManagerRoom([0; 16 << 10]));
        let mut manager = Self { room, init, calls };
        manager.reset();
        Ok(manager)
    }

    /// Makes the manager new: what it held, it holds no longer.
    fn reset(&mut self) {
        // SAFETY: there is more room than a manager takes, aligned as the headers ask.
        unsafe { (self.init)(self.room.0.as_mut_ptr().cast()) };
    }

    /// Has a message hashed some time, with a context that stays where it is until then.
    ///
    /// # Safety
    /// Context and message are left alone and live until the manager has finished all it holds, or is
    /// [`reset`](Self::reset).
    unsafe fn submit(&mut self, context: *mut Context, message: &[u8]) -> Result<(), Failed> {
        let length = u32::try_from(message.len()).map_err(|_| Failed::of("submit"))?;
        let manager = self.room.0.as_mut_ptr().cast();
        let (context, message) = (context.cast(), message.as_ptr().cast());
        match self.calls {
            Calls::Returned(submit, _) => {
                // SAFETY: the manager is one; the caller vouches for the rest. What is done shows in
                // its own context.
                unsafe { submit(manager, context, message, length, ENTIRE) };
                Ok(())
            }
            Calls::Written(submit, _) => {
                let mut done = ptr::null_mut();
                // SAFETY: the manager is one, what is done is written to `done`, and the caller vouches
                // for the rest.
                match unsafe { submit(manager, context, &raw mut done, message, length, ENTIRE) } {
                    0 => Ok(()),
                    _ => Err(Failed::of("submit")),
                }
            }
        }
    }

    /// Has one of the messages that wait finished; says whether there was one.
    fn flush(&mut self) -> bool {
        let manager = self.room.0.as_mut_ptr().cast();
        // SAFETY: the manager is one; what it holds is as `submit` demands.
        unsafe {
            match self.calls {
                Calls::Returned(_, flush) => !flush(manager).is_null(),
                Calls::Written(_, flush) => {
                    let mut done = ptr::null_mut();
                    flush(manager, &raw mut done) == 0 && !done.is_null()
                }
            }
        }
    }
}

fn many(of: &IsaL, function: &'static Function) -> Result<Routine, Unavailable> {
    let manager = Manager::new(of, function)?;
    let lanes = function.lanes;
    let lanes = if of.backend == Some(Backend::Avx2) { lanes / 2 } else { lanes };
    Ok(Routine::Many { lanes, run: hash_with(manager, function, lanes) })
}

fn hash_with(mut manager: Manager, function: &'static Function, lanes: usize) -> Many {
    let &Function { job, digest, word, .. } = function;
    // Status and error of a context that is done, or new.
    let mut done = [0; 8];
    done[..4].copy_from_slice(&COMPLETE.to_ne_bytes());
    let mut contexts: Vec<Context> = (0..lanes).map(|_| Context([0; 1024])).collect();
    Box::new(move |messages, output| {
        let submitted = contexts.iter_mut().zip(messages).try_for_each(|(context, message)| {
            // As the macro `hash_ctx_init` does.
            context.0[job..job + 8].copy_from_slice(&done);
            // SAFETY: contexts and messages outlive what follows the loop, however it ends; nothing
            // touches them until then.
            unsafe { manager.submit(context, message) }
        });
        // Each flush finishes one at least; a manager that never ends is wrong.
        let has_ended = submitted.is_ok() && (0..=lanes).any(|_| !manager.flush());
        if !has_ended {
            manager.reset();
        }
        submitted?;
        for (context, output) in contexts.iter().zip(output.chunks_exact_mut(digest)) {
            let state = &context.0[job..job + 8];
            if !has_ended || *state != done {
                return Err(Failed::because("its job manager loses messages"));
            }
            let words = context.0[DIGEST_AT..].chunks_exact(word);
            for (from, to) in words.zip(output.chunks_exact_mut(word)) {
                to.copy_from_slice(from);
                if cfg!(target_endian = "little") {
                    to.reverse();
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Messages that the manager below holds.
        static HELD: Cell<usize> = const { Cell::new(0) };
    }

    unsafe extern "C" fn init(_: *mut c_void) -> c_int {
        HELD.set(0);
        0
    }

    /// Takes all messages but empty ones.
    unsafe extern "C" fn submit(
        _: *mut c_void,
        _: *mut c_void,
        _: *mut *mut c_void,
        _: *const c_void,
        length: u32,
        _: c_int,
    ) -> c_int {
        HELD.set(HELD.get() + usize::from(length > 0));
        c_int::from(length == 0)
    }

    /// Never finishes any.
    unsafe extern "C" fn flush(manager: *mut c_void, done: *mut *mut c_void) -> c_int {
        // SAFETY: the caller has room for what is done.
        unsafe { *done = manager };
        0
    }

    #[test]
    fn a_manager_that_fails_holds_no_message_afterwards() {
        for messages in [["abc", ""], ["abc", "def"]] {
            let messages = messages.map(|message| message.as_bytes().to_vec());
            let manager = Manager {
                room: Box::new(ManagerRoom([0; 16 << 10])),
                init,
                calls: Calls::Written(submit, flush),
            };
            let mut hash = hash_with(manager, &SHA_256, 2);
            assert!(hash(&messages, &mut [0; 64]).is_err());
            assert_eq!(HELD.get(), 0, "{messages:?}");
        }
    }
}

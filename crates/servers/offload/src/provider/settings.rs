//! The settings of the provider where it is a shared library: the lines of its section in openssl.cnf
//! (config(5)). They are named like the keys of a study's target.

use std::ffi::{CStr, c_void};
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use counters::CounterRow;
use crypto_mb::CryptoMb;
use openssl_sys as ffi;

use super::pause_cost;
use super::sys::{self, CoreGetParams, Dispatch};
use crate::{Accelerator, Batching, CompletedBy, Description, Kind, Way};

pub(super) struct Settings {
    pub(super) accelerator: Which,
    /// Where to count.
    pub(super) counters: Option<Vec<CounterRow>>,
}

/// What the provider asks.
pub(super) enum Which {
    Model(Description),
    MultiBuffer(Box<CryptoMb>, Batching),
}

impl Which {
    /// Makes it the accelerator of this process.
    pub(super) fn make(self) {
        match self {
            Self::Model(description) => Accelerator::make(&description),
            Self::MultiBuffer(library, batching) => {
                // Now, for in a job of its own no other can be started.
                let by = CompletedBy::Event;
                let pause = pause_cost::of_server(batching.way, by);
                Accelerator::make_multi_buffer(*library, &batching, by, pause)
            }
        };
    }
}

/// Settings that are not there have their defaults.
///
/// # Safety
/// `core` are functions of OpenSSL, with an end, and `handle` is what they take.
///
/// # Errors
/// Which setting is wrong, and why.
pub(super) unsafe fn read(
    handle: *const c_void,
    core: *const Dispatch,
) -> Result<Settings, String> {
    // SAFETY: the caller's. A function of this number has this type.
    let lines = unsafe {
        let get = Dispatch::find(core, sys::CORE_GET_PARAMS);
        let get = get.ok_or("this OpenSSL gives a provider no settings")?;
        Lines { handle, get: std::mem::transmute::<*const (), CoreGetParams>(get) }
    };
    let mut description =
        Description { completed_by: CompletedBy::Event, ..Description::default() };
    let way = lines.read(c"offload", &mut description.way);
    way.map_err(|why| format!("{why}; write asynchronous, synchronous or inline"))?;
    let mut kind = Kind::Model;
    lines.read(c"accelerator", &mut kind)?;
    lines.read(c"accelerator-rate", &mut description.rates)?;
    lines.read(c"accelerator-latency", &mut description.latency)?;
    lines.read(c"accelerator-queue", &mut description.queue)?;
    lines.read(c"accelerator-count", &mut description.engines)?;
    let accelerator = match kind {
        Kind::MultiBuffer if description.way == Way::Inline => {
            return Err("accelerator = multi-buffer waits for company and cannot be inline; write offload = \
                        asynchronous or synchronous"
                .to_owned());
        }
        Kind::MultiBuffer => {
            let mut wait = Batching::WAIT;
            lines.read(c"batch-wait", &mut wait)?;
            let library = match lines.text(c"crypto-mb") {
                Some(path) => CryptoMb::open_at(Path::new(path)),
                None => CryptoMb::open(),
            };
            let library = library.map_err(|why| why.to_string())?;
            Which::MultiBuffer(Box::new(library), Batching { way: description.way, wait })
        }
        Kind::None => {
            return Err(
                "accelerator = none needs no provider; write model or multi-buffer".to_owned()
            );
        }
        Kind::Model => Which::Model(description),
    };
    let counters = lines.text(c"counters").map(|path| {
        let rows = CounterRow::open_for_processes(Path::new(path));
        rows.map_err(|error| format!("counters = {path}: {error}"))
    });
    Ok(Settings { accelerator, counters: counters.transpose()? })
}

/// The section of this provider.
struct Lines {
    handle: *const c_void,
    get: CoreGetParams,
}

impl Lines {
    /// The value of this name, where there is one.
    fn text(&self, name: &CStr) -> Option<&str> {
        let mut text = std::ptr::null_mut();
        // SAFETY: the name ends with zero, and the parameters end as OpenSSL has it. It keeps the text as
        // long as the provider.
        unsafe {
            let wanted = sys::OSSL_PARAM_construct_utf8_ptr(name.as_ptr(), &mut text, 0);
            let mut params = [wanted, ffi::OSSL_PARAM_construct_end()];
            (self.get)(self.handle, params.as_mut_ptr());
            (!text.is_null()).then(|| CStr::from_ptr(text).to_str().ok()).flatten()
        }
    }

    fn read<T: FromStr<Err: Display>>(&self, name: &CStr, into: &mut T) -> Result<(), String> {
        if let Some(text) = self.text(name) {
            let wrong = |why| format!("{} = {text}: {why}", name.to_string_lossy());
            *into = text.parse().map_err(wrong)?;
        }
        Ok(())
    }
}

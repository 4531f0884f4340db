use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Rates;

/// Where private keys are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// On the server's CPU.
    #[default]
    None,
    /// On a modelled device.
    Model,
}

/// How a server waits for the accelerator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// It serves other connections meanwhile.
    #[default]
    Asynchronous,
    /// Its thread does nothing else.
    Synchronous,
    /// Not at all: the answer is there at once, without a device. This is the bound of an accelerator
    /// that costs nothing.
    Inline,
}

/// A modelled accelerator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// How it is waited for.
    pub way: Way,
    /// How many operations each engine begins per second, by key.
    pub rates: Rates,
    /// From the beginning of an operation to its answer.
    pub latency: Nanos,
    /// How many operations the device holds at once.
    pub queue: NonZeroUsize,
    /// How many engines work side by side.
    pub engines: NonZeroUsize,
}

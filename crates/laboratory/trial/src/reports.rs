//! What server and ranks report of a load when it has ended.

use targets::{AcceleratorCounts, Aes, Crypto, CryptoFacts, SendCounters};

use crate::obtained::Orders;
use crate::ranks::RankReport;
use crate::sending::Sending;

/// What the others of a trial report when its load has ended.
#[derive(Debug)]
pub struct Reports {
    /// What the server reports, or why it is no longer the one that was started.
    pub server: Result<ServerReport, String>,
    /// Where ranks made the load, what they did.
    pub ranks: Option<RankReport>,
}

/// What a server that toll started reports of a load. Of others nothing is known.
#[derive(Debug, Default)]
pub struct ServerReport {
    /// The orders of a shop.
    pub orders: Option<Orders>,
    /// The cryptography of a server in Java: what was asked, and what it is.
    pub crypto: Option<((Crypto, Aes), CryptoFacts)>,
    /// What its accelerator did from before the load to after it.
    pub accelerated: Option<AcceleratorCounts>,
    /// What its backend served from before the load to after it.
    pub backend: Option<SendCounters>,
    /// How it sent.
    pub sending: Option<Sending>,
    /// The files that it has mapped and that are not those of the system that it was to come from.
    pub foreign: Vec<String>,
}

//! What other programs than toll's engine make of a load's keys.
//!
//! A study may say once, for all its cells, how bodies are received, and sweep clients that know
//! only one way. The rule is that of suites: what a nearer word makes useless is left out, and so is
//! what stands under `[load]`; what contradicts a word that is as near or farther is an error.

use std::num::NonZeroU32;

use load::{Arrival, Close, KeyExchangeMode, OneIn, Percent, Receive};
use units::Nanos;

use super::draft::{Draft, Origin, Said};
use super::error::Flaw;
use super::protocol::Cause;
use super::words::Time;
use crate::study::LoadClient;

/// The draft as its client carries it out: without what the client has no use for.
pub(super) fn fitted(draft: &Draft) -> Result<Draft, Flaw> {
    let Some(Said { value: client @ LoadClient::Other(_), origin }) = &draft.client else {
        return Ok(draft.clone());
    };
    let cause = |because: &'static str| Cause {
        words: format!("load.client = {client}"),
        because,
        origin: *origin,
    };
    cause("makes fresh keys")
        .useful(&draft.key_exchange, "load.key-exchange", |mode| mode == KeyExchangeMode::Fresh)?;
    cause("resumes no share of its sessions").useful(
        &draft.resumption,
        "load.resumption",
        |share| share == Percent::default(),
    )?;
    cause("offers encrypt-then-MAC wherever it can, so that target.encrypt-then-mac decides")
        .useful(&draft.encrypt_then_mac, "load.encrypt-then-mac", |_| false)?;
    cause("asks again as soon as it has its answer").useful(
        &draft.arrival,
        "load.arrival",
        |arrival| arrival == Arrival::CLOSED,
    )?;
    cause("opens all its connections at once")
        .useful(&draft.ramp, "load.ramp", |ramp| ramp.0 == Nanos(0))?;
    cause("closes in its own way")
        .useful(&draft.close, "load.close", |close| close == Close::Fin)?;
    cause("has no warm-up").useful(&draft.warmup, "load.warmup", |warmup| warmup.0 == Nanos(0))?;
    cause("decrypts everything")
        .useful(&draft.receive, "load.receive", |receive| receive == Receive::Decrypt)?;
    cause("verifies nothing").useful(&draft.verify, "load.verify", |_| false)?;
    Ok(Draft {
        key_exchange: None,
        resumption: unsaid(Percent::default()),
        encrypt_then_mac: None,
        arrival: unsaid(Arrival::CLOSED),
        ramp: unsaid(Time(Nanos(0))),
        close: unsaid(Close::Fin),
        warmup: unsaid(Time(Nanos(0))),
        receive: unsaid(Receive::Decrypt),
        // Not looked at.
        verify: unsaid(OneIn(NonZeroU32::MIN)),
        ..draft.clone()
    })
}

/// Leaves out of a cell's draft what follows from its client.
pub(super) fn forget_what_follows(draft: &mut Draft) {
    if let Some(Said { value: LoadClient::Other(_), .. }) = draft.client {
        draft.key_exchange = None;
        draft.resumption = None;
        draft.encrypt_then_mac = None;
        draft.arrival = None;
        draft.ramp = None;
        draft.close = None;
        draft.warmup = None;
        draft.receive = None;
        draft.verify = None;
    }
}

fn unsaid<T>(value: T) -> Option<Said<T>> {
    Some(Said { value, origin: Origin::UNSAID })
}

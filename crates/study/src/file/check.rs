//! Whether a cell can be measured here, as far as that can be told before anything is started.

use std::net::{Ipv4Addr, SocketAddr};

use cpus::CpuList;
use load::{Operation, Percent, Plan, Stop, TlsPlan, Trust, Url};
use tls::{CertificateKey, KeyExchange, Version};

use super::draft::{Draft, Origin, Said};
use super::error::Flaw;
use crate::study::{LoadClient, LoadSpec, Protocol, Server, TargetSpec};

/// Refuses a cell that this machine, its server or its load would refuse.
pub(super) fn check(
    draft: &Draft,
    target: &TargetSpec,
    load: &LoadSpec,
    allowed: &CpuList,
) -> Result<(), Flaw> {
    if let Some(cpus) = target.pinned_to() {
        check_cpus(cpus, "target.cpus", origin(&draft.target_cpus), allowed)?;
    }
    check_cpus(&load.cpus, "load.cpus", origin(&draft.load_cpus), allowed)?;
    check_handshakes(draft, load)?;
    super::server::check(draft, target, load)?;
    if !matches!(target.server, Server::Address(_)) {
        check_certificate(draft, target, load)?;
    }
    if target.server.is_configured() {
        check_encrypt_then_mac(draft, target, load)?;
        check_resumption(draft, target, load)?;
    }
    plan(load).check().map_err(|error| origin(&draft.duration).flaw(error.to_string()))?;
    refused_by_client(target, load).map_err(|why| origin(&draft.client).flaw(why))
}

/// Refuses what another client than toll's cannot do.
///
/// # Errors
/// What, and what to do.
pub(super) fn refused_by_client(target: &TargetSpec, load: &LoadSpec) -> Result<(), String> {
    let LoadClient::Other(peer) = load.client else { return Ok(()) };
    let plan = Plan { cpus: load.cpus.first(load.connections), ..plan(load) };
    peers::check(peer, &plan, target.server.offer())
        .map_err(|error| format!("load.client = {peer}: {error}"))
}

fn check_cpus(cpus: &CpuList, name: &str, origin: Origin, allowed: &CpuList) -> Result<(), Flaw> {
    match cpus.without(allowed) {
        None => Ok(()),
        Some(missing) => Err(origin.flaw(format!(
            "{name} = {cpus}: CPU {} is not available to this process; it may use {allowed}",
            missing.first(1)
        ))),
    }
}

fn check_handshakes(draft: &Draft, load: &LoadSpec) -> Result<(), Flaw> {
    if load.operation != Operation::Handshakes || load.protocol.is_tls() {
        return Ok(());
    }
    Err(origin(&draft.operation).flaw(
        "load.operation = handshakes, but plain HTTP has none; leave none out of load.tls and \
         load.suite",
    ))
}

fn check_certificate(draft: &Draft, target: &TargetSpec, load: &LoadSpec) -> Result<(), Flaw> {
    let Protocol::Tls { suite: Some(suite), .. } = load.protocol else { return Ok(()) };
    let key = target.certificate_key;
    let is_rsa = matches!(key, CertificateKey::Rsa(_));
    let wants = match suite.key_exchange {
        KeyExchange::EcdheRsa | KeyExchange::Rsa if !is_rsa => "rsa:2048",
        KeyExchange::EcdheEcdsa if is_rsa => "ecdsa:p256",
        _ => return Ok(()),
    };
    Err(origin(&draft.suite).flaw(format!(
        "load.suite = {suite} cannot be negotiated with target.certificate-key = {key}; it wants \
         one such as {wants}"
    )))
}

fn check_encrypt_then_mac(draft: &Draft, target: &TargetSpec, load: &LoadSpec) -> Result<(), Flaw> {
    match load.protocol {
        Protocol::Tls { encrypt_then_mac: Some(true), .. } if !target.encrypt_then_mac => {
            Err(origin(&draft.encrypt_then_mac).flaw(
                "load.encrypt-then-mac = true, but the server does not agree to it; write \
                 target.encrypt-then-mac = true too",
            ))
        }
        _ => Ok(()),
    }
}

fn check_resumption(draft: &Draft, target: &TargetSpec, load: &LoadSpec) -> Result<(), Flaw> {
    match load.protocol {
        Protocol::Tls { version, resumption, .. }
            if resumption != Percent::default()
                && !target.tickets
                && !(target.session_cache && version != Some(Version::Tls13)) =>
        {
            Err(origin(&draft.resumption).flaw(format!(
                "load.resumption = {resumption}, but the server gives nothing to resume; write \
                 target.tickets = true too"
            )))
        }
        _ => Ok(()),
    }
}

/// The plan of this load at a server that is not there yet.
pub(super) fn plan(load: &LoadSpec) -> Plan {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let tls = TlsPlan { trust: Trust::Anyone, ..TlsPlan::any() };
    Plan {
        url: Url::at(load.protocol.is_tls(), nowhere, load.object.only().unwrap_or("/")),
        objects: load.mixed_objects(),
        address: nowhere,
        tls: match load.protocol {
            Protocol::Plain => tls,
            Protocol::Tls { version, suite, group, encrypt_then_mac, key_exchange, resumption } => {
                TlsPlan { version, suite, group, encrypt_then_mac, key_exchange, resumption, ..tls }
            }
        },
        operation: load.operation,
        arrival: load.arrival,
        connections: load.connections,
        cpus: load.cpus.clone(),
        stop: Stop::After { warmup: load.warmup, duration: load.duration },
        receive: load.receive,
        verify: load.verify,
        timeout: load.timeout,
        ramp: load.ramp,
        close: load.close,
        seed: 0,
    }
}

fn origin<T>(said: &Option<Said<T>>) -> Origin {
    said.as_ref().map_or(Origin::UNSAID, |said| said.origin)
}

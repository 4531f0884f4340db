//! Whether a cell can be measured here, as far as that can be told before anything is started: what
//! server and load ask of each other, and of this machine.

use ::keys::full;
use std::net::{Ipv4Addr, SocketAddr};

use cpus::CpuList;
use load::{Counter, Job, Percent, Plan, Url};
use peers::Peer;
use targets::Target;
use tls::{CertificateKey, KeyExchange, Mac, Version};

use super::draft::Draft;
use super::error::Flaw;
use super::merged::Merged;
use study::{files, mixed_objects, offer, path};

/// Refuses a cell that this machine, its server or its load would refuse.
pub(super) fn check(
    draft: &Draft<'_>,
    target: &Target,
    plan: &Plan,
    allowed: &CpuList,
) -> Result<(), Flaw> {
    if let Some(cpus) = target.pinned_here() {
        check_cpus(&draft.target, cpus, full::CPUS, allowed)?;
    }
    if plan.ranks.is_none() {
        check_cpus(&draft.load, &plan.cpus, full::CLIENT_CPUS, allowed)?;
    }
    check_protocol(target, plan).map_err(|why| draft.target.flaw("server", why))?;
    check_quic(target, plan).map_err(|why| draft.load.flaw("http", why))?;
    let server = target.server;
    if server.is_started() {
        check_certificate(target, plan).map_err(|why| draft.load.flaw("suite", why))?;
    }
    check_sending(target, plan).map_err(|why| draft.target.flaw("send", why))?;
    check_counting(target, plan).map_err(|why| draft.load.flaw("count", why))?;
    check_library(draft, target, plan)?;
    if server.is_configured() && plan.encrypt_then_mac == Some(true) && !target.encrypt_then_mac {
        return Err(draft.load.flaw(
            "encrypt-then-mac",
            "load.encrypt-then-mac = true, but the server does not agree to it; write \
             target.encrypt-then-mac = true too",
        ));
    }
    if server.is_configured() && !can_resume(target, plan) {
        let what = format!(
            "load.resumption = {}, but the server gives nothing to resume; write target.tickets = \
             true too",
            plan.resumption
        );
        return Err(draft.load.flaw("resumption", what));
    }
    plan.check().map_err(|wrong| draft.load.wrong(wrong))?;
    if target.names.is_some() && plan.names.is_none() {
        // What a list of names contradicts, theirs does too.
        let named = Plan { names: Some("target.names".into()), ..plan.clone() };
        if let Some(conflict) = named.conflicts().iter().find(|found| found.cause == "names") {
            let what = format!(
                "target.names {}, which contradicts load.{}; leave one out",
                conflict.why, conflict.key
            );
            return Err(draft.load.flaw(conflict.key, what));
        }
    }
    // The shares of ranks were looked at one by one.
    if plan.ranks.is_none() {
        refused_by_client(target, plan).map_err(|why| draft.load.flaw("client", why))?;
    }
    match job(target, plan).period() {
        Ok(_) => Ok(()),
        Err(why) => Err(draft.load.flaw("arrival", format!("load.arrival: {why}"))),
    }
}

/// Refuses what another client than toll's cannot do.
pub(super) fn refused_by_client(target: &Target, plan: &Plan) -> Result<(), String> {
    let Some(peer) = Peer::of(plan.client) else { return Ok(()) };
    if let Some(to) = &target.connect_to {
        return Err(format!(
            "load.client = {peer} connects to the host of the URL, which contradicts \
             target.connect-to = {to}; leave one out"
        ));
    }
    peers::check(peer, &job(target, plan), offer(target.server))
        .map_err(|error| format!("load.client = {peer}: {error}"))
}

fn check_cpus(
    table: &Merged<'_>,
    cpus: &CpuList,
    name: &str,
    allowed: &CpuList,
) -> Result<(), Flaw> {
    match cpus.without(allowed) {
        None => Ok(()),
        Some(missing) => Err(table.flaw(
            "cpus",
            format!(
                "{name} = {cpus}: CPU {} is not available to this process; it may use {allowed}",
                missing.first(1)
            ),
        )),
    }
}

/// Refuses a load in a protocol that the server does not speak.
fn check_protocol(target: &Target, plan: &Plan) -> Result<(), &'static str> {
    match (&target.command, &target.url, plan.is_plain()) {
        (Some(line), _, false) if !line.has_tls() => Err(
            "target.command gives its server no port for TLS; write {port} where it belongs, or \
                 load.tls = \"none\"",
        ),
        (Some(line), _, true) if !line.has_plain() => {
            Err("target.command gives its server no port for plain HTTP; write {plain-port} where \
                 it belongs")
        }
        (_, Some(url), false) if !url.is_tls() => {
            Err("target.url is one of plain HTTP; write load.tls = \"none\" too")
        }
        (_, Some(url), true) if url.is_tls() => {
            Err("target.url is one of https, and the load is plain HTTP; write http://")
        }
        _ => Ok(()),
    }
}

/// Refuses HTTP/3 where toll starts the server without it.
fn check_quic(target: &Target, plan: &Plan) -> Result<(), String> {
    let server = target.server;
    if !plan.is_http3() || target.quic || target.command.is_some() || !server.is_started() {
        return Ok(());
    }
    Err(match server.uses("quic") {
        true => {
            "load.http = 3, but the server has no QUIC; write target.quic = true too".to_owned()
        }
        false => format!("load.http = 3, but {server} has no HTTP/3; use embedded or caddy"),
    })
}

fn check_certificate(target: &Target, plan: &Plan) -> Result<(), String> {
    let Some(suite) = plan.only_suite() else { return Ok(()) };
    let key = target.certificate_key;
    let is_rsa = matches!(key, CertificateKey::Rsa(_));
    let wants = match suite.key_exchange {
        KeyExchange::EcdheRsa | KeyExchange::Rsa if !is_rsa => "rsa:2048",
        KeyExchange::EcdheEcdsa if is_rsa => "ecdsa:p256",
        _ => return Ok(()),
    };
    Err(format!(
        "load.suite = {suite} cannot be negotiated with target.certificate-key = {key}; it wants \
         one such as {wants}"
    ))
}

/// Refuses a suite that the kernel cannot encrypt.
fn check_sending(target: &Target, plan: &Plan) -> Result<(), String> {
    match plan.only_suite() {
        Some(suite) if target.send.is_kernels() && suite.mac != Mac::Aead => Err(format!(
            "target.send = {}, but the kernel's TLS does not have load.suite = {suite}; use one \
             with GCM or ChaCha20, or target.send = user",
            target.send
        )),
        _ => Ok(()),
    }
}

/// Refuses to count the instructions of a server that toll cannot have counted, or of something else beside it.
fn check_counting(target: &Target, plan: &Plan) -> Result<(), String> {
    let Some(counter) = plan.counter() else { return Ok(()) };
    let server = target.server;
    let why = if !server.is_started() {
        "counts a server that toll starts, and this one runs already; count it by toll load --count \
         instructions"
            .to_owned()
    } else if let Some(host) = &target.host {
        format!("counts on this machine, and the server runs on {host}; leave target.host out")
    } else if target.has_device() {
        "would count the accelerator of the server's keys too; leave the accelerator out".to_owned()
    } else if counter == Counter::Callgrind && !server.runs_in_callgrind() {
        format!(
            "runs the server in callgrind, where {server} does not run; write instructions-by-perf, or use \
             embedded, nginx, apache, haproxy or command"
        )
    } else {
        return Ok(());
    };
    Err(format!("load.count = {counter} {why}"))
}

/// Refuses what the embedded server's TLS library does not have. A group that it lacks is found out when it
/// runs, as with OpenSSL.
fn check_library(draft: &Draft<'_>, target: &Target, plan: &Plan) -> Result<(), Flaw> {
    let (library, key) = (target.library.stack(), target.certificate_key);
    let lacks = |table: &Merged<'_>, name, what: String| {
        Err(table.flaw(
            name,
            format!(
                "{what}, which target.library = {library} does not have; choose another one, or \
                 target.library = openssl"
            ),
        ))
    };
    match plan.only_suite() {
        Some(suite) if !library.has_suite(suite) => {
            lacks(&draft.load, "suite", format!("load.suite = {suite}"))
        }
        _ if !library.has_key(key) => {
            lacks(&draft.target, "certificate-key", format!("target.certificate-key = {key}"))
        }
        _ => Ok(()),
    }
}

fn can_resume(target: &Target, plan: &Plan) -> bool {
    let is_tls13 = plan.asked_version() == Some(Version::Tls13);
    plan.resumption == Percent::default() || target.tickets || target.session_cache && !is_tls13
}

/// The load at a server that is not there yet.
fn job(target: &Target, plan: &Plan) -> Job {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let url = Url::at(!plan.is_plain(), address, path(target, plan));
    let objects = mixed_objects(target, plan);
    let plan = Plan { cpus: plan.cpus.first(plan.connections), ..plan.clone() };
    let names = target.names.into_iter().flat_map(objects::names).collect();
    Job { objects, names, files: files(target, &plan), ..Job::new(plan, url, address) }
}

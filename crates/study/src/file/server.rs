//! Which server a cell has, and the keys that only some servers have a use for.
//!
//! A study may sweep servers and say once, for all of them, what only some can be told. What is said
//! from farther away than the server is left out where it has no use; what is said as near, or nearer,
//! contradicts it.

use cpus::CpuList;
use load::Mix;
use tls::CertificateKey;
use units::Bytes;

use super::draft::{Draft, Origin, Said, need, said};
use super::error::Flaw;
use super::words::ServerName;
use crate::study::{Address, IfMissing, LoadSpec, Server, TargetSpec};

/// The server that a draft describes.
pub(super) fn of(draft: &Draft) -> Result<Server, Flaw> {
    let name = need(&draft.server, "target.server")?;
    let server = match name {
        ServerName::Embedded => Server::Embedded,
        ServerName::Nginx => Server::Nginx,
        ServerName::Haproxy => Server::Haproxy,
        ServerName::Command => Server::Command(needed(draft, &draft.command, "target.command")?),
        ServerName::Address => Server::Address(Address {
            url: needed(draft, &draft.url, "target.url")?,
            pid: draft.pid.as_ref().map(|said| said.value),
            i_operate_this_host: need(&draft.i_operate_this_host, "target.i-operate-this-host")?,
        }),
    };
    if name != ServerName::Command {
        useless(draft, &draft.command, "target.command")?;
    }
    if name != ServerName::Address {
        useless(draft, &draft.url, "target.url")?;
        useless(draft, &draft.pid, "target.pid")?;
        useless(draft, &draft.i_operate_this_host, "target.i-operate-this-host")?;
    }
    if !server.is_configured() {
        useless(draft, &draft.tickets, "target.tickets")?;
        useless(draft, &draft.session_cache, "target.session-cache")?;
        useless(draft, &draft.target_encrypt_then_mac, "target.encrypt-then-mac")?;
    }
    if name == ServerName::Address {
        useless(draft, &draft.if_missing, "target.if-missing")?;
        useless(draft, &draft.target_cpus, "target.cpus")?;
        useless(draft, &draft.cores, "target.cores")?;
        useless(draft, &draft.certificate_key, "target.certificate-key")?;
        useless(draft, &draft.object, "target.object")?;
        useless(draft, &draft.library_path, "target.library-path")?;
        useless(draft, &draft.environment, "target.environment")?;
    }
    Ok(server)
}

fn needed<T: Clone>(draft: &Draft, value: &Option<Said<T>>, name: &str) -> Result<T, Flaw> {
    let Some(server) = &draft.server else { return need(value, name) };
    value.as_ref().map(|said| said.value.clone()).ok_or_else(|| {
        server.origin.flaw(format!("target.server = {} lacks {name}; write it too", server.value))
    })
}

/// Refuses a key that the server has no use for, where it is said as near as the server or nearer.
fn useless<T>(draft: &Draft, key: &Option<Said<T>>, name: &str) -> Result<(), Flaw> {
    match (key, &draft.server) {
        (Some(key), Some(server))
            if key.origin.line.is_some() && key.origin.reach >= server.origin.reach =>
        {
            Err(key.origin.flaw(format!(
                "{name} has no use with target.server = {}; leave it out",
                server.value
            )))
        }
        _ => Ok(()),
    }
}

/// Leaves in a cell what its server has a use for, so that equal servers are equal targets.
pub(super) fn without_useless(target: TargetSpec, load: LoadSpec) -> (TargetSpec, LoadSpec) {
    let own = |target: TargetSpec| TargetSpec {
        tickets: false,
        session_cache: false,
        encrypt_then_mac: false,
        ..target
    };
    match target.server {
        Server::Embedded | Server::Nginx | Server::Haproxy => (target, load),
        Server::Command(_) => (own(target), load),
        Server::Address(_) => {
            (of_nobody(own(target)), LoadSpec { object: Mix::of_size(Bytes(1 << 20)), ..load })
        }
    }
}

/// With nothing that toll would tell a server that it starts.
fn of_nobody(target: TargetSpec) -> TargetSpec {
    TargetSpec {
        if_missing: IfMissing::Skip,
        cpus: CpuList::from(0),
        certificate_key: CertificateKey::Rsa(2048),
        library_path: targets::LibraryPath::System,
        environment: targets::Environment::default(),
        ..target
    }
}

/// Writes into a draft what must be said to have this server.
pub(super) fn tell(server: &Server, draft: &mut Draft) {
    let name = match server {
        Server::Embedded => ServerName::Embedded,
        Server::Nginx => ServerName::Nginx,
        Server::Haproxy => ServerName::Haproxy,
        Server::Command(line) => {
            draft.command = said(line.clone());
            ServerName::Command
        }
        Server::Address(Address { url, pid, i_operate_this_host }) => {
            draft.url = said(url.clone());
            draft.pid = pid.and_then(said);
            draft.i_operate_this_host = said(*i_operate_this_host);
            ServerName::Address
        }
    };
    draft.server = said(name);
}

/// Leaves out of a draft what has no use with this server.
pub(super) fn forget_useless(server: &Server, draft: &mut Draft) {
    if !server.is_configured() {
        (draft.tickets, draft.session_cache, draft.target_encrypt_then_mac) = (None, None, None);
    }
    if matches!(server, Server::Address(_)) {
        (draft.if_missing, draft.target_cpus, draft.object) = (None, None, None);
        draft.certificate_key = None;
        (draft.library_path, draft.environment) = (None, None);
    }
}

/// Refuses a load that the server cannot answer.
pub(super) fn check(draft: &Draft, target: &TargetSpec, load: &LoadSpec) -> Result<(), Flaw> {
    let is_tls = load.protocol.is_tls();
    let flaw = |what: &str| draft.server.as_ref().map(|server| server.origin.flaw(what));
    let why = match &target.server {
        Server::Command(line) if is_tls && !line.has_tls() => {
            "target.command tells its server no port for TLS; write {port} where it belongs, or \
             load.tls = \"none\""
        }
        Server::Command(line) if !is_tls && !line.has_plain() => {
            "target.command tells its server no port for plain HTTP; write {plain-port} where it \
             belongs"
        }
        Server::Address(address) if is_tls && !address.url.is_tls() => {
            "target.url is one of plain HTTP; write load.tls = \"none\" too"
        }
        Server::Address(address) if !is_tls && address.url.is_tls() => {
            "target.url is one of https, and the load is plain HTTP; write http://"
        }
        _ => "",
    };
    if let (false, Some(flaw)) = (why.is_empty(), flaw(why)) {
        return Err(flaw);
    }
    if load.insecure && load.ca.is_some() {
        let origin = draft.insecure.as_ref().map_or(Origin::UNSAID, |said| said.origin);
        return Err(
            origin.flaw("load.insecure trusts any certificate, and load.ca one; leave one out")
        );
    }
    Ok(())
}

//! A cell in the making: what is said of it, where, and how near to it.

use cpus::CpuList;
use load::{Arrival, Close, KeyExchangeMode, OneIn, Operation, Percent, Receive, Url};
use targets::{CommandLine, Environment, LibraryPath};
use tls::{CertificateKey, Group, Suite, Version};

use super::client;
use super::error::Flaw;
use super::find::FindDraft;
use super::keys::{KEYS, Otherwise};
use super::words::{FilePath, Objects, Secured, ServerName, Time};
use super::{protocol, server};
use crate::cpu_order::CpuOrder;
use crate::find::Over;
use crate::study::{Cell, IfMissing, LoadClient, LoadSpec, Only, Protocol, TargetSpec};

/// What is said of a cell, key by key. What is `None` is left open, or lacking.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) server: Option<Said<ServerName>>,
    pub(super) if_missing: Option<Said<IfMissing>>,
    pub(super) target_cpus: Option<Said<CpuOrder>>,
    pub(super) cores: Option<Said<usize>>,
    pub(super) certificate_key: Option<Said<CertificateKey>>,
    pub(super) object: Option<Said<Objects>>,
    pub(super) tickets: Option<Said<bool>>,
    pub(super) session_cache: Option<Said<bool>>,
    pub(super) target_encrypt_then_mac: Option<Said<bool>>,
    pub(super) library_path: Option<Said<LibraryPath>>,
    pub(super) environment: Option<Said<Environment>>,
    pub(super) command: Option<Said<CommandLine>>,
    pub(super) url: Option<Said<Url>>,
    pub(super) pid: Option<Said<u32>>,
    pub(super) i_operate_this_host: Option<Said<bool>>,
    pub(super) client: Option<Said<LoadClient>>,
    pub(super) load_cpus: Option<Said<CpuList>>,
    pub(super) operation: Option<Said<Operation>>,
    pub(super) connections: Option<Said<usize>>,
    pub(super) tls: Option<Said<Secured<Version>>>,
    pub(super) suite: Option<Said<Secured<&'static Suite>>>,
    pub(super) group: Option<Said<Group>>,
    pub(super) encrypt_then_mac: Option<Said<bool>>,
    pub(super) key_exchange: Option<Said<KeyExchangeMode>>,
    pub(super) resumption: Option<Said<Percent>>,
    pub(super) receive: Option<Said<Receive>>,
    pub(super) verify: Option<Said<OneIn>>,
    pub(super) arrival: Option<Said<Arrival>>,
    pub(super) ramp: Option<Said<Time>>,
    pub(super) warmup: Option<Said<Time>>,
    pub(super) duration: Option<Said<Time>>,
    pub(super) timeout: Option<Said<Time>>,
    pub(super) close: Option<Said<Close>>,
    pub(super) ca: Option<Said<FilePath>>,
    pub(super) insecure: Option<Said<bool>>,
    /// What is searched for.
    pub(super) find: FindDraft,
}

/// A value, and where it was said.
#[derive(Debug, Clone)]
pub(super) struct Said<T> {
    pub(super) value: T,
    pub(super) origin: Origin,
}

/// Where a value was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) reach: Reach,
    /// `None` where the file does not say it.
    pub(super) line: Option<usize>,
}

/// For how much a value was said. The later ones are nearer to a cell, and count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// For all cases.
    File,
    /// For all cells of a case.
    Case,
    /// For the cells of a case that have this value.
    Sweep,
}

impl Origin {
    /// What holds without being said.
    pub(super) const UNSAID: Self = Self { reach: Reach::File, line: None };

    pub(super) fn file(line: usize) -> Self {
        Self { reach: Reach::File, line: Some(line) }
    }

    pub(super) fn case(line: usize) -> Self {
        Self { reach: Reach::Case, line: Some(line) }
    }

    pub(super) fn sweep(line: usize) -> Self {
        Self { reach: Reach::Sweep, line: Some(line) }
    }

    /// An error about what was said there.
    pub(super) fn flaw(self, what: impl Into<String>) -> Flaw {
        match self.line {
            Some(line) => Flaw::at(line, what),
            None => Flaw::lacking(what),
        }
    }
}

impl Draft {
    /// What holds where a study says nothing.
    pub(super) fn unsaid(allowed: &CpuList) -> Result<Self, Flaw> {
        let first = allowed.first(1);
        let second = allowed.without(&first).map_or_else(|| first.clone(), |rest| rest.first(1));
        let mut draft = Self::default();
        for key in KEYS {
            let text = match key.otherwise() {
                Otherwise::Needed | Otherwise::Open => continue,
                Otherwise::Value(text) => text.to_owned(),
                Otherwise::FirstCpu => first.to_string(),
                Otherwise::SecondCpu => second.to_string(),
            };
            key.set(&mut draft, &text, Origin::UNSAID).map_err(Flaw::lacking)?;
        }
        Ok(draft)
    }

    /// The CPUs that a server may have which is given a number of cores: those that are written, or
    /// else all that this process may use, without the client's where there are others.
    pub(super) fn pool(&self, allowed: &CpuList) -> Result<Option<CpuOrder>, Flaw> {
        let is_elsewhere =
            self.server.as_ref().is_some_and(|server| server.value == ServerName::Address);
        if self.cores.is_none() || is_elsewhere {
            return Ok(None);
        }
        if let Some(said) = self.target_cpus.as_ref().filter(|said| said.origin != Origin::UNSAID) {
            return Ok(Some(said.value.clone()));
        }
        let client = need(&self.load_cpus, "load.cpus")?;
        let others = allowed.without(&client).unwrap_or_else(|| allowed.clone());
        Ok(Some(CpuOrder::spread(&others, &client, observe::cpu_place)))
    }

    fn server_cpus(&self, pool: Option<&CpuOrder>) -> Result<CpuList, Flaw> {
        match (&self.cores, pool) {
            (Some(cores), Some(pool)) => pool.first(cores.value).ok_or_else(|| {
                cores.origin.flaw(format!(
                    "target.cores = {} is more than there are: the server may have {} ({pool})",
                    cores.value,
                    pool.len()
                ))
            }),
            _ => Ok(need(&self.target_cpus, "target.cpus")?.list()),
        }
    }

    /// The server and the load that this describes.
    /// `pool` are the CPUs that a server with a number of cores may have.
    pub(super) fn finish(&self, pool: Option<&CpuOrder>) -> Result<(TargetSpec, LoadSpec), Flaw> {
        let draft = client::fitted(self)?;
        let target = TargetSpec {
            server: server::of(&draft)?,
            if_missing: need(&draft.if_missing, "target.if-missing")?,
            cpus: self.server_cpus(pool)?,
            certificate_key: need(&draft.certificate_key, "target.certificate-key")?,
            tickets: need(&draft.tickets, "target.tickets")?,
            session_cache: need(&draft.session_cache, "target.session-cache")?,
            encrypt_then_mac: need(&draft.target_encrypt_then_mac, "target.encrypt-then-mac")?,
            only: Only::default(),
            library_path: need(&draft.library_path, "target.library-path")?,
            environment: need(&draft.environment, "target.environment")?,
        };
        let load = LoadSpec {
            client: need(&draft.client, "load.client")?,
            cpus: need(&draft.load_cpus, "load.cpus")?,
            operation: need(&draft.operation, "load.operation")?,
            arrival: need(&draft.arrival, "load.arrival")?,
            object: need(&draft.object, "target.object")?.0,
            connections: need(&draft.connections, "load.connections")?,
            protocol: protocol::of(&draft)?,
            receive: need(&draft.receive, "load.receive")?,
            verify: need(&draft.verify, "load.verify")?,
            ramp: need(&draft.ramp, "load.ramp")?.0,
            warmup: need(&draft.warmup, "load.warmup")?.0,
            duration: need(&draft.duration, "load.duration")?.0,
            timeout: need(&draft.timeout, "load.timeout")?.0,
            close: need(&draft.close, "load.close")?,
            ca: draft.ca.as_ref().map(|said| said.value.0.clone()),
            insecure: need(&draft.insecure, "load.insecure")?,
        };
        Ok(server::without_useless(target, load))
    }
}

pub(super) fn need<T: Clone>(said: &Option<Said<T>>, name: &str) -> Result<T, Flaw> {
    said.as_ref()
        .map(|said| said.value.clone())
        .ok_or_else(|| Flaw::lacking(format!("{name} is not given; write it")))
}

impl From<&Cell> for Draft {
    /// All that must be said to have this cell.
    fn from(cell: &Cell) -> Self {
        let mut draft = Self::complete(cell);
        server::forget_useless(&cell.target.server, &mut draft);
        draft
    }
}

impl Draft {
    /// This cell, with what its server has no use for.
    pub(super) fn complete(cell: &Cell) -> Self {
        let Cell { target, load, .. } = cell;
        let mut draft = Self {
            if_missing: said(target.if_missing),
            target_cpus: said(cell.pool.clone().unwrap_or_else(|| CpuOrder::from(&target.cpus))),
            cores: cell.pool.as_ref().and_then(|_| said(target.cpus.len())),
            certificate_key: said(target.certificate_key),
            object: said(Objects(load.object.clone())),
            tickets: said(target.tickets),
            session_cache: said(target.session_cache),
            target_encrypt_then_mac: said(target.encrypt_then_mac),
            library_path: said(target.library_path.clone()),
            environment: said(target.environment.clone()),
            client: said(load.client),
            load_cpus: said(load.cpus.clone()),
            operation: said(load.operation),
            connections: said(load.connections),
            receive: said(load.receive),
            verify: said(load.verify),
            arrival: said(load.arrival),
            ramp: said(Time(load.ramp)),
            warmup: said(Time(load.warmup)),
            duration: said(Time(load.duration)),
            timeout: said(Time(load.timeout)),
            close: said(load.close),
            ca: load.ca.clone().map(FilePath).and_then(said),
            insecure: said(load.insecure),
            tls: said(Secured::Plain),
            ..Self::default()
        };
        if let Some(find) = &cell.find {
            draft.find = FindDraft::from(find);
            // The search says them.
            match find.over {
                Over::Connections => draft.connections = None,
                Over::Arrival(_) => draft.arrival = None,
            }
        }
        if let Protocol::Tls { version, suite, group, encrypt_then_mac, key_exchange, resumption } =
            load.protocol
        {
            draft.tls = version.and_then(|version| said(Secured::With(version)));
            draft.suite = suite.and_then(|suite| said(Secured::With(suite)));
            draft.group = group.and_then(said);
            draft.encrypt_then_mac = encrypt_then_mac.and_then(said);
            draft.key_exchange = key_exchange.and_then(said);
            draft.resumption = said(resumption);
        }
        server::tell(&target.server, &mut draft);
        client::forget_what_follows(&mut draft);
        draft
    }
}

pub(super) fn said<T>(value: T) -> Option<Said<T>> {
    Some(Said { value, origin: Origin::UNSAID })
}

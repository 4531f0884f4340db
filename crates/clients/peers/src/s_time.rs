//! `openssl s_time -new`: its command line and its report.
//!
//! It makes one handshake after another on one thread, closes each connection without close_notify,
//! and reports its duration only in whole seconds.

use std::ffi::OsString;

use load::{Http, Job};
use tls::Version;
use units::Nanos;

use crate::refusal::refuse_without_option;
use crate::report::Report;
use crate::{Peer, PeerError};

pub(crate) fn arguments(job: &Job, duration: Nanos) -> Result<Vec<OsString>, PeerError> {
    let plan = &job.plan;
    refuse_without_option(Peer::STime, plan.group.map(|group| format!("--group {group}")))?;
    if job.plan.connections != 1 {
        return Err(PeerError::Refused(
            "s_time makes one connection after another; add --connections 1".into(),
        ));
    }
    let mut arguments: Vec<String> = ["s_time", "-new", "-connect"].map(str::to_owned).into();
    arguments.push(job.address.to_string());
    arguments.extend(["-time".to_owned(), (duration.0 / 1_000_000_000).to_string()]);
    arguments.extend(plan.asked_version().map(|version| {
        match version {
            Version::Tls12 => "-tls1_2",
            Version::Tls13 => "-tls1_3",
        }
        .to_owned()
    }));
    if let Some(suite) = plan.only_suite() {
        let option = match suite.version() {
            Version::Tls12 => "-cipher",
            Version::Tls13 => "-ciphersuites",
        };
        arguments.extend([option.to_owned(), suite.openssl_name.to_owned()]);
    }
    Ok(arguments.into_iter().map(OsString::from).collect())
}

pub(crate) fn read(text: &str) -> Result<Report, String> {
    let completed = text
        .lines()
        .find_map(|line| {
            let (connections, rest) = line.trim().split_once(" connections in ")?;
            rest.contains("real seconds").then_some(connections)?.parse().ok()
        })
        .ok_or("has no line `connections in ... real seconds`")?;
    Ok(Report {
        duration: None,
        completed,
        not_ended: None,
        failures: Vec::new(),
        body: 0,
        http: Http::V1,
        negotiated: None,
    })
}

//! A study's cell, for tests to change.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use cpus::CpuList;
use load::{OneIn, Plan};
use targets::Target;
use tls::{OrPlain, Version};
use units::Nanos;

use crate::{Cell, Only};

/// The server with this name.
pub fn server(name: &str) -> &'static targets::Server {
    targets::by_name(name).unwrap()
}

/// A cell whose server and load are nothing special.
pub fn cell(case: &str, number: usize, server: &'static targets::Server) -> Cell {
    let load = Plan {
        cpus: CpuList::from(1),
        tls: Some(OrPlain::Tls(Version::Tls13)),
        verify: Some(OneIn(NonZeroU32::MIN)),
        warmup: Some(Nanos(0)),
        duration: Nanos(1_000_000_000),
        ..Plan::default()
    };
    Cell {
        case: case.to_owned(),
        name: format!("{case}-{number:04}"),
        params: BTreeMap::from([("target.server".to_owned(), server.to_string())]).into(),
        target: Target { server, ..Target::default() },
        only: Only::default(),
        load: load.settled(),
        find: None,
        pool: None,
    }
}

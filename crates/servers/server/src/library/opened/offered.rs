//! What a library is to offer, and what it lacks of that.

use tls::{Group, Stack, Suite};

use crate::error::ServerError;
use crate::library::offered::client_authorities;
use crate::settings::Settings;

pub(super) fn lacks(library: Stack, lacks: impl Into<String>) -> ServerError {
    ServerError::Lacks { library, lacks: lacks.into() }
}

/// The certificates of authorities in PEM form, where clients need one that these have issued.
pub(super) fn client_authorities_pem(settings: &Settings) -> Result<Option<Vec<u8>>, ServerError> {
    let all: Result<Vec<_>, _> =
        client_authorities(settings)?.iter().map(|authority| authority.to_pem()).collect();
    let what = "the authorities of clients";
    let all = all.map_err(|source| ServerError::OpenSsl { what, source })?.concat();
    Ok(Some(all).filter(|pem| !pem.is_empty()))
}

/// The suites to offer: those that are asked for, or all that toll knows and the library has.
pub(super) fn offered_suites(
    settings: &Settings,
    has: impl Fn(&Suite) -> bool,
) -> Vec<&'static Suite> {
    match settings.suites.is_empty() {
        true => tls::SUITES.iter().filter(|suite| has(suite)).collect(),
        false => settings.suites.clone(),
    }
}

/// As [`offered_suites`].
pub(super) fn offered_groups(settings: &Settings, has: impl Fn(Group) -> bool) -> Vec<Group> {
    match settings.groups.is_empty() {
        true => Group::ALL.into_iter().filter(|group| has(*group)).collect(),
        false => settings.groups.clone(),
    }
}

/// Those with tickets alone resume nothing where those are off.
pub(super) fn check_resumption(settings: &Settings) -> Result<(), ServerError> {
    match settings.session_cache && !settings.tickets {
        true => Err(lacks(settings.library, "--session-cache without --tickets in toll")),
        false => Ok(()),
    }
}

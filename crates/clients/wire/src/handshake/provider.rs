//! What an offer takes from rustls's crypto provider.

use rustls::NamedGroup;
use rustls::crypto::aws_lc_rs::kx_group::{MLKEM1024, SECP256R1MLKEM768, X25519MLKEM768};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::ServerName;
use tls::Group;

use super::fixed_share::fixed;
use super::fresh_p521::FreshP521;
use super::offer::Offer;
use super::offer_error::OfferError;
use crate::randomness::Buffered;

/// All suites, and the groups of the offer, fixed or fresh.
pub(super) fn provider(offer: &Offer) -> CryptoProvider {
    let mut provider = default_provider();
    provider.secure_random = &Buffered;
    // Shares of ML-KEM are thirty times as long, so they are offered only on request.
    let wanted = |group: &Group| match offer.group {
        None => !group.is_of_tls13_only(),
        Some(asked) => asked == *group,
    };
    match offer.fixed_key_exchange {
        true => {
            provider.kx_groups = Group::ALL.into_iter().filter(wanted).map(fixed).collect();
        }
        false => {
            let others: [&dyn SupportedKxGroup; 4] =
                [&FreshP521, X25519MLKEM768, SECP256R1MLKEM768, MLKEM1024];
            provider.kx_groups.extend(others);
            provider
                .kx_groups
                .retain(|theirs| group(theirs.name()).is_some_and(|group| wanted(&group)));
        }
    }
    provider
}

pub(super) fn group(name: NamedGroup) -> Option<Group> {
    Group::ALL.into_iter().find(|group| group.code_point() == u16::from(name))
}

/// The name or address by which the server is checked.
pub(super) fn server_name(offer: &Offer) -> Result<ServerName<'static>, OfferError> {
    let host = &offer.host;
    ServerName::try_from(host.clone())
        .map_err(|_| OfferError(format!("`{host}` is not a server name that TLS can carry")))
}

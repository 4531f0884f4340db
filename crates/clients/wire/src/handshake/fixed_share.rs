//! Key exchange at no cost for the client, by group.

use std::borrow::Cow;

use rustls::crypto::SupportedKxGroup;
use tls::Group;

use super::fixed_group::{self, FixedGroup};
use super::fixed_kem::{self, FixedKem};

/// The fixed share for a group.
pub(super) fn fixed(group: Group) -> &'static dyn SupportedKxGroup {
    match of(group) {
        Fixed::Point(group) => group,
        Fixed::Kem(group) => group,
    }
}

/// The shared secret of a group's fixed share and the server's share; `None` where that is not one of
/// the group.
pub(super) fn shared(group: Group, share: &[u8]) -> Option<Cow<'_, [u8]>> {
    match of(group) {
        Fixed::Point(group) => group.shared(share).map(Cow::Borrowed),
        Fixed::Kem(group) => group.shared(share).map(Cow::Owned),
    }
}

/// What a fixed share is made of.
enum Fixed {
    Point(&'static FixedGroup),
    Kem(&'static FixedKem),
}

fn of(group: Group) -> Fixed {
    match group {
        Group::X25519 => Fixed::Point(&fixed_group::X25519),
        Group::Secp256r1 => Fixed::Point(&fixed_group::SECP256R1),
        Group::Secp384r1 => Fixed::Point(&fixed_group::SECP384R1),
        Group::Secp521r1 => Fixed::Point(&fixed_group::SECP521R1),
        Group::X25519MlKem768 => Fixed::Kem(&fixed_kem::X25519MLKEM768),
        Group::Secp256r1MlKem768 => Fixed::Kem(&fixed_kem::SECP256R1MLKEM768),
        Group::MlKem1024 => Fixed::Kem(&fixed_kem::MLKEM1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::fresh_p521::FreshP521;

    /// A server that answers the fixed share with a fresh key must compute the same secret.
    #[test]
    fn an_honest_server_derives_the_same_secret() {
        let mut honest = rustls::crypto::aws_lc_rs::ALL_KX_GROUPS.to_vec();
        honest.push(&FreshP521);
        for group in Group::ALL {
            let fixed = fixed(group);
            let server = honest.iter().find(|kx| kx.name() == fixed.name()).unwrap();
            let client = fixed.start().unwrap();
            let answer = server.start_and_complete(client.pub_key()).unwrap();
            let secret = client.complete(&answer.pub_key).unwrap();
            assert_eq!(secret.secret_bytes(), answer.secret.secret_bytes(), "{group}");
            let secret = shared(group, &answer.pub_key).unwrap();
            assert_eq!(*secret, *answer.secret.secret_bytes(), "{group}");
        }
    }

    #[test]
    fn a_share_of_another_length_is_refused() {
        for group in Group::ALL {
            assert!(fixed(group).start().unwrap().complete(&[4; 7]).is_err());
            assert_eq!(shared(group, &[4; 7]), None);
        }
    }
}

//! Settings in the words of OpenSSL, which the configurations of servers pass on to it.

use tls::{CertificateKey, Suite, Version};

use crate::Settings;

/// OpenSSL's names of the suites of one version, or `None` where there is none.
pub(crate) fn suites(suites: &[&'static Suite], version: Version) -> Option<String> {
    let of_version = suites.iter().filter(|suite| suite.version() == version);
    let names: Vec<&str> = of_version.map(|suite| suite.openssl_name).collect();
    (!names.is_empty()).then(|| names.join(":"))
}

/// OpenSSL's names of the groups, or `None` where the choice is left to it.
pub(crate) fn groups(settings: &Settings) -> Option<String> {
    let names: Vec<&str> = settings.groups.iter().map(|group| group.openssl_name()).collect();
    (!names.is_empty()).then(|| names.join(":"))
}

/// Whether the certificate's key is one that OpenSSL takes only at security level 0: an RSA key below
/// 2048 bits. The default level is 0, 1 or 2 by distribution.
pub(crate) fn has_weak_key(settings: &Settings) -> bool {
    matches!(settings.target.certificate_key, CertificateKey::Rsa(bits) if bits < 2048)
}

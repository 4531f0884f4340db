//! What to do about a handshake that did not end well.

use tls::{Group, KeyExchange, Version};

use crate::Plan;

/// `seen` names the server's alert with its number (RFC 8446, section 6.2), which says what it misses.
pub(super) fn on_handshake(seen: &str, plan: &Plan) -> String {
    let is_alert = |number: u8| seen.contains(&format!("({number})"));
    // RFC 6066, section 3.
    if is_alert(112) {
        return match plan.sni {
            None => {
                "the server has no site of the URL's host; give a name that it has with --sni, or in \
                 the URL, and the server's address with --connect-to"
            }
            Some(_) => "the server has no site of that name; give one that it has with --sni",
        }
        .to_owned();
    }
    if is_alert(120) {
        return super::status::NO_HTTP11.to_owned();
    }
    if seen.contains("longer than 64 KiB") {
        return "toll's own handshakes take up to 256 KiB: leave out --key-exchange fresh and \
                --resumption, or give --tls 1.2"
            .to_owned();
    }
    let finds_nothing = is_alert(40) || is_alert(70) || is_alert(71);
    let asked: Vec<String> = plan.asked().map(|key| format!("--{key}")).collect();
    match &asked[..] {
        [] if finds_nothing && plan.is_http3() => {
            format!("toll offered {}, and the server may lack that", offered(plan))
        }
        [] if finds_nothing => format!("toll offered {}; {OTHERS}", offered(plan)),
        [] => "does the server's log say why, and does openssl s_client connect?".to_owned(),
        asked => format!(
            "toll offered {}, and the server may lack that; leave {} out",
            offered(plan),
            asked.join(", ")
        ),
    }
}

/// What toll offers only where it is asked to, and what it never does.
const OTHERS: &str = "for older suites give one of them: --suite AES128-SHA (static RSA), \
                      ECDHE-RSA-AES128-SHA or ECDHE-ECDSA-AES128-SHA (CBC); toll has no TLS 1.1, no \
                      finite-field Diffie-Hellman (DHE) and no 3DES";

/// What the server could choose from.
fn offered(plan: &Plan) -> String {
    let version = match plan.only_version() {
        Some(Version::Tls12) => "TLS 1.2",
        Some(Version::Tls13) => "TLS 1.3",
        None => "TLS 1.3 and 1.2",
    };
    let (suites, is_static) = match plan.only_suite() {
        Some(suite) => (suite.name, suite.key_exchange == KeyExchange::Rsa),
        None => ("AES-GCM and ChaCha20-Poly1305", false),
    };
    let groups = match plan.group {
        _ if is_static => return format!("{version} with {suites}"),
        Some(group) => group.name().to_owned(),
        None => {
            let names = Group::ALL.into_iter().filter(|group| !group.is_of_tls13_only());
            names.map(Group::name).collect::<Vec<_>>().join(", ")
        }
    };
    format!("{version} with {suites} and key exchange by {groups}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tls::OrPlain;

    #[test]
    fn a_server_that_finds_nothing_to_choose_is_told_what_was_offered() {
        let plan = Plan::default();
        for alert in ["handshake_failure (40)", "insufficient_security (71)"] {
            let advice = on_handshake(alert, &plan);
            for word in ["TLS 1.3 and 1.2", "secp384r1", "--suite AES128-SHA"] {
                assert!(advice.contains(word), "{word}: {advice}");
            }
            assert!(!advice.contains("MLKEM"), "{advice}");
        }
        assert!(!on_handshake("internal_error (80)", &plan).contains("--suite"));
    }

    #[test]
    fn no_suite_of_tls_12_is_advised_for_http3() {
        let plan = Plan { http: Some(crate::Http::V3), ..Plan::default() };
        let advice = on_handshake("handshake_failure (40)", &plan);
        assert!(advice.contains("TLS 1.3 with") && !advice.contains("--suite"), "{advice}");
    }

    #[test]
    fn only_flags_that_are_set_are_to_be_left_out() {
        let narrow = Plan {
            tls: Some(OrPlain::Tls(Version::Tls13)),
            group: Some(Group::X25519),
            ..Plan::default()
        };
        for seen in ["handshake_failure (40)", "extension 7, which was not offered"] {
            let advice = on_handshake(seen, &narrow);
            assert!(advice.contains("leave --tls, --group out"), "{advice}");
            assert!(advice.contains("TLS 1.3 with") && !advice.contains("secp"), "{advice}");
            assert!(!advice.contains("--suite"), "{advice}");
        }
        let suite = tls::Suite::parse("AES128-SHA").ok().map(OrPlain::Tls);
        let advice = on_handshake("handshake_failure (40)", &Plan { suite, ..Plan::default() });
        assert!(advice.contains("TLS_RSA_WITH_AES_128_CBC_SHA, and"), "{advice}");
    }

    #[test]
    fn an_alert_that_says_what_is_missing_is_believed() {
        let advice = |seen| on_handshake(seen, &Plan::default());
        assert!(advice("no_application_protocol (120)").contains("HTTP/1.1"));
    }
}

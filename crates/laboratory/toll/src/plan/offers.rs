//! The levers that this server has for this traffic: those of the table whose keys mean something to it, and that are
//! no part of it yet.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::str::FromStr;

use ::load::Percent;
use capacity::{Actor, Costs, Kind, LEVERS, Lever, Part, Traffic};
use keys::full;
use observe::KernelTlsCounters;
use tls::{CertificateKey, Group, KeyExchange, Suite, Version};

use super::arguments::Arguments;
use super::own_levers::OwnLever;
use super::parts::{FULL, RESUMED, TRAFFIC};
use super::traffic::Shape;

/// A lever with its values.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    /// Its kind, `certificate-key`, or the name of one of the file's own. Those of one exclude each other.
    pub(super) lever: String,
    /// What a person reads.
    pub(super) change: String,
    pub(super) actor: Actor,
    /// The lines of this server's configuration that make it.
    pub(super) configuration: Option<String>,
    pub(super) left_out: String,
    /// What the names of its cases begin with.
    pub(super) name: String,
    touches: Vec<Part>,
    known: [f64; 4],
    settings: Vec<(String, String)>,
}

/// One of the file's own. What it saves is not known and taken to be all, so that it is tried first.
impl From<&OwnLever> for Offer {
    fn from(lever: &OwnLever) -> Self {
        let OwnLever { name, change, actor, configuration, left_out, parts, settings } =
            lever.clone();
        Self {
            name: format!("own-{name}"),
            lever: name,
            change,
            actor,
            configuration,
            left_out,
            touches: parts,
            known: [0.0; 4],
            settings,
        }
    }
}

impl Offer {
    /// The keys of target and load that become something else.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_of_shape =
            |key: &str| [full::RESUMPTION, full::REQUESTS_PER_CONNECTION].contains(&key);
        let keys = self.settings.iter().filter(move |(key, _)| !is_of_shape(key));
        keys.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn value<T: FromStr>(&self, key: &str) -> Option<T> {
        self.settings.iter().find(|(name, _)| *name == key)?.1.parse().ok()
    }

    /// How the traffic uses connections then.
    pub(super) fn shape(&self, shape: Shape) -> Shape {
        let requests = self.value::<NonZeroU32>(full::REQUESTS_PER_CONNECTION);
        let shape = requests.map_or(shape, |requests| shape.with_requests(requests));
        let resumed = self.value::<Percent>(full::RESUMPTION);
        resumed.map_or(shape, |resumed| shape.with_resumed(resumed))
    }

    /// Whether a case of this part has its keys.
    pub(super) fn touches(&self, part: &str) -> bool {
        let of = match part {
            FULL => Part::FullHandshakes,
            RESUMED => Part::ResumedHandshakes,
            TRAFFIC => return true,
            _ => Part::Requests,
        };
        self.touches.contains(&of)
    }

    /// What it is known to save of such costs, in CPU-seconds per second; less than nothing where it costs more.
    pub(super) fn likely(&self, costs: &Costs, shape: &Shape) -> f64 {
        let [full, resumed, request, byte] = self.known;
        let bytes = costs.byte * costs.request.bytes;
        let known = Costs {
            full: costs.full * full,
            resumed: costs.resumed * resumed,
            request: capacity::Request {
                cost: (costs.request.cost - bytes).max(0.0) * request + bytes * byte,
                ..costs.request
            },
            byte: costs.byte * byte,
        };
        let load = |traffic: Traffic, costs: &Costs| traffic.load(costs).all();
        load(shape.traffic, costs) - load(self.shape(*shape).traffic, &known)
    }
}

/// Those for this server and this traffic, in the order of the table, then the file's own; and what this machine lacks
/// for others.
pub(super) fn offers(arguments: &Arguments, shape: &Shape) -> (Vec<Offer>, Vec<String>) {
    let wanted = arguments.levers.as_ref();
    let is_wanted = |kind| {
        let is_kept = arguments.keep.as_ref().is_some_and(|keep| keep.has(kind));
        wanted.is_some_and(|wanted| wanted.has(kind)) && !is_kept
    };
    let mut found = Vec::new();
    let mut not_here = Vec::new();
    for lever in LEVERS.iter().filter(|lever| is_wanted(lever.kind)) {
        if !is_for(lever, arguments, shape) {
            continue;
        }
        if let Some(why) = lacking(lever, arguments) {
            not_here.push(format!("{} ({why})", lever.change));
            continue;
        }
        for value in values(lever, arguments, shape) {
            let settings = lever.settings.iter().map(|(key, to)| match to {
                capacity::To::Value(text) => ((*key).to_owned(), (*text).to_owned()),
                capacity::To::Goal(_) | capacity::To::EachHere => {
                    ((*key).to_owned(), value.clone())
                }
            });
            let change = lever.change.replace("{}", &value);
            let own = if value.is_empty() { &change } else { &value };
            let name = format!("{}-{}", lever.kind, slug(own));
            found.push(Offer {
                lever: lever.kind.to_string(),
                change,
                actor: lever.actor,
                configuration: lever.line(&arguments.server).map(str::to_owned),
                left_out: lever.left_out.to_owned(),
                name,
                touches: lever.touches.to_vec(),
                known: lever.known,
                settings: settings.collect(),
            });
        }
    }
    found.extend(arguments.own_levers.iter().map(Offer::from));
    (found, not_here)
}

/// What this machine, or the traffic as it is asked for, lacks for it.
fn lacking(lever: &Lever, arguments: &Arguments) -> Option<String> {
    match lever.kind {
        Kind::Send => {
            KernelTlsCounters::of_process(std::process::id()).err().map(|error| error.to_string())
        }
        // RFC 8422, section 5.1: the curve of the certificate's key is one that the client offers.
        Kind::CertificateKey if arguments.suite.version() == Version::Tls12 => {
            let curve = match lever.setting(full::CERTIFICATE_KEY)? {
                capacity::To::Value("ecdsa:p256") => Group::Secp256r1,
                capacity::To::Value("ecdsa:p384") => Group::Secp384r1,
                _ => return None,
            };
            let group = arguments.group.filter(|group| *group != curve)?;
            Some(format!(
                "in TLS 1.2 clients that offer {group} alone cannot have it; leave --group out"
            ))
        }
        _ => None,
    }
}

/// What stands for the values that the table leaves open; one that is empty where it leaves none.
fn values(lever: &Lever, arguments: &Arguments, shape: &Shape) -> Vec<String> {
    let goal = |given: Option<String>, is_more: &dyn Fn(&str) -> bool| {
        let usual = lever.settings.iter().find_map(|(_, to)| match to {
            capacity::To::Goal(usual) => Some((*usual).to_owned()),
            _ => None,
        });
        given.or(usual.filter(|usual| is_more(usual))).into_iter().collect()
    };
    match lever.kind {
        Kind::Resumption => goal(arguments.resumed_to.map(|to| to.to_string()), &|usual| {
            usual.parse::<Percent>().is_ok_and(|usual| usual.get() > shape.resumed.get())
        }),
        Kind::RequestsPerConnection => {
            goal(arguments.requests_per_connection_to.map(|to| to.to_string()), &|usual| {
                usual.parse::<NonZeroU32>().is_ok_and(|usual| usual > shape.requests_per_connection)
            })
        }
        Kind::Library => match arguments.server.as_str() {
            "embedded" => {
                ["openssl-built", "rustls-ring", "rustls-aws-lc"].map(str::to_owned).into()
            }
            _ => vec!["openssl-built".to_owned()],
        },
        Kind::System => {
            let now = arguments.system.made();
            targets::systems().into_iter().filter(|system| Some(system.as_str()) != now).collect()
        }
        _ => vec![String::new()],
    }
}

/// Whether it changes something of this server and this traffic.
fn is_for(lever: &Lever, arguments: &Arguments, shape: &Shape) -> bool {
    let Some(server) = targets::by_name(&arguments.server) else { return false };
    let mut keys = lever.settings.iter().map(|(key, _)| *key);
    let is_used = |key: &str| key.strip_prefix("target.").is_none_or(|key| server.uses(key));
    if !keys.all(is_used) {
        return false;
    }
    let text = |key: &str| match lever.setting(key) {
        Some(capacity::To::Value(text)) => Some(text),
        _ => None,
    };
    let version = arguments.suite.version();
    match lever.kind {
        Kind::CertificateKey => {
            let now = arguments.certificate_key.to_string();
            text(full::CERTIFICATE_KEY).is_some_and(|key| key != now)
                && arguments.suite.key_exchange != KeyExchange::Rsa
        }
        Kind::Group => {
            let group = text(full::GROUP).unwrap_or_default();
            // Servers choose X25519 by themselves where nothing else is said.
            let now = arguments.group.map_or("x25519", Group::name);
            group != now && (version == Version::Tls13 || !group.contains("MLKEM"))
        }
        Kind::Suite => {
            let cipher = text(full::SUITE).and_then(|name| Suite::parse(name).ok());
            cipher.is_some_and(|suite| suite.cipher != arguments.suite.cipher)
        }
        Kind::Tls => {
            // QUIC has TLS 1.3 alone.
            text(full::VERSION).is_some_and(|to| to != version.number())
                && arguments.http != ::load::Http::V3
        }
        Kind::Http => text(full::HTTP).is_some_and(|to| to != arguments.http.to_string()),
        Kind::SessionCache => version == Version::Tls12 && shape.resumed.get() > 0,
        _ => true,
    }
}

/// The suite that these keys make of what a server has; `None` where they say nothing of it. A suite stands for its
/// cipher, as the version and the certificate have it.
///
/// # Errors
/// No suite has this version, key and cipher.
pub(super) fn suite<'a>(
    changed: &BTreeMap<&str, &str>,
    common: impl Fn(&str) -> Option<&'a str>,
) -> Result<Option<&'static Suite>, String> {
    let own = [full::SUITE, full::VERSION, full::CERTIFICATE_KEY];
    if !own.iter().any(|key| changed.contains_key(key)) {
        return Ok(None);
    }
    let parse = |name: &str| Suite::parse(name).map_err(|error| error.to_string());
    let now = parse(common(full::SUITE).unwrap_or_default())?;
    let of_cipher = changed.get(full::SUITE).map(|name| parse(name)).transpose()?.unwrap_or(now);
    let version = changed.get(full::VERSION).copied().unwrap_or(now.version().number());
    let key = changed.get(full::CERTIFICATE_KEY).copied().or_else(|| common(full::CERTIFICATE_KEY));
    let is_rsa = key
        .and_then(|key| key.parse().ok())
        .is_some_and(|key| matches!(key, CertificateKey::Rsa(_)));
    let (_, cipher) = of_cipher
        .name
        .rsplit_once("_WITH_")
        .unwrap_or(("", of_cipher.name.trim_start_matches("TLS_")));
    let is_13 = version == Version::Tls13.number();
    let name = match (is_13, is_rsa) {
        (true, _) => format!("TLS_{cipher}"),
        (false, true) if now.key_exchange == KeyExchange::Rsa => format!("TLS_RSA_WITH_{cipher}"),
        (false, true) => format!("TLS_ECDHE_RSA_WITH_{cipher}"),
        (false, false) => format!("TLS_ECDHE_ECDSA_WITH_{cipher}"),
    };
    // TLS 1.3 has no CBC.
    parse(&name)
        .or_else(|why| if is_13 { parse("TLS_AES_128_GCM_SHA256") } else { Err(why) })
        .map(Some)
}

/// Small letters, digits and hyphens.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::super::kinds::{ALL, Kinds};
    use super::super::rounds::tests::arguments;
    use super::super::traffic::PlannedTraffic;
    use super::*;

    fn changes(flags: &[&str]) -> Vec<String> {
        let arguments = arguments(flags);
        let shape = PlannedTraffic::of(&arguments, None).unwrap().shape();
        offers(&arguments, &shape).0.into_iter().map(|offer| offer.change).collect()
    }

    #[test]
    fn what_a_server_cannot_do_and_what_it_does_is_not_offered() {
        let of = |kinds: &str, flags: &[&str]| {
            changes(&[&["--levers", kinds], flags].concat()).join("; ")
        };
        let key = of("certificate-key", &[]);
        assert!(
            key.contains("P-256") && key.contains("P-384") && !key.contains("RSA-2048"),
            "{key}"
        );
        let key = of("certificate-key", &["--certificate-key", "ecdsa:p256"]);
        assert!(key.contains("RSA-2048") && !key.contains("P-256"), "{key}");
        // Static RSA has no other key.
        assert_eq!(of("certificate-key", &["--suite", "AES128-SHA"]), "");
        let in_12 = ["--suite", "ECDHE-RSA-AES128-GCM-SHA256"];
        // The curve of an ECDSA key has to be a group that the client offers.
        let of_group =
            |group: &str| of("certificate-key", &[&in_12[..], &["--group", group]].concat());
        assert!(of("certificate-key", &in_12).contains("P-256"));
        assert!(of_group("secp256r1").contains("P-256") && !of_group("x25519").contains("P-256"));
        assert!(of("certificate-key", &["--group", "x25519"]).contains("P-256"));
        assert!(!of("group", &in_12).contains("MLKEM") && of("group", &[]).contains("MLKEM"));
        assert!(
            of("group", &["--group", "secp256r1"]).contains("X25519")
                && !of("group", &[]).contains("X25519;")
        );
        assert_eq!(of("tls", &in_12), "TLS 1.3");
        assert_eq!(
            of("session-cache", &in_12).is_empty(),
            of("session-cache", &[]).contains("cache")
        );
        assert_eq!((of("record-size", &[]), of("record-size", &["--server", "haproxy"])).1, "");
        assert!(!of("accelerator", &["--server", "haproxy"]).is_empty());
        assert!(!of("suite", &[]).contains("AES-128"));
        // Goals are more than there is, unless they are given.
        assert_eq!(of("requests-per-connection", &[]), "keep-alive: 60 requests on a connection");
        assert!(
            of("requests-per-connection", &["--requests-per-connection-to", "2"])
                .contains("2 requests")
        );
        assert_eq!(of("resumption", &["--resumed-to", "90%"]), "90% of handshakes resumed");
        let both = ["--keep", "certificate-key,suite"];
        assert_eq!(of("certificate-key,tls", &both), "TLS 1.2");
        assert!(!of(ALL, &both).contains("AES-256"));
        assert!("certificat".parse::<Kinds>().unwrap_err().contains("certificate-key, "));
    }

    #[test]
    fn the_likeliest_saving_is_that_of_what_the_traffic_is_made_of() {
        let arguments = arguments(&["--levers"]);
        let shape = PlannedTraffic::of(&arguments, None).unwrap().shape();
        let (offers, _) = offers(&arguments, &shape);
        let likely = |full: f64, change: &str| {
            let request = capacity::Request { cost: 20_000.0, bytes: 16_384.0 };
            let costs = Costs { full, resumed: 50_000.0, request, byte: 0.5 };
            let found = offers.iter().find(|offer| offer.change.contains(change)).unwrap();
            found.likely(&costs, &shape)
        };
        assert!(likely(800_000.0, "P-256 cert") > likely(100_000.0, "P-256 cert"));
        assert!(likely(800_000.0, "keep-alive") > 0.0 && likely(800_000.0, "RSA-3072") < 0.0);
    }
}

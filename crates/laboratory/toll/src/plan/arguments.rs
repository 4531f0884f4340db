//! What `toll plan` is asked.

use std::num::NonZeroU32;
use std::path::PathBuf;

use ::load::{Http, Mix, Percent};
use capacity::LogFormat;
use clap::ValueHint;
use targets::System;
use tls::{CertificateKey, Group, Suite};
use units::{BitsPerSecond, Nanos, PerSecond};

use super::device::Device;
use super::kinds::{self, Kinds};
use super::latency;
use super::own_levers::OwnLever;
use crate::{Failure, OUTPUT};

/// Say how many cores a server needs for some traffic, and check that by loading it with this traffic.
///
/// Full and resumed handshakes, requests and bytes are measured apart, each as often as keeps a core
/// so busy as is planned. What they cost together is compared with what the traffic itself costs,
/// which is loaded in proportion: as much as keeps one core so busy, and a quarter of a core. It
/// takes two to three minutes. --levers also measures what would lower the cores, and the best
/// changes together.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A file that has all of it: schema = 1 and a table [plan], whose keys are the flags below
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = [
        "from", "new_connections", "goodput", "access_log", "log_format", "requests_per_connection", "resumed", "object", "server",
        "growth", "peak", "system", "certificate_key", "suite", "group", "http", "streams", "busy", "latency", "open_connections",
        "price", "device", "trials", "levers", "keep", "time", "resumed_to", "requests_per_connection_to",
    ])]
    pub(super) file: Option<PathBuf>,

    /// Connections that are opened in a second, resumed ones included
    #[arg(long, value_name = "RATE", required_unless_present_any = ["goodput", "access_log", "from", "file"], conflicts_with_all = ["goodput", "access_log"], help_heading = TRAFFIC)]
    pub(super) new_connections: Option<PerSecond>,

    /// A folder of toll watch --out: its server, and the connections, resumption and mean size that were seen of it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = [
        "new_connections", "goodput", "access_log", "object", "server", "certificate_key", "suite", "group",
    ], help_heading = TRAFFIC)]
    pub(super) from: Option<PathBuf>,

    /// Data rate of all responses' bodies, such as 20Gb/s, instead of --new-connections
    #[arg(long, value_name = "RATE", conflicts_with = "access_log", help_heading = TRAFFIC)]
    pub(super) goodput: Option<BitsPerSecond>,

    /// An access log, plain, .gz or .zst: its sizes and its busiest minute
    ///
    /// Known are common, combined and vhost_combined of nginx and Apache with anything after it, HAProxy's
    /// HTTP and HTTPS log, AWS ALB, CloudFront and IIS (`#Fields:`), Caddy's JSON and JSON with nginx's
    /// names. Lines may end with `$connection_requests $ssl_session_reused` (nginx) or `%k
    /// %{SSL_SESSION_RESUMED}x` (Apache): requests per connection and resumption are read from them where
    /// their flags are not given. Only counts of it are kept.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "object", help_heading = TRAFFIC)]
    pub(super) access_log: Option<PathBuf>,

    /// The format of the access log, where it is another: nginx's log_format or Apache's LogFormat
    ///
    /// As the configuration has it, such as '$remote_addr [$time_iso8601] $status $body_bytes_sent'.
    #[arg(long, value_name = "FORMAT", requires = "access_log", conflicts_with_all = ["new_connections", "goodput"], help_heading = TRAFFIC)]
    pub(super) log_format: Option<LogFormat>,

    /// Requests on each connection [default: what the access log says of them, or 1]
    ///
    /// With --from, which has seen the bytes of a connection and not its requests, each has an equal part of them.
    #[arg(long, value_name = "N", help_heading = TRAFFIC)]
    pub(super) requests_per_connection: Option<NonZeroU32>,

    /// The share of connections that resume a session [default: what the access log says of them, or 0%]
    ///
    /// With --from only where the bill does not know it.
    #[arg(long, value_name = "PERCENT", help_heading = TRAFFIC)]
    pub(super) resumed: Option<Percent>,

    /// What is asked for: a size, or several with their shares: '4KiB 70%, 64KiB 25%, 4MiB 5%'
    #[arg(long, value_name = "LIST", default_value = "16KiB", help_heading = TRAFFIC)]
    pub(super) object: Mix,

    /// By how much the traffic is to grow, such as 30%
    #[arg(long, value_name = "PERCENT", value_parser = growth, help_heading = TRAFFIC)]
    pub(super) growth: Option<f64>,

    /// How many times as much as that its peak has, such as 2.5
    ///
    /// For rates that are means. An access log is planned by its busiest minute already.
    #[arg(long, value_name = "FACTOR", value_parser = peak, help_heading = TRAFFIC)]
    pub(super) peak: Option<f64>,

    /// The server: nginx, embedded, haproxy, apache or caddy; with --http 3 embedded or caddy
    #[arg(long, value_name = "SERVER", default_value = "nginx", help_heading = TARGET)]
    pub(super) server: String,

    /// The release of Debian or Ubuntu that the server and its libraries come from, one of make systems, such as
    /// debian-13
    #[arg(long, value_name = "NAME", default_value_t, help_heading = TARGET)]
    pub(super) system: System,

    /// The key of its certificate
    #[arg(long, value_name = "KEY", default_value = "rsa:2048", help_heading = TARGET)]
    pub(super) certificate_key: CertificateKey,

    /// The cipher suite
    #[arg(long, value_name = "SUITE", default_value = "TLS_AES_128_GCM_SHA256", help_heading = TARGET)]
    pub(super) suite: &'static Suite,

    /// The only group of the key exchange [default: what the server prefers]
    #[arg(long, value_name = "GROUP", help_heading = TARGET)]
    pub(super) group: Option<Group>,

    /// The version of HTTP
    #[arg(long, value_name = "VERSION", default_value = "1.1", help_heading = TARGET)]
    pub(super) http: Http,

    /// With --http 2 or 3: how many requests each connection carries at once [default: 1]
    #[arg(long, value_name = "N", help_heading = TARGET)]
    pub(super) streams: Option<NonZeroU32>,

    /// How busy cores may be
    #[arg(long, value_name = "PERCENT", default_value = "60%", help_heading = PLAN)]
    pub(super) busy: Percent,

    /// A limit of the traffic's latency, such as p99<=50ms: p50, p99 or response-time
    ///
    /// It is checked with one core as busy as is planned, not modelled.
    #[arg(long, value_name = "LIMIT", help_heading = PLAN)]
    pub(super) latency: Option<latency::Limit>,

    /// How many connections are open at a time: says what memory they take
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = PLAN)]
    pub(super) open_connections: Option<u32>,

    /// What a core costs in an hour, in any currency, such as 0.043/h
    #[arg(long, value_name = "PRICE", value_parser = price, help_heading = PLAN)]
    pub(super) price: Option<f64>,

    /// A device for private keys, as 'NAME, PRICE, OPERATIONS/s': says from how many cores on it pays
    ///
    /// Such as 'crypto card, 800, 40000/s', in the currency of --price. What it takes off a full handshake is measured
    /// with a modelled device: with RSA keys, and the servers that pause handshakes, embedded and haproxy.
    #[arg(long, value_name = "DEVICE", help_heading = PLAN)]
    pub(super) device: Option<Device>,

    /// How many times to measure each part
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(2..=1_000), help_heading = PLAN)]
    pub(super) trials: u32,

    /// Measure what would lower the cores, each change with this traffic, and the best together
    ///
    /// All that this server has, or some: certificate-key, resumption, requests-per-connection, group, suite, tls,
    /// http, record-size, session-cache, send, library, system, accelerator. The likeliest savings come first.
    #[arg(long, value_name = "LIST", num_args = 0..=1, default_missing_value = kinds::ALL, help_heading = LEVERS)]
    pub(super) levers: Option<Kinds>,

    /// With --levers: what cannot be changed, such as certificate-key,http
    #[arg(long, value_name = "LIST", requires = "levers", help_heading = LEVERS)]
    pub(super) keep: Option<Kinds>,

    /// With --levers: how long all of it may take
    #[arg(long, value_name = "TIME", requires = "levers", value_parser = Nanos::or_seconds, default_value_t = Nanos(480_000_000_000), help_heading = LEVERS)]
    pub(super) time: Nanos,

    /// With --levers: the share of connections that could resume a session [default: 80%]
    #[arg(long, value_name = "PERCENT", requires = "levers", help_heading = LEVERS)]
    pub(super) resumed_to: Option<Percent>,

    /// With --levers: the requests that each connection could have [default: 60]
    #[arg(long, value_name = "N", requires = "levers", help_heading = LEVERS)]
    pub(super) requests_per_connection_to: Option<NonZeroU32>,

    /// Those that the file lists.
    #[arg(skip)]
    pub(super) own_levers: Vec<OwnLever>,

    /// The folder of the results, as for toll run
    ///
    /// [default: results/TIME-plan]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(super) out: Option<PathBuf>,

    /// Print one JSON object instead
    #[arg(long, help_heading = OUTPUT)]
    pub(super) json: bool,

    /// Also print how the costs were measured
    #[arg(short, long, help_heading = OUTPUT)]
    pub(super) verbose: bool,
}

const TRAFFIC: &str = "Traffic";
const TARGET: &str = "Server";
const PLAN: &str = "Plan";
const LEVERS: &str = "What to change";

const EXAMPLES: &str = "\
Examples:
  toll plan --new-connections 3000/s --resumed 60% --requests-per-connection 8 \\
      --object '4KiB 70%, 64KiB 25%, 4MiB 5%' --certificate-key ecdsa:p256
  toll plan --goodput 20Gb/s --object 4MiB --requests-per-connection 20 --busy 50%
  toll plan --access-log /var/log/nginx/access.log.1.gz --growth 30% --price 0.043/h
  toll plan --access-log access.log.gz --levers --keep http --price 0.043/h
  toll plan --from monday --levers

Exit codes: 0 done; 1 the latency is not kept; 2 the request was wrong; 3 the check failed: the costs do not explain what the
traffic costs, or something other than the server limited it.";

fn price(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/h").and_then(|number| number.parse::<f64>().ok());
    number
        .filter(|price| price.is_finite() && *price >= 0.0)
        .ok_or_else(|| format!("`{text}` is not a price of an hour; write 0.043/h"))
}

/// As a share: 0.3 of `30%`.
fn growth(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| (0.0..=10_000.0).contains(percent));
    let percent = percent.ok_or_else(|| {
        format!("`{text}` is not a growth; write 30%, or another share from 0% to 10000%")
    })?;
    Ok(percent / 100.0)
}

fn peak(text: &str) -> Result<f64, String> {
    let factor = text.trim_end_matches('x').parse::<f64>().ok();
    factor.filter(|factor| (1.0..=1_000.0).contains(factor)).ok_or_else(|| {
        format!("`{text}` is not a peak; write how many times the mean it is, 2.5, from 1 to 1000")
    })
}

impl Arguments {
    /// How many times the traffic that is given is planned for.
    pub(super) fn factor(&self) -> f64 {
        (1.0 + self.growth.unwrap_or(0.0)) * self.peak.unwrap_or(1.0)
    }

    /// Refuses what cannot be asked for together.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if !(1..=95).contains(&self.busy.get()) {
            return Err(Failure::request(
                "--busy is from 1% to 95%: a server needs room for bursts",
            ));
        }
        if self.streams.is_some() && self.http == Http::V1 {
            return Err(Failure::request("--streams needs --http 2 or --http 3"));
        }
        let are_own = self.levers.as_ref().is_some_and(Kinds::is_none);
        if are_own && self.own_levers.is_empty() {
            return Err(Failure::request(
                "--levers own: a file lists them as [[plan.lever]], and there is none",
            ));
        }
        if self.keep.as_ref().is_some_and(Kinds::is_none) {
            return Err(Failure::request(
                "--keep own: to leave out a change that the file lists, take its [[plan.lever]] out of the file",
            ));
        }
        if self.device.is_some() && self.price.unwrap_or_default() <= 0.0 {
            return Err(Failure::request(
                "--device needs --price, what a core costs in an hour in the same currency, such as 0.043/h",
            ));
        }
        if self.http == Http::V3 && self.open_connections.is_some() {
            return Err(Failure::request(
                "--open-connections: what a connection of HTTP/3 takes is not known, because the server's kernel has \
                 one socket for all of them; leave it out",
            ));
        }
        Ok(())
    }

    /// How busy cores may be, 0 to 1.
    pub(super) fn busy(&self) -> f64 {
        f64::from(self.busy.get()) / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounds::tests::arguments;

    #[test]
    fn own_levers_are_those_of_a_file() {
        for flags in [&["--levers", "own"][..], &["--levers", "--keep", "own"]] {
            let why = arguments(flags).check().unwrap_err().message;
            assert!(why.contains("own: "), "{flags:?}: {why}");
        }
        assert!(arguments(&["--levers", "--keep", "http"]).check().is_ok());
    }
}

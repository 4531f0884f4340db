//! The traffic of a plan, by flags and an access log.

use std::num::NonZeroU32;

use ::load::{Mix, Percent};
use capacity::{AccessLog, Connections, LogUse, Traffic};
use serde::Serialize;

use super::arguments::Arguments;
use crate::Failure;

/// The traffic to plan for, and the load that is like it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PlannedTraffic {
    #[serde(flatten)]
    pub(super) traffic: Traffic,
    pub(super) object: Mix,
    /// Whole ones, as the load has them.
    #[serde(skip)]
    pub(super) requests_per_connection: NonZeroU32,
    #[serde(skip)]
    pub(super) resumed: Percent,
    /// The busiest minute of the log, as the log writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) minute: Option<String>,
    /// What was read of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<LogUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log_overridden: Option<LogOverridden>,
    pub(super) assumed: Assumed,
    /// How many times the traffic that was given this is, where it is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) grown: Option<Grown>,
}

/// How traffic uses connections, with whole numbers as the load has them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub(super) traffic: Traffic,
    pub(super) resumed: Percent,
    pub(super) requests_per_connection: NonZeroU32,
}

impl Shape {
    /// The same requests, with this many on each connection.
    pub(super) fn with_requests(mut self, requests: NonZeroU32) -> Self {
        let number = f64::from(requests.get());
        self.traffic.connections_per_s = self.traffic.requests_per_s() / number;
        self.traffic.requests_per_connection = number;
        Self { requests_per_connection: requests, ..self }
    }

    pub(super) fn with_resumed(mut self, resumed: Percent) -> Self {
        self.traffic.resumed = f64::from(resumed.get()) / 100.0;
        Self { resumed, ..self }
    }
}

/// What traffic that was given is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Grown {
    pub(super) factor: f64,
    /// Growth as a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) growth: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peak: Option<f64>,
}

/// What neither a flag nor the log says, so that one request on each connection is taken, or no resumption.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Assumed {
    pub(super) requests_per_connection: bool,
    pub(super) resumed: bool,
}

/// What an access log says of connections where a flag says something else, which is used.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub(super) struct LogOverridden {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requests_per_connection: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resumed: Option<f64>,
}

impl PlannedTraffic {
    pub(super) fn shape(&self) -> Shape {
        let Self { traffic, resumed, requests_per_connection, .. } = *self;
        Shape { traffic, resumed, requests_per_connection }
    }

    pub(super) fn of(arguments: &Arguments, log: Option<AccessLog>) -> Result<Self, Failure> {
        let object = log.as_ref().map_or(&arguments.object, |log| &log.object).clone();
        let OfConnections { requests, resumed, log_overridden, assumed } =
            of_connections(arguments, log.as_ref());
        let Some(mean_bytes) = object.mean_size() else {
            return Err(Failure::request(
                "--object takes sizes, not paths: toll makes the objects",
            ));
        };
        let connections_per_s = match (&log, arguments.goodput, arguments.new_connections) {
            (Some(log), ..) => log.busiest as f64 / 60.0 / requests,
            (None, Some(rate), _) => rate.0 / 8.0 / (requests * mean_bytes),
            (None, None, rate) => rate.map_or(0.0, |rate| rate.0),
        };
        let Arguments { growth, peak, .. } = *arguments;
        let grown = Grown { factor: arguments.factor(), growth, peak };
        let connections_per_s = connections_per_s * grown.factor;
        if !(connections_per_s.is_finite() && connections_per_s > 0.0 && resumed.is_finite()) {
            return Err(Failure::request(
                "the traffic has no connections; give a rate above 0, and with a log in which none is opened \
                 give --requests-per-connection and --resumed",
            ));
        }
        let traffic =
            Traffic { connections_per_s, resumed, requests_per_connection: requests, mean_bytes };
        let whole = NonZeroU32::new(requests.round() as u32).unwrap_or(NonZeroU32::MIN);
        let percent = Percent::new((resumed * 100.0).round() as u8).unwrap_or_default();
        let (minute, log) = log.map(|log| (log.minute, log.used)).unzip();
        Ok(Self {
            traffic,
            object,
            requests_per_connection: whole,
            resumed: percent,
            minute,
            log,
            log_overridden,
            assumed,
            grown: Some(grown).filter(|of| of.growth.is_some() || of.peak.is_some()),
        })
    }
}

struct OfConnections {
    requests: f64,
    resumed: f64,
    log_overridden: Option<LogOverridden>,
    assumed: Assumed,
}

/// Requests per connection and the share that is resumed: by the flags, by the log where they are not given, and
/// where neither says it, one request and none. They are not finite by a log in which no connection is opened.
fn of_connections(arguments: &Arguments, log: Option<&AccessLog>) -> OfConnections {
    let by_flag = (
        arguments.requests_per_connection.map(|number| f64::from(number.get())),
        arguments.resumed.map(|share| f64::from(share.get()) / 100.0),
    );
    let by_log = log.and_then(|log| log.used.connections);
    let share = |part: u64, whole: u64| part as f64 / whole as f64;
    let requests = by_log.map(|of| share(of.requests, of.opened));
    // Where no connection is opened it is no number, else it may be that no line says it.
    let has_resumption = |of: &Connections| of.with_resumption > 0 || of.opened == 0;
    let resumed = by_log.filter(has_resumption).map(|of| share(of.resumed, of.with_resumption));
    let unused =
        |flag: Option<f64>, log: Option<f64>| log.filter(|log| flag.is_some() && log.is_finite());
    let log_overridden = LogOverridden {
        requests_per_connection: unused(by_flag.0, requests),
        resumed: unused(by_flag.1, resumed),
    };
    let (requests, resumed) = (by_flag.0.or(requests), by_flag.1.or(resumed));
    OfConnections {
        requests: requests.unwrap_or(1.0),
        resumed: resumed.unwrap_or(0.0),
        log_overridden: (log_overridden != LogOverridden::default()).then_some(log_overridden),
        assumed: Assumed {
            requests_per_connection: requests.is_none(),
            resumed: resumed.is_none(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::AtomicBool;

    use clap::Parser;

    use super::super::log;
    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        plan: Arguments,
    }

    /// With three requests on each of two connections, one of them resumed.
    const FIELDS: [&str; 6] = [" 1 r", " 2 r", " 3 r", " 1 .", " 2 .", " 3 ."];

    fn planned(fields: &[&str], flags: &[&str]) -> Result<PlannedTraffic, Failure> {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        for more in fields {
            let line =
                "192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"";
            writeln!(log, "{line}{more}").unwrap();
        }
        let path = log.path().to_str().unwrap();
        let arguments = ["plan", "--access-log", path].into_iter().chain(flags.iter().copied());
        let arguments = Command::parse_from(arguments).plan;
        let log = log::read(&arguments, log.path(), &AtomicBool::new(false))?;
        PlannedTraffic::of(&arguments, log)
    }

    #[test]
    fn a_log_without_the_first_request_of_a_connection_says_nothing_of_them() {
        let requests = ["--requests-per-connection", "6"];
        for flags in [&[][..], &requests] {
            let refused = planned(&[" 2 r", " 7 ."], flags).unwrap_err();
            assert!(refused.message.contains("give --requests-per-connection"), "{refused:?}");
        }
        let traffic = planned(&[" 2 r"], &[&requests[..], &["--resumed", "0%"]].concat());
        assert_eq!(traffic.unwrap().traffic.requests_per_connection, 6.0);
    }

    #[test]
    fn growth_and_a_peak_multiply_the_traffic() {
        let plain = planned(&[""], &[]).unwrap();
        assert_eq!(plain.grown, None);
        let grown = planned(&[""], &["--growth", "30%", "--peak", "2.5"]).unwrap();
        let times = grown.traffic.connections_per_s / plain.traffic.connections_per_s;
        assert!((times - 3.25).abs() < 1e-9 && grown.grown.unwrap().factor == 1.3 * 2.5, "{times}");
        for absurd in [
            ["--growth", "30"],
            ["--growth", "-5%"],
            ["--growth", "inf%"],
            ["--growth", "NaN%"],
            ["--peak", "0.5"],
            ["--peak", "1e9"],
            ["--peak", "high"],
        ] {
            let flags = ["plan", "--new-connections", "5/s"].into_iter().chain(absurd);
            assert!(Command::try_parse_from(flags).is_err(), "{absurd:?}");
        }
    }

    #[test]
    fn flags_win_over_the_log_which_is_said() {
        let requests = ["--requests-per-connection", "6"];
        let resumed = ["--resumed", "10%"];
        let both = [requests, resumed].concat();
        let log_overridden = |requests_per_connection, resumed| {
            Some(LogOverridden { requests_per_connection, resumed })
        };
        for (fields, flags, expected, log_overridden) in [
            (true, &[][..], (3.0, 0.5), None),
            (true, &requests, (6.0, 0.5), log_overridden(Some(3.0), None)),
            (true, &resumed, (3.0, 0.1), log_overridden(None, Some(0.5))),
            (true, &both, (6.0, 0.1), log_overridden(Some(3.0), Some(0.5))),
            (false, &[], (1.0, 0.0), None),
            (false, &both, (6.0, 0.1), None),
        ] {
            let fields = if fields { FIELDS } else { [""; 6] };
            let found = planned(&fields, flags).unwrap();
            let Traffic { requests_per_connection, resumed, connections_per_s, .. } = found.traffic;
            assert_eq!((requests_per_connection, resumed), expected, "{fields:?}, {flags:?}");
            assert_eq!(found.log_overridden, log_overridden, "{fields:?}, {flags:?}");
            let is_open = fields[0].is_empty() && flags.is_empty();
            let assumed = Assumed { requests_per_connection: is_open, resumed: is_open };
            assert_eq!(found.assumed, assumed, "{fields:?}, {flags:?}");
            assert!((connections_per_s * expected.0 - 0.1).abs() < 1e-9, "{connections_per_s}");
        }
    }
}

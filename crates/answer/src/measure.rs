//! The figures of a cell that runs are compared by and gates are set on.

use std::fmt;
use std::str::FromStr;

use load::Operation;
use serde::Serialize;
use units::{BitsPerSecond, Nanos, PerSecond};

use crate::analysis::{CellSummary, Figure};
use keys::did_you_mean;
use study::Cell;

/// A figure of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Completed operations a second.
    Rate,
    /// Proven body bits a second.
    Goodput,
    /// Completed operations per CPU-second of the server.
    RatePerServerCpu,
    /// Proven body bits per CPU-second of the server.
    GoodputPerServerCpu,
    /// The server's CPU time an operation.
    ServerCpuPerOperation,
    /// The client's CPU time an operation.
    ClientCpuPerOperation,
    /// The median of the whole operation's latency.
    P50,
    /// Its 99th percentile.
    P99,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Rate,
        Self::Goodput,
        Self::RatePerServerCpu,
        Self::GoodputPerServerCpu,
        Self::ServerCpuPerOperation,
        Self::ClientCpuPerOperation,
        Self::P50,
        Self::P99,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Goodput => "goodput",
            Self::RatePerServerCpu => "rate-per-server-cpu",
            Self::GoodputPerServerCpu => "goodput-per-server-cpu",
            Self::ServerCpuPerOperation => "server-cpu-per-operation",
            Self::ClientCpuPerOperation => "client-cpu-per-operation",
            Self::P50 => "p50",
            Self::P99 => "p99",
        }
    }

    /// In words, behind "in".
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Goodput => "goodput",
            Self::RatePerServerCpu => "rate per server CPU-second",
            Self::GoodputPerServerCpu => "goodput per server CPU-second",
            Self::ServerCpuPerOperation => "server CPU time an operation",
            Self::ClientCpuPerOperation => "client CPU time an operation",
            Self::P50 => "median latency",
            Self::P99 => "p99 latency",
        }
    }

    /// What a cell is compared by where nothing else is asked for: what one core of the server does.
    #[must_use]
    pub fn usual(cell: &Cell) -> Self {
        match Self::has_bodies(cell) {
            true => Self::GoodputPerServerCpu,
            false => Self::RatePerServerCpu,
        }
    }

    /// Whether trials of this cell can have the figure.
    #[must_use]
    pub fn is_of(self, cell: &Cell) -> bool {
        !matches!(self, Self::Goodput | Self::GoodputPerServerCpu) || Self::has_bodies(cell)
    }

    fn has_bodies(cell: &Cell) -> bool {
        cell.load.operation != Operation::Handshakes
    }

    /// The figure; `None` where it was not measured.
    #[must_use]
    pub fn figure(self, cell: &CellSummary) -> Option<&Figure> {
        match self {
            Self::Rate => &cell.rate_per_s,
            Self::Goodput => &cell.goodput_bps,
            Self::RatePerServerCpu => &cell.rate_per_server_cpu,
            Self::GoodputPerServerCpu => &cell.goodput_per_server_cpu,
            Self::ServerCpuPerOperation => &cell.server_ns_per_operation,
            Self::ClientCpuPerOperation => &cell.client_ns_per_operation,
            Self::P50 => &cell.p50_ns,
            Self::P99 => &cell.p99_ns,
        }
        .as_ref()
    }

    /// A value in its unit: operations or bits a second, or nanoseconds.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Rate | Self::RatePerServerCpu => PerSecond(value).to_string(),
            Self::Goodput | Self::GoodputPerServerCpu => BitsPerSecond(value).to_string(),
            Self::ServerCpuPerOperation | Self::ClientCpuPerOperation | Self::P50 | Self::P99 => {
                Nanos(value.max(0.0).round() as u64).to_string()
            }
        }
    }

    /// The value of a text with its unit.
    ///
    /// # Errors
    /// The text has no such unit; the sentence says how to write it.
    pub fn parse_value(self, text: &str) -> Result<f64, String> {
        match self {
            Self::Rate | Self::RatePerServerCpu => text.parse().map(|PerSecond(value)| value),
            Self::Goodput | Self::GoodputPerServerCpu => {
                text.parse().map(|BitsPerSecond(value)| value)
            }
            Self::ServerCpuPerOperation | Self::ClientCpuPerOperation | Self::P50 | Self::P99 => {
                text.parse().map(|Nanos(value)| value as f64)
            }
        }
        .map_err(|error| error.to_string())
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Measure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|measure| measure.name() == text).ok_or_else(|| {
            let names = Self::ALL.iter().map(|measure| measure.name());
            format!("`{text}` is no metric{}", did_you_mean(text, "metrics are", names))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for measure in Measure::ALL {
            assert_eq!(measure.name().parse(), Ok(measure));
            assert_eq!(serde_json::to_value(measure).unwrap(), measure.name());
        }
        let why = |text: &str| text.parse::<Measure>().unwrap_err();
        assert_eq!(why("goodputt"), "`goodputt` is no metric; did you mean goodput?");
        assert!(why("zzz").ends_with("client-cpu-per-operation, p50, p99"));
    }

    #[test]
    fn values_have_the_unit_of_the_figure() {
        assert_eq!(Measure::Goodput.parse_value("10Gb/s"), Ok(10e9));
        assert_eq!(Measure::RatePerServerCpu.parse_value("1_500/s"), Ok(1500.0));
        assert_eq!(Measure::P99.parse_value("2ms"), Ok(2e6));
        for (measure, text) in [
            (Measure::Goodput, "10"),
            (Measure::Goodput, "10GB/s"),
            (Measure::Rate, "10"),
            (Measure::P99, "10/s"),
        ] {
            let why = measure.parse_value(text).unwrap_err();
            assert!(why.contains("; write "), "{why}");
        }
    }
}

//! What a plan says.

use ::load::Http;
use capacity::Plan;
use journal::TrialLine;
use observe::{CpuQuota, Fact, Root};
use serde::Serialize;
use tls::CertificateKey;
use units::BitsPerSecond;

use super::arguments::Arguments;
use super::check::{Check, OtherBusy};
use super::device::DeviceOutcome;
use super::energy::Energy;
use super::latency::Latency;
use super::lever_outcome::{Levers, Scale};
use super::memory::Memory;
use super::scaling::Scaling;
use super::traffic::PlannedTraffic;

/// What came of it, as it is printed with --json and kept in `plan.json`.
#[derive(Debug, Serialize)]
pub(super) struct PlanOutcome {
    pub(super) server: String,
    /// Which release it came from, where that is not this machine's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<String>,
    pub(super) certificate_key: CertificateKey,
    pub(super) http: Http,
    pub(super) traffic: PlannedTraffic,
    #[serde(flatten)]
    pub(super) plan: Plan,
    /// What several cores take for the same work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) scaling: Vec<Scaling>,
    /// The cores of that which is in the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scaled_as_on: Option<u32>,
    #[serde(skip)]
    pub(super) scale: Scale,
    /// With as much of the traffic as keeps a core as busy as is planned.
    pub(super) check: Check,
    /// With a quarter of a core, whose parts were measured there too: an operation costs a server that
    /// mostly waits more. Not measured where levers are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quarter: Option<Check>,
    /// The cells that did not keep a core as busy as they were to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_so_busy: Vec<OtherBusy>,
    /// What would lower it, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) levers: Option<Levers>,
    /// From when on a device pays, where one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<DeviceOutcome>,
    /// What was not measured, and why.
    pub(super) not_measured: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<Memory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) energy: Option<Energy>,
    /// What toll's control group allowed while the plan was measured, where that is less than the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_quota: Option<CpuQuota>,
    /// The interfaces of this machine that could carry it.
    pub(super) links: Vec<LinkUse>,
    /// Per hour, where a price was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) price_per_hour: Option<f64>,
}

/// An interface that is up.
#[derive(Debug, Clone, Serialize)]
pub(super) struct LinkUse {
    pub(super) name: String,
    /// What it carries; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bits_per_s: Option<f64>,
    /// Why that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

impl LinkUse {
    pub(super) fn all() -> Vec<Self> {
        let of = |(name, speed): (String, Fact<BitsPerSecond>)| {
            let (speed, why) = match speed.or_why() {
                Ok(speed) => (Some(speed.0), None),
                Err(why) => (None, Some(why)),
            };
            Self { name, bits_per_s: speed, why }
        };
        check::link_speeds(&Root::machine()).into_iter().map(of).collect()
    }
}

impl PlanOutcome {
    /// `nginx`, or `nginx of debian-13`.
    pub(super) fn server_words(&self) -> String {
        let system = self.system.iter().map(|system| format!(" of {system}"));
        std::iter::once(self.server.clone()).chain(system).collect()
    }

    /// Names what this machine does not give and what nobody asked for.
    pub(super) fn name_what_is_missing(&mut self, arguments: &Arguments) {
        let mut missing = Vec::new();
        if self.energy.is_none() {
            let why = observe::EnergyMeter::open().err().map(|error| error.to_string());
            let why = why.unwrap_or_else(|| "it took no more than the idle machine".to_owned());
            missing.push(format!("energy: {why}"));
        }
        if arguments.open_connections.is_none() {
            missing.push("memory: give --open-connections".to_owned());
        }
        if arguments.levers.is_none() {
            missing.push("what would lower it: give --levers".to_owned());
        }
        self.not_measured.extend(missing);
    }

    /// Adds what open connections take, by the trials of that.
    pub(super) fn remember(&mut self, open: u32, lines: &[TrialLine]) {
        self.memory = Memory::of(open, lines);
        if self.memory.is_none() {
            self.not_measured.push("memory: no trial of it has a figure".to_owned());
        }
    }
}

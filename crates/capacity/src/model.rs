//! What traffic costs: handshakes, requests and bytes, each measured apart, and what they are together.

use serde::Serialize;
use stats::{Estimate, SampleError};

/// Traffic that a server is to bear, of all its users together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Traffic {
    /// Connections that are opened in a second.
    pub connections_per_s: f64,
    /// The share of them that resume a session, 0 to 1.
    pub resumed: f64,
    /// Requests on each.
    pub requests_per_connection: f64,
    /// The mean size of a response's body in bytes.
    pub mean_bytes: f64,
}

/// A server's CPU time in ns for each part of the traffic, in one round of trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// A connection with a full handshake, opened and closed, without a request.
    pub full: f64,
    /// One that resumes a session; as `full` where none does.
    pub resumed: f64,
    /// A request for one of the traffic's objects on a kept connection.
    pub request: f64,
    /// The same with objects of another mean size in bytes.
    pub other: (f64, f64),
}

/// CPU-seconds in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Load {
    pub handshakes: f64,
    /// What requests cost whatever they ask for.
    pub requests: f64,
    pub bytes: f64,
}

impl Load {
    #[must_use]
    pub fn all(&self) -> f64 {
        self.handshakes + self.requests + self.bytes
    }
}

impl Traffic {
    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        self.connections_per_s * self.requests_per_connection
    }

    #[must_use]
    pub fn bits_per_s(&self) -> f64 {
        self.requests_per_s() * self.mean_bytes * 8.0
    }

    /// What the traffic costs.
    #[must_use]
    pub fn load(&self, costs: &Costs) -> Load {
        let handshake = costs.full * (1.0 - self.resumed) + costs.resumed * self.resumed;
        let (other_bytes, other) = costs.other;
        let byte = (costs.request - other) / (self.mean_bytes - other_bytes);
        // The line through both sizes; noise does not make a byte or a request cost less than nothing.
        let bytes = (byte * self.mean_bytes).clamp(0.0, costs.request);
        let second = |of: f64| of * 1e-9;
        Load {
            handshakes: second(self.connections_per_s * handshake),
            requests: second(self.requests_per_s() * (costs.request - bytes)),
            bytes: second(self.requests_per_s() * bytes),
        }
    }
}

/// What was measured of the traffic itself in one round, beside what the costs say of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checked {
    /// Connections that were opened, and requests that were answered.
    pub connections: f64,
    pub requests: f64,
    /// The server's CPU time in ns.
    pub cpu: f64,
}

impl Checked {
    /// What the costs say, over what was measured.
    #[must_use]
    pub fn ratio(&self, traffic: &Traffic, costs: &Costs) -> f64 {
        let each = Traffic {
            connections_per_s: self.connections,
            requests_per_connection: 0.0,
            ..*traffic
        };
        let handshakes = each.load(costs).handshakes * 1e9;
        (handshakes + self.requests * costs.request) / self.cpu
    }
}

/// How many cores the traffic needs.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// How busy cores may be, 0 to 1.
    pub busy: f64,
    pub cores: Estimate,
    /// Cores for each part: the median of all rounds.
    pub parts: Load,
}

impl Plan {
    /// By the costs of each round.
    ///
    /// # Errors
    /// There is no round.
    pub fn of(traffic: &Traffic, rounds: &[Costs], busy: f64) -> Result<Self, SampleError> {
        let loads: Vec<Load> = rounds.iter().map(|costs| traffic.load(costs)).collect();
        let cores =
            |of: fn(&Load) -> f64| loads.iter().map(|load| of(load) / busy).collect::<Vec<_>>();
        let part = |of| stats::median(&cores(of));
        let parts = Load {
            handshakes: part(|load| load.handshakes)?,
            requests: part(|load| load.requests)?,
            bytes: part(|load| load.bytes)?,
        };
        Ok(Self { busy, cores: Estimate::of(&cores(Load::all))?, parts })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COSTS: Costs =
        Costs { full: 200_000.0, resumed: 50_000.0, request: 20_000.0, other: (1_000.0, 11_000.0) };
    const TRAFFIC: Traffic = Traffic {
        connections_per_s: 1_000.0,
        resumed: 0.6,
        requests_per_connection: 8.0,
        mean_bytes: 10_000.0,
    };

    #[test]
    fn parts_are_what_was_measured_apart() {
        let load = TRAFFIC.load(&COSTS);
        // 1,000 connections of 110 us, and 8,000 requests of 10 us with 10,000 bytes of 1 ns.
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        near(load.handshakes, 0.110);
        near(load.requests, 0.080);
        near(load.bytes, 0.080);
        let plan = Plan::of(&TRAFFIC, &[COSTS; 7], 0.5).unwrap();
        near(plan.cores.median, 0.540);
        near(plan.parts.handshakes, 0.220);
        assert!(Plan::of(&TRAFFIC, &[], 0.5).is_err());
    }

    #[test]
    fn a_check_that_costs_more_than_its_parts_shows() {
        let checked = Checked { connections: 100.0, requests: 800.0, cpu: 27e6 };
        assert!((checked.ratio(&TRAFFIC, &COSTS) - 1.0).abs() < 1e-9);
        let dearer = Checked { cpu: 54e6, ..checked };
        assert!((dearer.ratio(&TRAFFIC, &COSTS) - 0.5).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn parts_are_never_negative_and_add_up(request in 1.0f64..1e7, other in 1.0f64..1e7, bytes in 1.0f64..1e7) {
            let costs = Costs { request, other: (bytes, other), ..COSTS };
            let load = TRAFFIC.load(&costs);
            prop_assume!(load.all().is_finite());
            prop_assert!(load.requests >= 0.0 && load.bytes >= 0.0);
            let all = 0.110 + 8_000.0 * request * 1e-9;
            prop_assert!((load.all() - all).abs() < all * 1e-9);
        }
    }
}

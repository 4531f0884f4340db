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
    /// A connection with a full handshake, opened and closed, and what its first request takes more than a later
    /// one: buffers are made, caches are cold.
    pub full: f64,
    /// One that resumes a session; as `full` where none does.
    pub resumed: f64,
    /// A request on a kept connection, with the bytes of its object.
    pub request: Request,
    /// A byte of a body.
    pub byte: f64,
}

/// What a request costs, and how many bytes its response had: means of many. Objects of several sizes are drawn
/// anew in each trial, and few large ones more or less are much of its bytes; so they are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    pub cost: f64,
    pub bytes: f64,
}

impl Request {
    /// What a byte costs, by requests of two sizes; noise does not make it cost less than nothing, nor a request
    /// without its bytes.
    pub fn byte(&self, other: &Self) -> f64 {
        let slope = (self.cost - other.cost) / (self.bytes - other.bytes);
        let most = (self.cost / self.bytes).min(other.cost / other.bytes);
        if slope.is_finite() { slope.clamp(0.0, most) } else { 0.0 }
    }

    /// What it would cost with this many bytes, where a byte costs so much.
    fn with_bytes(&self, bytes: f64, byte: f64) -> f64 {
        self.cost + byte * (bytes - self.bytes)
    }

    /// What a connection of one request costs beside this request, by a later one of about its size.
    pub fn beside(&self, later: &Self, byte: f64) -> f64 {
        (self.cost - later.with_bytes(self.bytes, byte)).max(0.0)
    }
}

impl Costs {
    /// Of a request for an object of this many bytes.
    fn request_of(&self, bytes: f64) -> f64 {
        self.request.with_bytes(bytes, self.byte)
    }
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
    pub fn all(&self) -> f64 {
        self.handshakes + self.requests + self.bytes
    }
}

impl Traffic {
    pub fn requests_per_s(&self) -> f64 {
        self.connections_per_s * self.requests_per_connection
    }

    pub fn bits_per_s(&self) -> f64 {
        self.requests_per_s() * self.mean_bytes * 8.0
    }

    /// What the traffic costs.
    pub fn load(&self, costs: &Costs) -> Load {
        let handshake = costs.full * (1.0 - self.resumed) + costs.resumed * self.resumed;
        let request = costs.request_of(self.mean_bytes);
        let bytes = (costs.byte * self.mean_bytes).min(request);
        let second = |of: f64| of * 1e-9;
        Load {
            handshakes: second(self.connections_per_s * handshake),
            requests: second(self.requests_per_s() * (request - bytes)),
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
    /// Of their bodies.
    pub bytes: f64,
    /// The server's CPU time in ns.
    pub cpu: f64,
}

impl Checked {
    /// What the costs say, over what was measured.
    pub fn ratio(&self, traffic: &Traffic, costs: &Costs) -> f64 {
        let each = Traffic {
            connections_per_s: self.connections,
            requests_per_connection: 0.0,
            ..*traffic
        };
        let handshakes = each.load(costs).handshakes * 1e9;
        let request = costs.request_of(self.bytes / self.requests.max(1.0));
        (handshakes + self.requests * request) / self.cpu
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
    /// The same in each round.
    pub rounds: Vec<Load>,
}

impl Plan {
    /// By the costs of each round.
    ///
    /// # Errors
    /// There is no round.
    pub fn of(traffic: &Traffic, rounds: &[Costs], busy: f64) -> Result<Self, SampleError> {
        let cores = |costs| {
            let Load { handshakes, requests, bytes } = traffic.load(costs);
            Load { handshakes: handshakes / busy, requests: requests / busy, bytes: bytes / busy }
        };
        Self::of_loads(busy, rounds.iter().map(cores).collect())
    }

    /// The same where each core takes so much more for the same work; a factor for each round, in turn.
    ///
    /// # Errors
    /// The factors make a round that is not finite.
    pub fn scaled(&self, factors: &[f64]) -> Result<Self, SampleError> {
        let scaled = |(load, by): (&Load, &f64)| Load {
            handshakes: load.handshakes * by,
            requests: load.requests * by,
            bytes: load.bytes * by,
        };
        Self::of_loads(
            self.busy,
            self.rounds.iter().zip(factors.iter().cycle()).map(scaled).collect(),
        )
    }

    fn of_loads(busy: f64, rounds: Vec<Load>) -> Result<Self, SampleError> {
        let each = |of: fn(&Load) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
        let part = |of| stats::median(&each(of));
        let parts = Load {
            handshakes: part(|load| load.handshakes)?,
            requests: part(|load| load.requests)?,
            bytes: part(|load| load.bytes)?,
        };
        Ok(Self { busy, cores: Estimate::of(&each(Load::all))?, parts, rounds })
    }
}

impl Plan {
    /// The cores of each part in each round.
    pub fn by_part(&self) -> [(&'static str, Vec<f64>); 3] {
        let of = |part: fn(&Load) -> f64| self.rounds.iter().map(part).collect();
        [
            ("handshakes", of(|load| load.handshakes)),
            ("bytes", of(|load| load.bytes)),
            ("requests", of(|load| load.requests)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // A request costs 10 us, a byte 1 ns.
    const COSTS: Costs = Costs {
        full: 200_000.0,
        resumed: 50_000.0,
        request: Request { cost: 20_000.0, bytes: 10_000.0 },
        byte: 1.0,
    };
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
        let scaled = plan.scaled(&[1.0, 1.5, 1.5]).unwrap();
        near(scaled.cores.median, 0.810);
        near(scaled.parts.handshakes, 0.330);
        near(scaled.cores.interval.low, 0.540);
        assert!(plan.scaled(&[]).is_err());
    }

    #[test]
    fn a_check_that_costs_more_than_its_parts_shows() {
        let checked = Checked { connections: 100.0, requests: 800.0, bytes: 8e6, cpu: 27e6 };
        assert!((checked.ratio(&TRAFFIC, &COSTS) - 1.0).abs() < 1e-9);
        let dearer = Checked { cpu: 54e6, ..checked };
        assert!((dearer.ratio(&TRAFFIC, &COSTS) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn more_large_objects_than_usual_are_no_error_of_the_model() {
        // Both the cell and the check drew other objects than the traffic has on average.
        let drawn = Costs { request: Request { cost: 25_000.0, bytes: 15_000.0 }, ..COSTS };
        let checked = Checked { connections: 100.0, requests: 800.0, bytes: 4e6, cpu: 23e6 };
        assert!((checked.ratio(&TRAFFIC, &drawn) - 1.0).abs() < 1e-9);
        assert!((TRAFFIC.load(&drawn).all() - TRAFFIC.load(&COSTS).all()).abs() < 1e-9);
    }

    #[test]
    fn a_byte_costs_what_two_sizes_differ_by() {
        let of = |cost, bytes| Request { cost, bytes };
        assert_eq!(of(20_000.0, 10_000.0).byte(&of(11_000.0, 1_000.0)), 1.0);
        // Noise: the larger one was cheaper, or all of it was its bytes.
        assert_eq!(of(10_000.0, 10_000.0).byte(&of(11_000.0, 1_000.0)), 0.0);
        assert_eq!(of(20_000.0, 10_000.0).byte(&of(1.0, 1_000.0)), 0.001);
        assert_eq!(of(1.0, 5.0).byte(&of(1.0, 5.0)), 0.0);
    }

    #[test]
    fn a_connection_costs_what_its_only_request_takes_more_than_a_later_one() {
        let of = |cost, bytes| Request { cost, bytes };
        let later = of(11_000.0, 1_000.0);
        assert_eq!(of(211_000.0, 1_000.0).beside(&later, 1.0), 200_000.0);
        assert_eq!(of(211_500.0, 1_500.0).beside(&later, 1.0), 200_000.0);
        // Noise does not make it cost less than nothing.
        assert_eq!(of(10_000.0, 1_000.0).beside(&later, 1.0), 0.0);
    }

    proptest! {
        #[test]
        fn parts_are_never_negative_and_add_up(
            cost in 1.0f64..1e7,
            bytes in 1.0f64..1e7,
            other in (1.0f64..1e7, 1.0f64..1e7),
        ) {
            let request = Request { cost, bytes };
            let byte = request.byte(&Request { cost: other.0, bytes: other.1 });
            let costs = Costs { request, byte, ..COSTS };
            let traffic = Traffic { mean_bytes: bytes, ..TRAFFIC };
            let load = traffic.load(&costs);
            prop_assert!(load.requests >= 0.0 && load.bytes >= 0.0);
            let all = 0.110 + 8_000.0 * cost * 1e-9;
            prop_assert!((load.all() - all).abs() < all * 1e-9);
        }
    }
}

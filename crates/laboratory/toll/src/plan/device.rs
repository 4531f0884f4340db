//! From how many cores on a device for private keys pays: what it takes off a full handshake, against its price.

use std::str::FromStr;

use answer::figure::{Decided, Figure};
use capacity::{Plan, Traffic};
use observe::Fact;
use serde::Serialize;
use stats::{Decision, Direction, Estimate, Interval};
use units::PerSecond;

use super::check::OtherBusy;
use super::lever_outcome::Scale;
use super::phrases::{self, MONTH, number};

/// How long a device is taken to be used, in years and in months.
const YEARS: f64 = 3.0;
const LIFE: f64 = YEARS * 12.0;

/// A device that somebody may buy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Device {
    name: String,
    /// In the currency of a core's price.
    price: f64,
    /// With private keys such as the server's.
    operations_per_s: f64,
}

/// `crypto card, 800, 40000/s`; a name may have commas.
impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.rsplitn(3, ',').map(str::trim);
        let mut part = || parts.next().unwrap_or_default();
        let (rate, price, name) = (part(), part(), part());
        let above = |value: f64| (value.is_finite() && value > 0.0).then_some(value);
        let rate = rate.parse::<PerSecond>().ok().and_then(|rate| above(rate.0));
        let price = price.parse::<f64>().ok().and_then(above);
        match (price, rate) {
            (Some(price), Some(operations_per_s)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), price, operations_per_s })
            }
            _ => Err(format!(
                "`{text}` is no device; write its name, its price and its operations with private keys per second, \
                 'crypto card, 800, 40000/s'"
            )),
        }
    }
}

/// Whether it pays with such traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// From some number of cores on.
    Pays,
    /// Not even where all that it can do is asked of it.
    Never,
    NotShown,
    /// Rounds, to show anything.
    TooFew,
}

/// What a device saves of some traffic.
#[derive(Debug, Clone, Serialize)]
struct Pays {
    /// CPU time in ns that it takes off a full handshake; what asking it takes is subtracted.
    saved_ns: Estimate,
    full_handshakes_per_s: f64,
    /// What one of it saves of the traffic that is planned.
    cores: Estimate,
    /// What it saves where all that it can do is asked of it.
    most_cores: Estimate,
    /// The cores that cost as much as it does, over [`YEARS`].
    needed_cores: f64,
    verdict: Verdict,
    /// The cores of such traffic from which on it pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_cores: Option<Estimate>,
    /// Where it pays: the months in which it saves its price in the traffic that is planned; they may be more than
    /// [`LIFE`].
    #[serde(skip_serializing_if = "Option::is_none")]
    months: Option<Estimate>,
}

impl Pays {
    /// `core` is what a core costs in a month.
    fn of(
        device: &Device,
        saved: Figure,
        (traffic, plan): (&Traffic, &Plan),
        scale: Scale,
        core: f64,
    ) -> Result<Self, String> {
        let full = traffic.connections_per_s * (1.0 - traffic.resumed);
        if full <= 0.0 {
            return Err("the traffic has no full handshakes".to_owned());
        }
        let Some((_, Decided { figure, decision })) = Decided::decide(vec![((), saved)], 0.0).pop()
        else {
            return Err("nothing was measured".to_owned());
        };
        let saved_ns = figure.estimate;
        let cores = |rate: f64| saved_ns.map(|ns| scale.of_cpu_time(rate * ns * 1e-9));
        let (here, most) =
            (cores(full.min(device.operations_per_s)), cores(device.operations_per_s));
        let needed = device.price / (core * LIFE);
        let verdict = match decision {
            _ if !saved_ns.has_enough_samples() => Verdict::TooFew,
            _ if most.interval.high <= needed => Verdict::Never,
            Decision::Sure(Direction::Above) if most.interval.low > needed => Verdict::Pays,
            _ => Verdict::NotShown,
        };
        // All that is saved grows with the traffic until the device does all that it can.
        let share = || cores(full).map(|saved| needed / saved);
        let months = || here.map(|cores| device.price / (cores * core));
        let pays = verdict == Verdict::Pays;
        Ok(Self {
            saved_ns,
            full_handshakes_per_s: full,
            cores: here,
            most_cores: most,
            needed_cores: needed,
            verdict,
            from_cores: pays.then(|| product(&plan.cores, &share())),
            months: pays.then(months),
        })
    }
}

/// Of what is above 0 and measured apart.
fn product(a: &Estimate, b: &Estimate) -> Estimate {
    let interval = Interval {
        low: a.interval.low * b.interval.low,
        high: a.interval.high * b.interval.high,
        // At least: one of both may miss its median.
        coverage: (a.interval.coverage + b.interval.coverage - 1.0).max(0.0),
    };
    Estimate { median: a.median * b.median, interval, n: a.n.min(b.n) }
}

/// A device, and from when on it pays.
#[derive(Debug, Clone, Serialize)]
pub(super) struct DeviceOutcome {
    #[serde(flatten)]
    device: Device,
    years: f64,
    pays: Fact<Pays>,
    /// The cells that did not keep a core as busy as they were to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_so_busy: Vec<OtherBusy>,
}

impl DeviceOutcome {
    /// `saved` is the CPU time in ns that it takes off a full handshake, with the cells that kept a core otherwise busy,
    /// or why that is not known; `price` that of a core in an hour.
    pub(super) fn of(
        device: &Device,
        saved: Result<(Figure, Vec<OtherBusy>), String>,
        of: (&Traffic, &Plan),
        scale: Scale,
        price: f64,
    ) -> Self {
        let (pays, not_so_busy) = match saved {
            Ok((saved, others)) => (Pays::of(device, saved, of, scale, price * MONTH), others),
            Err(why) => (Err(why), Vec::new()),
        };
        Self { device: device.clone(), years: YEARS, pays: pays.into(), not_so_busy }
    }

    pub(super) fn in_words(&self) -> String {
        let Device { name, price, operations_per_s } = &self.device;
        let begin = format!("Device ({name}, {price}, {})", PerSecond(*operations_per_s));
        let of = match self.pays.clone().or_why() {
            Ok(of) => of,
            Err(why) => {
                return format!("{begin}: from how many cores on it pays is not known: {why}.");
            }
        };
        let all = || {
            format!(
                "as many handshakes as it can do save {}, and it costs what {} cores cost in {YEARS} years",
                phrases::cores(&of.most_cores),
                number(of.needed_cores)
            )
        };
        let verdict = match (of.verdict, &of.from_cores) {
            (Verdict::Pays, Some(from)) => {
                let from = phrases::cores(from);
                format!("it pays within {YEARS} years from {from} of such traffic on")
            }
            (Verdict::TooFew, _) => {
                "too few rounds to say from how many cores on it pays; give --trials 6 or more"
                    .to_owned()
            }
            (Verdict::Never, _) => format!("it never pays: {}", all()),
            _ => format!("it is not shown to pay: {}", all()),
        };
        let price = of.months.map(|months| match months.interval {
            Interval { high, .. } if high <= LIFE => {
                format!(", its price in {} months", phrases::estimate(&months, number))
            }
            Interval { low, .. } if low > LIFE => {
                format!(", less than its price in {YEARS} years: it does not pay")
            }
            _ => format!(", about its price in {YEARS} years: it is not shown to pay"),
        });
        format!(
            "{begin}: {verdict}. Here, with {} full handshakes, it saves {}{}. It takes {} us of CPU time off each one \
             that it does, what asking it takes subtracted. Assumed: {YEARS} years of {MONTH} hours a month; a \
             signature takes what decrypting with this key takes, by which a modelled device was measured; the driver \
             takes nothing.{}",
            PerSecond(of.full_handshakes_per_s),
            phrases::cores(&of.cores),
            price.unwrap_or_default(),
            phrases::estimate(&of.saved_ns, |ns| number(ns / 1e3)),
            phrases::others_busy(&self.not_so_busy),
        )
    }
}

#[cfg(test)]
mod tests {
    use capacity::{Costs, Request};

    use super::*;

    const TRAFFIC: Traffic = Traffic {
        connections_per_s: 1_000.0,
        resumed: 0.6,
        requests_per_connection: 8.0,
        mean_bytes: 16_384.0,
    };

    /// Of a card for 800 that makes this number of operations in a second.
    fn outcome(operations: u32, saved: Result<Vec<f64>, &str>) -> DeviceOutcome {
        outcome_of(&format!("crypto card, 800, {operations}/s"), saved)
    }

    /// With a core of 1 an hour, half of which may be busy.
    fn outcome_of(device: &str, saved: Result<Vec<f64>, &str>) -> DeviceOutcome {
        let request = Request { cost: 20_000.0, bytes: 16_384.0 };
        let costs = Costs { full: 200_000.0, resumed: 50_000.0, request, byte: 0.5 };
        let plan = Plan::of(&TRAFFIC, &[costs; 7], 0.5).unwrap();
        let device: Device = device.parse().unwrap();
        let saved = saved.map(|saved| (Figure::of(saved).unwrap(), Vec::new()));
        let saved = saved.map_err(str::to_owned);
        let scale = Scale { busy: 0.5, factor: 1.0 };
        DeviceOutcome::of(&device, saved, (&TRAFFIC, &plan), scale, 1.0)
    }

    /// What it saves of a handshake in each of seven rounds, in ns.
    const APART: [f64; 7] =
        [150_000.0, 160_000.0, 170_000.0, 180_000.0, 190_000.0, 200_000.0, 210_000.0];

    fn pays(operations: u32, saved: Vec<f64>) -> Pays {
        outcome(operations, Ok(saved)).pays.or_why().unwrap()
    }

    #[test]
    fn a_device_pays_from_the_cores_on_whose_price_it_saves() {
        let found = pays(40_000, vec![180_000.0; 7]);
        // 400 full handshakes/s of 180 us less, at half a core each; 800 are the price of 26,280 hours of 0.030 cores.
        assert!((found.cores.median - 0.144).abs() < 1e-9, "{found:?}");
        let from = found.from_cores.unwrap().median;
        assert!((from - 0.54 * 800.0 / 26_280.0 / 0.144).abs() < 1e-9, "{from}");
        let months = found.months.unwrap().median;
        assert!((months - 800.0 / (0.144 * 730.0)).abs() < 1e-9, "{months}");
        // What is saved has its interval, and so have the number of cores and the months.
        let found = pays(40_000, APART.to_vec());
        for (of, median) in [(found.from_cores, from), (found.months, months)] {
            let Interval { low, high, .. } = of.unwrap().interval;
            assert!(low < median && median < high, "{found:?}");
        }
    }

    #[test]
    fn where_a_device_pays_but_not_in_this_traffic_it_is_said() {
        // 10,000 are the price of 0.38 cores, and 4,000 that of 0.15: here it saves between 0.12 and 0.17.
        let words = |price: u32| {
            let card = format!("crypto card, {price}, 40000/s");
            let found = outcome_of(&card, Ok(APART.to_vec()));
            assert_eq!(found.pays.clone().or_why().unwrap().verdict, Verdict::Pays);
            found.in_words()
        };
        support::assert_golden!([
            ("it does not pay here", words(10_000)),
            ("it is not shown to pay here", words(4_000)),
        ]);
    }

    #[test]
    fn a_device_that_cannot_save_its_price_never_pays() {
        let verdict = |operations, saved: Vec<f64>| {
            let found = pays(operations, saved);
            assert!(found.from_cores.is_none() && found.months.is_none(), "{found:?}");
            found.verdict
        };
        // 50/s save 0.018 cores, which cost less.
        assert_eq!(verdict(50, vec![180_000.0; 7]), Verdict::Never);
        assert!((pays(50, vec![180_000.0; 7]).cores.median - 0.018).abs() < 1e-9);
        // Asking it takes what it takes off, or more.
        assert_eq!(verdict(40_000, vec![0.0; 7]), Verdict::Never);
        assert_eq!(verdict(40_000, vec![-5_000.0; 7]), Verdict::Never);
        let disturbed = [-3.0, 2.0, -1.0, 1.0, 3.0, -2.0, 1.0].map(|us| us * 1e3);
        assert_eq!(verdict(40_000, disturbed.to_vec()), Verdict::NotShown);
        assert_eq!(verdict(40_000, vec![180_000.0; 2]), Verdict::TooFew);
    }

    #[test]
    fn what_was_not_measured_is_not_known() {
        let unknown = outcome(40_000, Err("ecdsa:p256 only signs"));
        assert!(unknown.pays.known().is_none());
        let other = OtherBusy { cell: "key-on-device".to_owned(), asked: 0.5, busy: 0.43 };
        let pays = outcome(40_000, Ok(vec![180_000.0; 7]));
        let not_so_busy = DeviceOutcome { not_so_busy: vec![other], ..pays.clone() };
        support::assert_golden!([
            ("it pays", pays.in_words()),
            ("the client made a core less busy", not_so_busy.in_words()),
            ("it never pays", outcome(50, Ok(vec![180_000.0; 7])).in_words()),
            ("two rounds", outcome(40_000, Ok(vec![180_000.0; 2])).in_words()),
            ("not known", unknown.in_words()),
        ]);
    }

    #[test]
    fn a_device_has_a_name_a_price_and_a_rate() {
        let device: Device = "card, of two chips, 799.5, 40000/s".parse().unwrap();
        assert_eq!((&*device.name, device.price), ("card, of two chips", 799.5));
        for text in [
            "",
            "card",
            "card, 800",
            "card, 800, 40000",
            "card, 0, 5/s",
            "card, x, 5/s",
            ", 1, 5/s",
            "c, 1, 0/s",
        ] {
            let why = text.parse::<Device>().unwrap_err();
            assert!(why.contains("40000/s"), "{text}: {why}");
        }
    }
}

//! Searches over known curves, without load and clocks.

use proptest::prelude::*;

use super::*;

const MOST: f64 = 2.0;

/// A server: what it does at a load, and what the limit is on.
struct Curve {
    figure: Box<dyn Fn(u64) -> f64>,
    watched: Box<dyn Fn(u64) -> f64>,
    /// From this load on a long hold breaks the limit, though a step does not.
    held_breaks_from: u64,
    /// Each trial's figures are off by up to this share.
    noise: f64,
    random: u64,
}

impl Curve {
    fn new(figure: impl Fn(u64) -> f64 + 'static, watched: impl Fn(u64) -> f64 + 'static) -> Self {
        let (figure, watched) = (Box::new(figure), Box::new(watched));
        Self { figure, watched, held_breaks_from: u64::MAX, noise: 0.0, random: 1 }
    }

    /// A factor around 1.
    fn noise(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        1.0 + self.noise * ((self.random >> 33) as f64 / f64::from(1u32 << 30) - 1.0)
    }

    fn trial(&mut self, load: u64, is_held: bool) -> Seen {
        let mut watched = (self.watched)(load) * self.noise();
        if is_held && load >= self.held_breaks_from {
            watched = watched.max(1.5 * MOST);
        }
        let figure = (self.figure)(load) * self.noise();
        Seen { load, figure, watched: Some(watched), holds: watched <= MOST, is_held }
    }
}

fn bounds() -> Bounds {
    Bounds { from: 1, to: 4096, most: MOST, plateau: 0.02 }
}

/// Searches, and holds three times what was found; the loads that were tried, and the end.
fn search(bounds: &Bounds, curve: &mut Curve) -> (Vec<Seen>, Next) {
    let mut seen: Vec<Seen> = Vec::new();
    for _ in 0..1000 {
        match bounds.next(&seen) {
            Next::Try(load) => seen.push(curve.trial(load, false)),
            Next::Hold(load) => {
                let held = seen.iter().filter(|seen| seen.is_held && seen.load == load).count();
                if held == 3 {
                    return (seen, Next::Hold(load));
                }
                seen.push(curve.trial(load, true));
            }
            Next::Infeasible => return (seen, Next::Infeasible),
        }
    }
    panic!("no end: {seen:?}");
}

fn tried(seen: &[Seen]) -> Vec<u64> {
    seen.iter().filter(|seen| !seen.is_held).map(|seen| seen.load).collect()
}

/// A server that is full with 20 connections, each of which waits 10 ms.
fn plateau() -> Curve {
    Curve::new(|load| load.min(20) as f64 * 100.0, |load| load as f64 / 1000.0)
}

#[test]
fn on_a_plateau_the_smallest_load_that_does_nearly_the_most_is_held() {
    let (seen, end) = search(&bounds(), &mut plateau());
    let Next::Hold(load) = end else { panic!("{seen:?}") };
    assert!((20..=21).contains(&load), "{load}: {seen:?}");
    // It is not looked for the end of the plateau.
    assert_eq!(tried(&seen)[..8], [1, 2, 4, 8, 16, 32, 64, 128]);
    assert!(tried(&seen).iter().all(|load| *load <= 128), "{seen:?}");
}

#[test]
fn at_a_cliff_the_largest_load_that_holds_the_limit_is_found() {
    for cliff in [1, 2, 3, 7, 100, 345, 1024, 3000, 4095] {
        let mut curve =
            Curve::new(|load| load as f64, move |load| if load <= cliff { 0.5 } else { 9.0 });
        let (seen, end) = search(&bounds(), &mut curve);
        let Next::Hold(load) = end else { panic!("{seen:?}") };
        assert!(load <= cliff && load * 105 >= cliff * 100 - 100, "{load} for {cliff}: {seen:?}");
    }
}

#[test]
fn where_nothing_breaks_the_largest_load_is_held() {
    let mut curve = Curve::new(|load| load as f64, |_| 0.5);
    assert_eq!(search(&bounds(), &mut curve).1, Next::Hold(4096));
    let bounds = Bounds { from: 100, to: 130, ..bounds() };
    assert_eq!(search(&bounds, &mut curve).1, Next::Hold(130));
}

#[test]
fn at_the_top_of_a_hump_is_the_most() {
    for top in [3u64, 11, 23, 90, 700] {
        let hump = move |load: u64| {
            let distance = (load as f64 / top as f64).log2();
            1000.0 * (-distance * distance).exp()
        };
        let (seen, end) = search(&bounds(), &mut Curve::new(hump, |_| 0.1));
        let Next::Hold(load) = end else { panic!("{seen:?}") };
        assert!(hump(load) > 950.0, "{load} for {top}: {seen:?}");
    }
}

#[test]
fn a_limit_that_no_load_meets_is_reported_after_two_steps() {
    let (seen, end) = search(&bounds(), &mut Curve::new(|load| load as f64, |_| 3.2));
    assert_eq!((tried(&seen), end), (vec![1, 1], Next::Infeasible));
}

#[test]
fn a_break_that_is_not_seen_again_is_noise() {
    let seen = |load, watched: f64| Seen {
        load,
        figure: load as f64,
        watched: Some(watched),
        holds: watched <= MOST,
        is_held: false,
    };
    let bounds = bounds();
    let broken = vec![seen(1, 5.0)];
    assert_eq!(bounds.next(&broken), Next::Try(1), "a break is tried again");
    assert_eq!(bounds.next(&[seen(1, 5.0), seen(1, 0.5)]), Next::Try(1), "one against one");
    assert_eq!(bounds.next(&[seen(1, 5.0), seen(1, 0.5), seen(1, 0.6)]), Next::Try(2));
    assert_eq!(bounds.next(&[seen(1, 5.0), seen(1, 0.5), seen(1, 2.1)]), Next::Infeasible);
    assert_eq!(bounds.next(&[seen(1, 1.9)]), Next::Try(1), "too near to the limit to be sure");
    assert_eq!(bounds.next(&[seen(1, 1.7)]), Next::Try(2));
}

#[test]
fn where_a_long_hold_breaks_the_limit_the_search_steps_back_by_more_each_time() {
    let mut curve = Curve::new(|load| load as f64, |load| if load <= 1000 { 0.5 } else { 9.0 });
    curve.held_breaks_from = 700;
    let (seen, end) = search(&bounds(), &mut curve);
    let Next::Hold(load) = end else { panic!("{seen:?}") };
    assert!((350..700).contains(&load), "{load}: {seen:?}");
    let held: Vec<u64> = seen.iter().filter(|seen| seen.is_held).map(|seen| seen.load).collect();
    assert!(held[0] > 900 && held[1] * 10 <= held[0] * 9, "{held:?}");
    assert_eq!(held[held.len() - 3..], [load; 3]);
}

#[test]
fn what_holds_nowhere_for_long_is_infeasible() {
    let mut curve = Curve::new(|load| load as f64, |_| 0.5);
    curve.held_breaks_from = 0;
    assert_eq!(search(&bounds(), &mut curve).1, Next::Infeasible);
}

#[test]
fn the_next_larger_load_tells_whether_the_limit_was_the_reason() {
    let mut curve = Curve::new(|load| load as f64, |load| load as f64 / 400.0);
    let (seen, end) = search(&bounds(), &mut curve);
    let Next::Hold(load) = end else { panic!("{seen:?}") };
    let beyond = bounds().beyond(&seen, load).unwrap();
    assert!((1.0..1.1).contains(&beyond), "{beyond}");
    let (seen, end) = search(&bounds(), &mut plateau());
    let Next::Hold(load) = end else { panic!("{seen:?}") };
    assert_eq!(bounds().beyond(&seen, load), None);
}

#[test]
fn loads_between_are_round_and_near_ones_count_as_equal() {
    assert_eq!(between(1024, 2048), Some(1450));
    assert_eq!(between(1000, 1050), None);
    assert_eq!(between(1, 2), None);
    assert_eq!(between(2, 4), Some(2 + 1));
    assert_eq!(between(1, u64::from(u32::MAX)), Some(65_500));
}

/// A curve of any kind: growth to a knee, then a rise or a fall; a limit that breaks somewhere.
#[derive(Debug, Clone, Copy)]
struct Shape {
    knee: u64,
    slope: f64,
    cliff: u64,
    held_breaks_from: u64,
    noise: f64,
    random: u64,
}

impl Shape {
    fn curve(self) -> Curve {
        let Self { knee, slope, cliff, held_breaks_from, noise, random } = self;
        let figure = move |load: u64| {
            let x = load as f64 / knee as f64;
            if x < 1.0 { x } else { (1.0 + slope * (x - 1.0)).max(0.1) }
        };
        let watched = move |load: u64| if load <= cliff { 1.0 } else { 4.0 };
        Curve { held_breaks_from, noise, random, ..Curve::new(figure, watched) }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let parts = (1u64..5000, -0.5..0.5f64, 0u64..6000, 0u64..6000, 0.0..0.2f64, any::<u64>());
    parts.prop_map(|(knee, slope, cliff, held_breaks_from, noise, random)| Shape {
        knee,
        slope,
        cliff,
        held_breaks_from,
        noise,
        random,
    })
}

proptest! {
    #[test]
    fn a_search_ends_within_its_bounds(
        shape in shapes(),
        from in 1u64..100,
        width in 1u64..5000,
    ) {
        let bounds = Bounds { from, to: from + width, ..bounds() };
        let (seen, end) = search(&bounds, &mut shape.curve());
        let back = held_breaks(&seen).count() as u64;
        prop_assert!(back <= 8, "{back} steps back");
        prop_assert!(tried(&seen).len() as u64 <= bounds.most_steps() + STEPPING_BACK * back);
        prop_assert!(seen.iter().all(|seen| (from..=from + width).contains(&seen.load)));
        let first_hold = seen.iter().position(|seen| seen.is_held).unwrap_or(seen.len());
        prop_assert!(first_hold as u64 <= bounds.most_steps());
        if let Next::Hold(load) = end {
            prop_assert!((from..=from + width).contains(&load));
        }
    }

    #[test]
    fn nothing_is_held_that_was_not_found_to_hold(shape in shapes()) {
        let Shape { cliff, held_breaks_from, .. } = shape;
        let (seen, end) = search(&bounds(), &mut shape.curve());
        for (at, held) in seen.iter().enumerate().filter(|(_, seen)| seen.is_held) {
            let before: Vec<&Seen> =
                seen[..at].iter().filter(|seen| seen.load == held.load && !seen.is_held).collect();
            let holding = before.iter().filter(|seen| seen.holds).count();
            prop_assert!(holding > 0 && 2 * holding > before.len(), "{:?}", before);
            prop_assert!(held.load <= cliff);
        }
        // 1 holds in every step, and for long where that does.
        let is_feasible = cliff >= 1 && held_breaks_from > 1;
        prop_assert_eq!(end == Next::Infeasible, !is_feasible, "{:?}", seen);
    }

    #[test]
    fn a_search_that_was_interrupted_goes_on_alike(shape in shapes(), cut in 0usize..60) {
        let (seen, _) = search(&bounds(), &mut shape.curve());
        let cut = cut.min(seen.len() - 1);
        // Each trial is what its predecessors ask for, so that a prefix asks for the same.
        let is_next = match bounds().next(&seen[..cut]) {
            Next::Try(load) => seen[cut].load == load && !seen[cut].is_held,
            Next::Hold(load) => seen[cut].load == load && seen[cut].is_held,
            Next::Infeasible => false,
        };
        prop_assert!(is_next);
    }
}

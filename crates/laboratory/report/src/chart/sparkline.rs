//! What a CPU did over a trial's window, as a small stepped area.

use serde::Serialize;
use trial::CoreSeries;
use units::percent;

/// The drawing is so wide and high, in its own units.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 24.0;

/// A drawn series.
#[derive(Debug, Serialize)]
pub(crate) struct Sparkline {
    /// Its number, with its machine where that is another one.
    pub(crate) cpu: String,
    /// The busy share as an SVG path, within 120 by 24.
    pub(crate) path: String,
    /// The means in words.
    pub(crate) title: String,
}

/// The busy share of a CPU of that machine, where it is another one; `None` where the series is empty or
/// its parts do not fit each other.
pub(crate) fn sparkline(series: &CoreSeries, host: Option<&str>) -> Option<Sparkline> {
    let CoreSeries { cpu, step_ns, user, system, softirq, steal, idle } = series;
    let cpu = host.map_or(cpu.to_string(), |host| format!("{cpu} of {host}"));
    let total: u64 = step_ns.iter().try_fold(0u64, |sum, step| sum.checked_add(*step))?;
    let all = [user, system, softirq, steal, idle];
    if total == 0 || all.iter().any(|shares| shares.len() != step_ns.len()) {
        return None;
    }
    let mut path = format!("M0 {HEIGHT}");
    let mut passed = 0;
    for (step, idle) in step_ns.iter().zip(idle) {
        passed += step;
        let x = WIDTH * passed as f64 / total as f64;
        path.push_str(&format!("V{:.1}H{x:.1}", HEIGHT * idle.clamp(0.0, 1.0)));
    }
    path.push_str(&format!("V{HEIGHT}Z"));
    let mean = |shares: &[f64]| percent(series.mean(shares));
    let title = format!(
        "CPU {cpu}: programs {}, kernel {}, interrupts {}, taken by the hypervisor {}, idle {}",
        mean(user),
        mean(system),
        mean(softirq),
        mean(steal),
        mean(idle)
    );
    Some(Sparkline { cpu, path, title })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_as_wide_as_they_were_long() {
        let series = CoreSeries {
            cpu: 3,
            step_ns: vec![100, 300],
            user: vec![1.0, 0.0],
            system: vec![0.0; 2],
            softirq: vec![0.0; 2],
            steal: vec![0.0; 2],
            idle: vec![0.0, 1.0],
        };
        let drawn = sparkline(&series, None).unwrap();
        assert_eq!(drawn.path, "M0 24V0.0H30.0V24.0H120.0V24Z");
        assert_eq!(sparkline(&series, Some("me@server")).unwrap().cpu, "3 of me@server");
        assert!(drawn.title.starts_with("CPU 3: programs 25.0%, kernel 0.0%"), "{}", drawn.title);
        assert!(sparkline(&CoreSeries::default(), None).is_none());
        assert!(sparkline(&CoreSeries { user: vec![], ..series }, None).is_none());
    }
}

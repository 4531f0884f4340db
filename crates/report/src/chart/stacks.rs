//! Bars of parts, each a share of the whole.

use answer::findings::{self, Series, Stack, StackRow};
use serde::Serialize;
use units::percent;

use super::rounded;

/// A chart of such bars.
#[derive(Debug, Serialize)]
pub(crate) struct Stacks {
    title: String,
    subtitle: String,
    /// The chart in words, for readers who cannot see it.
    description: String,
    rows: Vec<Row>,
    /// In pixels; the axis is below.
    height: f64,
    legend: Vec<(Series, &'static str)>,
}

#[derive(Debug, Serialize)]
struct Row {
    /// Its upper end in pixels.
    y: f64,
    label: String,
    /// How much of each bar is filled.
    value: String,
    bars: Vec<Bar>,
}

#[derive(Debug, Serialize)]
struct Bar {
    /// In pixels, below the row's upper end.
    y: f64,
    height: f64,
    parts: Vec<Part>,
    /// All of it in words.
    title: String,
}

#[derive(Debug, Serialize)]
struct Part {
    series: Series,
    /// In percent.
    x: f64,
    width: f64,
}

/// The line of a row's label, and what its bars take below it: machines have many CPUs.
const LINE: f64 = 18.0;
const BAR: f64 = 11.0;
const GAP: f64 = 7.0;

impl Stacks {
    pub(super) fn of(stacks: &findings::Stacks) -> Self {
        let mut height = 0.0;
        let mut row = |of: &StackRow| {
            let row = Row::of(of, height, &stacks.legend);
            height += LINE + of.bars.len() as f64 * (BAR + 1.0) + GAP;
            row
        };
        let rows: Vec<Row> = stacks.rows.iter().map(&mut row).collect();
        let in_words = |row: &Row| {
            let bars: Vec<&str> = row.bars.iter().map(|bar| bar.title.as_str()).collect();
            format!("{}.", bars.join("; "))
        };
        Self {
            title: stacks.title.clone(),
            subtitle: stacks.subtitle.clone(),
            description: rows.iter().map(in_words).collect::<Vec<_>>().join(" "),
            rows,
            height,
            legend: stacks.legend.clone(),
        }
    }
}

impl Row {
    fn of(row: &StackRow, y: f64, legend: &[(Series, &'static str)]) -> Self {
        let filled = |bar: &Stack| percent(bar.parts.iter().map(|(_, share)| share).sum());
        let bar = |(place, bar): (usize, &Stack)| {
            Bar::of(bar, LINE + place as f64 * (BAR + 1.0), &row.label, legend)
        };
        Self {
            y,
            label: row.label.clone(),
            value: row.bars.iter().map(filled).collect::<Vec<_>>().join(" · "),
            bars: row.bars.iter().enumerate().map(bar).collect(),
        }
    }
}

impl Bar {
    fn of(stack: &Stack, y: f64, row: &str, legend: &[(Series, &'static str)]) -> Self {
        let mut end: f64 = 0.0;
        let mut parts = Vec::new();
        let mut words = Vec::new();
        // What is nothing or, by the kernel's rounding, less is not drawn.
        for (series, share) in stack.parts.iter().filter(|(_, share)| *share > 0.0) {
            let x = end;
            end = (end + 100.0 * share).min(100.0);
            let part = Part { series: *series, x: rounded(x), width: rounded(end - x) };
            parts.extend((part.width > 0.0).then_some(part));
            let name = legend.iter().find(|(of, _)| of == series).map_or("", |(_, name)| name);
            words.push(format!("{name} {}", percent(*share)));
        }
        let words = if words.is_empty() { "nothing".to_owned() } else { words.join(", ") };
        Self { y, height: BAR, parts, title: format!("{row}, {}: {words}", stack.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(parts: &[&[(Series, f64)]]) -> Stacks {
        let bar = |parts: &&[(Series, f64)]| Stack { name: "RSA".into(), parts: parts.to_vec() };
        Stacks::of(&findings::Stacks {
            title: String::new(),
            subtitle: String::new(),
            rows: [0, 1]
                .map(|cpu| StackRow {
                    label: format!("CPU {cpu}"),
                    bars: parts.iter().map(bar).collect(),
                })
                .into(),
            legend: vec![(Series::Server, "server"), (Series::Others, "other programs")],
        })
    }

    #[test]
    fn parts_follow_each_other_and_leave_out_what_is_idle() {
        let of = chart(&[&[(Series::Server, 0.5), (Series::Client, 0.0), (Series::Others, 0.25)]]);
        let [bar] = &of.rows[0].bars[..] else { panic!() };
        let drawn: Vec<_> =
            bar.parts.iter().map(|part| (part.series, part.x, part.width)).collect();
        assert_eq!(drawn, [(Series::Server, 0.0, 50.0), (Series::Others, 50.0, 25.0)]);
        assert_eq!(of.rows[0].value, "75.0%");
        assert_eq!(
            of.description,
            "CPU 0, RSA: server 50.0%, other programs 25.0%. CPU 1, RSA: server 50.0%, other \
             programs 25.0%."
        );
    }

    #[test]
    fn no_bar_is_longer_than_its_cpu_and_no_part_is_negative() {
        let of =
            chart(&[&[(Series::Server, 0.9), (Series::Others, 0.2)], &[(Series::Server, -0.01)]]);
        let [full, empty] = &of.rows[1].bars[..] else { panic!() };
        let end = full.parts.iter().map(|part| part.width).sum::<f64>();
        assert!((end - 100.0).abs() < 1e-9 && empty.parts.is_empty(), "{of:?}");
        assert!(of.description.ends_with("CPU 1, RSA: nothing."), "{}", of.description);
        assert!(
            full.y + full.height <= empty.y && of.rows[1].y + empty.y + empty.height < of.height
        );
    }
}

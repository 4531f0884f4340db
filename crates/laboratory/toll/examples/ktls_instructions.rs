//! What user TLS and kernel TLS cost a server in instructions, from the counts of
//! `crates/laboratory/toll/tests/proofs/kernel_tls/count.sh` in a virtual machine: the tables of `make bench-ktls`.
//!
//! A response of n bytes takes a + b n instructions, and one of r records c + d r: least squares of relative
//! distances, since a large response would otherwise decide alone what a small one costs. The bytes of a
//! full record pay for it in b; d is a further record for the same bytes. Counting has no noise, so the
//! greatest distance from the line shows how far the cost is not a line.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{IsTerminal, Read};
use std::str::FromStr;

use answer::findings::Column;
use report::{Look, Page, Style};
use tls::SendMode;
use units::{Bytes, decimal, places};

/// The record size of the sweep over objects.
const FULL_RECORD: u64 = 16 << 10;

const NOTES: [&str; 4] = [
    "An instruction is not time: one for AES counts as much as an addition, and waiting for memory counts \
     nothing.",
    "Counted is what the tasks of the server execute. The softirq of what they send over loopback is in it, up \
     to the client's socket; what goes out in the softirq of the client's acknowledgements is not.",
    "A further record is one more for the same bytes. With nginx each has a system call and a segment of its \
     own; with the embedded server only in kTLS write, below 16 KiB.",
    "The kernel makes records of 16 KiB in kTLS sendfile, which cannot be set: there is no cost per record.",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let counts: Vec<Count> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    let style = if std::io::stdout().is_terminal() { Style::Colour } else { Style::Plain };
    print!("{}", page(&counts, style)?);
    Ok(())
}

/// One line of the counts.
struct Count {
    row: Row,
    object: u64,
    record: u64,
    /// Instructions of a response.
    each: f64,
}

/// A server and how it sends.
type Row = (String, SendMode);

impl FromStr for Count {
    type Err = Box<dyn Error>;

    /// From `nginx ktls-write OBJECT RECORD RESPONSES INSTRUCTIONS`.
    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let [server, mode, object, record, responses, instructions] =
            line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            return Err(format!("not a line of counts: `{line}`").into());
        };
        Ok(Self {
            row: (server.to_owned(), mode.parse()?),
            object: object.parse()?,
            record: record.parse()?,
            each: instructions.parse::<f64>()? / responses.parse::<f64>()?,
        })
    }
}

/// The line through points.
#[derive(Debug, Clone, Copy)]
struct Fit {
    at_zero: f64,
    slope: f64,
    /// The greatest relative distance of a point from it.
    worst: f64,
}

impl Fit {
    /// By least squares of relative distances; `None` where the points have fewer than two places.
    fn through(points: &[(f64, f64)]) -> Option<Self> {
        let sum = |term: fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&(x, y)| term(x, y) / (y * y)).sum()
        };
        let (ones, xs, ys) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
        let (squares, products) = (sum(|x, _| x * x), sum(|x, y| x * y));
        let determinant = ones * squares - xs * xs;
        if determinant <= f64::EPSILON * ones * squares {
            return None;
        }
        let slope = (ones * products - xs * ys) / determinant;
        let at_zero = (ys - slope * xs) / ones;
        let distance = |&(x, y): &(f64, f64)| ((at_zero + slope * x) / y - 1.0).abs();
        Some(Self { at_zero, slope, worst: points.iter().map(distance).fold(0.0, f64::max) })
    }
}

/// What a server does in a mode.
struct Costs {
    /// Instructions of a response by object size, in full records.
    objects: BTreeMap<u64, f64>,
    /// Over bytes.
    sizes: Fit,
    /// Over records of the same object.
    records: Option<Fit>,
}

fn costs(counts: &[Count]) -> Result<BTreeMap<Row, Costs>, String> {
    let mut rows: BTreeMap<Row, Vec<&Count>> = BTreeMap::new();
    for count in counts {
        rows.entry(count.row.clone()).or_default().push(count);
    }
    let costs = rows.into_iter().map(|(row, counts)| {
        let full = counts.iter().filter(|count| count.record == FULL_RECORD);
        let objects: BTreeMap<u64, f64> = full.map(|count| (count.object, count.each)).collect();
        let points: Vec<_> = objects.iter().map(|(&size, &each)| (size as f64, each)).collect();
        let sizes = Fit::through(&points).ok_or_else(|| {
            format!("{} with {} was counted with fewer than two sizes", row.0, row.1.words())
        })?;
        let cut = counts.iter().find(|count| count.record != FULL_RECORD).map(|count| count.object);
        let of_records = counts.iter().filter(|count| Some(count.object) == cut);
        let points: Vec<_> = of_records
            .map(|count| (count.object.div_ceil(count.record) as f64, count.each))
            .collect();
        Ok((row, Costs { objects, sizes, records: Fit::through(&points) }))
    });
    costs.collect()
}

/// Sentences first, then the tables, then how to read them.
fn page(counts: &[Count], style: Style) -> Result<String, String> {
    let costs = costs(counts)?;
    if costs.is_empty() {
        return Err("nothing was counted".to_owned());
    }
    let mut page = Page::new(usize::MAX, style);
    for ((server, mode), cost) in &costs {
        if let Some(user) =
            costs.get(&(server.clone(), SendMode::User)).filter(|_| mode.is_kernels())
        {
            page.paragraph("", &sentence(server, *mode, cost, user), Look::Usual);
        }
    }
    page.blank();
    for table in [by_size(&costs), by_fit(&costs)] {
        page.table(table, |_| false);
        page.blank();
    }
    for note in NOTES {
        page.paragraph("", note, Look::Usual);
    }
    Ok(page.text())
}

/// How a mode of the kernel compares with user TLS.
fn sentence(server: &str, mode: SendMode, cost: &Costs, user: &Costs) -> String {
    let more = cost.sizes.at_zero - user.sizes.at_zero;
    let saved = user.sizes.slope - cost.sizes.slope;
    let amount = |difference: f64, of: &str| {
        let word = if difference < 0.0 { "fewer" } else { "more" };
        format!("{} {word} instructions {of}", number(difference.abs()))
    };
    let mut text = format!(
        "With {} {} takes {} and {} than with user TLS",
        mode.words(),
        if server == "embedded" { "the embedded server" } else { server },
        amount(more, "for a response"),
        amount(-saved, "for a byte"),
    );
    if more > 0.0 && saved > 0.0 {
        let size = Bytes((more / saved / 1024.0).ceil() as u64 * 1024);
        text += &format!(": fewer in all from {size} on");
    }
    if let (Some(kernel), Some(user)) = (cost.records, user.records) {
        let (kernel, user) = (number(kernel.slope), number(user.slope));
        text += &format!(". A further record takes it {kernel}, and with user TLS {user}");
    }
    text + "."
}

fn labels(costs: &BTreeMap<Row, Costs>) -> [Column; 2] {
    [
        Column::words("server", costs.keys().map(|(server, _)| server.clone())),
        Column::words("sends by", costs.keys().map(|(_, mode)| mode.words().to_owned())),
    ]
}

fn by_size(costs: &BTreeMap<Row, Costs>) -> Vec<Column> {
    let mut sizes: Vec<u64> =
        costs.values().flat_map(|cost| cost.objects.keys()).copied().collect();
    sizes.sort_unstable();
    sizes.dedup();
    let column = |size: u64| {
        let each = costs.values().map(|cost| cost.objects.get(&size));
        let cells = each.map(|each| each.map_or_else(String::new, |&each| decimal(each, 0)));
        Column::numbers(&Bytes(size).to_string(), "instructions", cells)
    };
    labels(costs).into_iter().chain(sizes.into_iter().map(column)).collect()
}

fn by_fit(costs: &BTreeMap<Row, Costs>) -> Vec<Column> {
    let numbers = |name: &str, unit: &str, value: fn(&Costs) -> Option<f64>| {
        let cells = costs.values().map(|cost| value(cost).map_or_else(|| "-".to_owned(), number));
        Column::numbers(name, unit, cells)
    };
    let percents = |name: &str, value: fn(&Costs) -> Option<f64>| {
        let percent = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), units::percent);
        Column::numbers(name, "of the count", costs.values().map(|cost| percent(value(cost))))
    };
    let mut columns = Vec::from(labels(costs));
    columns.extend([
        numbers("per response", "instructions", |cost| Some(cost.sizes.at_zero)),
        numbers("per byte", "instructions", |cost| Some(cost.sizes.slope)),
        percents("furthest off", |cost| Some(cost.sizes.worst)),
        numbers("per further record", "instructions", |cost| cost.records.map(|fit| fit.slope)),
        percents("furthest off", |cost| cost.records.map(|fit| fit.worst)),
    ]);
    columns
}

/// With three digits, or whole.
fn number(value: f64) -> String {
    decimal(value, places(value, 3).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of 20,000 and 9 a byte with user TLS, of 25,000 and 7 a byte with kTLS write; of further
    /// records 1,000 and 1,500; and with sendfile 30,000 and 5 a byte.
    fn fabricated() -> Vec<Count> {
        let mut lines = Vec::new();
        for (mode, response, byte, record) in [
            ("user", 20_000, 9, 1000),
            ("ktls-write", 25_000, 7, 1500),
            ("ktls-sendfile", 30_000, 5, 0),
        ] {
            for size in [1 << 10, 64 << 10, 256 << 10, 10 << 20] {
                lines.push(format!("nginx {mode} {size} 16384 3 {}", 3 * (response + byte * size)));
            }
            let records = if record == 0 { &[][..] } else { &[1024, 4096] };
            for size in records {
                let further = (256 << 10) / size - 16;
                let each = response + byte * (256 << 10) + further * record;
                lines.push(format!("nginx {mode} 262144 {size} 2 {}", 2 * each));
            }
        }
        lines.iter().map(|line| line.parse().unwrap()).collect()
    }

    #[test]
    fn what_was_put_in_comes_out() {
        let costs = costs(&fabricated()).unwrap();
        let cost = |mode| &costs[&("nginx".to_owned(), mode)];
        for (mode, response, byte, record) in [
            (SendMode::User, 20_000.0, 9.0, Some(1000.0)),
            (SendMode::KtlsWrite, 25_000.0, 7.0, Some(1500.0)),
            (SendMode::KtlsSendfile, 30_000.0, 5.0, None),
        ] {
            let Costs { sizes, records, .. } = cost(mode);
            assert!((sizes.at_zero - response).abs() < 1e-3, "{mode}: {sizes:?}");
            assert!((sizes.slope - byte).abs() < 1e-9 && sizes.worst < 1e-9, "{mode}: {sizes:?}");
            let slope = records.map(|fit| fit.slope.round());
            assert_eq!(slope, record, "{mode}: {records:?}");
        }
    }

    #[test]
    fn small_responses_weigh_as_much_as_large_ones() {
        let points = [(1e3, 3e4), (1e5, 9.3e5), (1e7, 9.3e7)];
        let fit = Fit::through(&points).unwrap();
        // The line through the large ones alone would begin at 0.
        assert!((20_000.0..21_500.0).contains(&fit.at_zero), "{fit:?}");
        assert!((0.005..0.02).contains(&fit.worst), "{fit:?}");
        assert!(Fit::through(&points[..1]).is_none() && Fit::through(&[]).is_none());
    }

    #[test]
    fn sentences_come_first_and_tables_are_aligned() {
        let page = page(&fabricated(), Style::Plain).unwrap();
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let first = "With kTLS write nginx takes 5,000 more instructions for a response and 2.00 fewer \
                     instructions for a byte than with user TLS: fewer in all from 3KiB on. A further \
                     record takes it 1,500, and with user TLS 1,000.";
        assert!(words.starts_with(first), "{page}");
        assert!(words.contains("4.00 fewer instructions for a byte than with user TLS: fewer in all from 3KiB on. server"), "{page}");
        assert!(words.contains("An instruction is not time"), "{page}");
        let rows: Vec<_> = page.lines().filter(|line| line.contains("kTLS sendfile ")).collect();
        assert!(rows.iter().any(|row| row.contains("52,458,800")), "{page}");
        assert!(rows.iter().any(|row| row.contains("30,000") && row.ends_with("-")), "{page}");
    }

    #[test]
    fn counts_that_end_early_are_refused() {
        assert!("nginx user 1024 16384 50".parse::<Count>().is_err());
        assert!(page(&[], Style::Plain).is_err());
        let one = "nginx user 1024 16384 50 3636739".parse().unwrap();
        assert!(page(&[one], Style::Plain).unwrap_err().contains("fewer than two sizes"));
    }
}

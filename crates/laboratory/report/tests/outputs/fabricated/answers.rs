//! The answers, in words that are not made from the figures, and their bars.

use std::collections::BTreeMap;
use std::sync::Arc;

use answer::Mark;
use answer::analysis::{Agreement, Answer, CrossCheck, Point, Row, RowFigure};
use answer::findings::Headline;
use study::{AnswerRule, Metric};

use super::figure;

pub(super) fn answers(cells: &[Arc<Row>]) -> Vec<Answer> {
    let mut answers = Vec::new();
    let servers = ["embedded", "nginx"];
    for (case, metric) in
        [("handshakes", Metric::RatePerServerCpu), ("objects", Metric::GoodputPerServerCpu)]
    {
        for server in servers {
            answers.push(answer(cells, case, server, metric));
        }
    }
    answers.push(answer(cells, "objects", "embedded", Metric::TlsTax));
    for (place, value, sentence, advice) in [
        (
            0,
            "1.45x",
            "An ECDSA P-256 certificate gives 1.45x the handshakes of RSA-2048: 1,600/s against 1,100/s per core.",
            Some("Give this server an ECDSA P-256 certificate."),
        ),
        (2, "7.20 Gb/s", "A core sends the most with AES-128-GCM: 7.20 Gb/s.", None),
        (4, "81%", "Encrypting costs 81% of a core's throughput: 38.0 Gb/s plain.", None),
    ] {
        answers[place].headline = Some(Headline {
            value: value.to_owned(),
            unit: "per core".to_owned(),
            sentence: sentence.to_owned(),
            advice: advice.map(str::to_owned),
        });
    }
    answers
}

pub(super) fn cross_check() -> CrossCheck {
    CrossCheck {
        sentence:
            "wrk cannot check toll's rate (nginx, 1 MiB objects): with wrk the client's CPU was \
                   the limit in all 7 trials."
                .to_owned(),
        agreement: Agreement::NotComparable,
        label: "nginx, 1 MiB objects".to_owned(),
        client: "wrk".to_owned(),
        cell: "objects-0001-wrk-0001".to_owned(),
        other_cell: "objects-0001-wrk-0002".to_owned(),
        rate_ratio: None,
        server_cpu_ratio: None,
        limits: BTreeMap::new(),
        other_limits: BTreeMap::new(),
    }
}

fn answer(cells: &[Arc<Row>], case: &str, server: &str, metric: Metric) -> Answer {
    let is_own =
        |cell: &&Arc<Row>| cell.case == case && cell.params["target.server"].to_string() == server;
    let cells: Vec<&Arc<Row>> = cells.iter().filter(is_own).collect();
    let compare = match case {
        "handshakes" => "target.certificate-key",
        _ => "load.suite",
    };
    let of = |cell: &Row| {
        let of_cell = if metric == Metric::TlsTax { Metric::GoodputPerServerCpu } else { metric };
        cell.figure(of_cell)
    };
    let baseline = of(cells[0]).map_or(1.0, |figure| figure.estimate.median);
    let one = |(i, cell): (usize, &&Arc<Row>)| RowFigure {
        row: (*cell).clone(),
        value: cell.params[compare].clone(),
        label: cell.label.split_once(", ").unwrap().1.to_owned(),
        is_baseline: i == 0,
        figure: of(cell).and_then(|found| match metric {
            Metric::TlsTax if i == 0 => None,
            Metric::TlsTax => figure(found.samples.iter().map(|x| 1.0 - x / baseline).collect()),
            _ => Some(found),
        }),
        ratio: None,
        mark: cell.mark,
        projected: Vec::new(),
    };
    let is_marked = cells.iter().any(|cell| cell.mark == Some(Mark::ClientBound));
    let baseline_value = cells[0].params[compare].to_string();
    let point = Point {
        rule: Arc::new(AnswerRule::new(case, metric, compare, &baseline_value)),
        place: match metric {
            Metric::RatePerServerCpu => 0,
            Metric::GoodputPerServerCpu => 1,
            _ => 2,
        },
        common: BTreeMap::from([("target.server".to_owned(), server.to_owned())]).into(),
        figures: cells.iter().enumerate().map(one).collect(),
        decisions: Arc::default(),
    };
    Answer {
        notes: vec![format!("Of {server}.")],
        purity: (case == "handshakes").then(|| {
            "These were handshakes: 1.00 full handshakes per connection, no request on any, at most \
             64 connections open, 0.3% of the server's descriptors used, no port lacking, no \
             connection lost in the accept queue."
                .to_owned()
        }),
        caveats: is_marked
            .then(|| {
                "in plain HTTP the client was the limit: the server can do more than is said here"
                    .to_owned()
                    .into()
            })
            .into_iter()
            .collect(),
        ..Answer::plain(vec![point])
    }
}

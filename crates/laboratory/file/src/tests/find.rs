//! `[find]`, `target.cores`, `[scale.NAME]` and `--only`.

use super::*;
use study::find::{Find, Over};
use study::{Cell, CpuOrder, Metric};

const FIND: &[&str] =
    &["find.maximize = \"goodput\"", "find.to = 64", "find.while = \"first-byte-max <= 2s\""];

fn found(text: &str) -> Find {
    parse(text).cells[0].find.unwrap_or_else(|| panic!("nothing is searched for in {text}"))
}

#[test]
fn what_a_search_leaves_out_has_a_value() {
    let study = parse(&with(&["connections = 8", "duration = \"7s\""], FIND));
    let cell = &study.cells[0];
    let find = cell.find.unwrap();
    assert_eq!((find.maximize, find.over), (Metric::Goodput, Over::Connections));
    assert_eq!((find.from, find.to), (1, 64));
    assert_eq!((find.step.seconds(), find.hold.seconds()), (3.0, 7.0));
    assert_eq!((find.plateau.to_string().as_str(), cell.load.connections), ("2%", 1));
    assert_eq!(cell.held_for(), find.hold);
    assert_eq!(read_back(&study), study);
}

#[test]
fn a_case_says_anew_what_it_searches_for() {
    let text = with(&[], &["find.to = 16", "find.hold = \"2min\""]).replace(
        "[load]",
        "[find]\nmaximize = \"rate\"\nto = 64\nwhile = \"errors <= 0.1%\"\nstep = \"500ms\"\n\
         plateau = \"5%\"\n[load]",
    );
    let find = found(&text);
    assert_eq!((find.to, find.hold.seconds(), find.step.seconds()), (16, 120.0, 0.5));
    assert_eq!(find.ceiling.to_string(), "errors <= 0.1%");
    assert_eq!(read_back(&parse(&text)), parse(&text));
}

#[test]
fn a_rate_of_arrivals_is_searched_for_too() {
    let case = [
        "find.maximize = \"rate\"",
        "find.over = \"load.arrival\"",
        "find.from = \"poisson 0.5/s\"",
        "find.to = \"poisson 2000/s\"",
        "find.while = \"whole-p99 <= 20ms\"",
    ];
    let study = parse(&with(&[], &case));
    assert_eq!(study.cells[0].load.arrival.to_string(), "poisson 0.5/s");
    assert_eq!(study.cells[0].find.unwrap().over.value(1_250_000), "poisson 1250/s");
    assert_eq!(read_back(&study), study);
}

#[test]
fn searches_of_swept_durations_hold_for_them() {
    let sweep = "sweep.\"load.duration\" = [\"1s\", \"2s\"]";
    let study = parse(&with(&[], &[FIND, &[sweep]].concat()));
    let holds: Vec<f64> = study.cells.iter().map(|cell| cell.held_for().seconds()).collect();
    assert_eq!(holds, [1.0, 2.0]);
    assert_eq!(read_back(&study), study);
}

#[test]
fn what_contradicts_a_search_is_refused_with_its_line() {
    let search = |load: &str, case: &str| {
        let lines = with(&[load], &[FIND, &[case]].concat());
        (format!("[load]\n{load}\n[[case]]\n{case}"), refusal(&lines))
    };
    let limited = |load: &str, limit: &str| {
        let case = format!("find.maximize = 'rate'\nfind.to = 9\n{limit}");
        (format!("[load]\n{load}\n[[case]]\n{case}"), refusal(&with(&[load], &[&case])))
    };
    assert_golden!([
        search("", "load.connections = 8"),
        search("", "sweep.'load.connections' = [1, 2]"),
        search("", "find.over = 'load.conections'"),
        search("", "find.hodl = '2s'"),
        search("", "find.step = 3"),
        search("", "find.hold = '0s'"),
        search("", "find.from = 64"),
        search("", "find.from = 'poisson 1/s'"),
        search("arrival = 'poisson 9/s'", ""),
        search("arrival = 'paced 1Gb/s'", ""),
        search("", "load.operation = 'handshakes'"),
        limited("", ""),
        limited("", "find.while = 'connect-max <= 2s'"),
        limited("", "find.while = 'deadline-misses <= 1%'"),
        limited("", "find.while = 'first-byte <= 2s'"),
        limited("client = 'wrk'", "find.while = 'whole-max <= 2s'"),
    ]);
}

#[test]
fn the_guide_has_every_limit_of_a_search() {
    let (_, section) = super::documents::GUIDE.split_once("## The search for a maximum").unwrap();
    for watched in study::find::Watched::ALL {
        assert!(section.contains(&format!("`{}`", watched.name())), "{watched:?}");
    }
}

/// The server's CPUs in each cell.
fn cores(case: &[&str], machine: &Topology) -> (Study, Vec<String>) {
    let text = with(&["cpus = \"1\""], case);
    let study =
        crate::parse("test.toml", &text, machine, None).unwrap_or_else(|error| panic!("{error}"));
    let cpus = |cell: &Cell| cell.target.cpus.to_string();
    let cpus = study.cells.iter().map(cpus).collect();
    (study, cpus)
}

#[test]
fn cores_are_taken_from_the_list_in_its_order_and_those_that_lack_are_left_out() {
    let case = ["target.cpus = \"4,0,2\"", "sweep.\"target.cores\" = [1, 2, 3, 4, 8]"];
    let (study, cpus) = cores(&case, &machine("0-7"));
    assert_eq!(cpus, ["4", "0,4", "0,2,4"]);
    assert_eq!(study.cells[0].pool, Some("4,0,2".parse::<CpuOrder>().unwrap()));
    assert_eq!(study.cut.len(), 1);
    assert_eq!(read_back(&study), study);
}

#[test]
fn without_a_list_a_server_has_all_cpus_but_the_clients() {
    let (study, cpus) = cores(&["sweep.\"target.cores\" = [1, 2]"], &machine("0-1"));
    assert_eq!(cpus, ["0"]);
    assert_eq!(read_back(&study), study);
}

/// Four cores of two threads: CPU 4 is the sibling of CPU 0. The client has CPU 1.
fn hyperthreads() -> Topology {
    Topology::new("0-7".parse().unwrap(), |cpu| Some((0, cpu % 4)))
}

#[test]
fn a_core_is_one_cpu_unless_both_of_its_threads_are_asked_for() {
    let sweep = "sweep.\"target.cores\" = [1, 3, 4]";
    let (study, cpus) = cores(&[sweep], &hyperthreads());
    // The sibling of the client's CPU comes last.
    assert_eq!(cpus, ["0", "0,2-3", "0,2-3,5"]);
    assert_eq!(study.cut, []);
    let both = "sweep.\"target.threads-per-core\" = [1, 2]";
    let (study, cpus) = cores(&[sweep, both], &hyperthreads());
    assert_eq!(cpus, ["0", "0,4", "0,2-3", "0,2-4,6-7", "0,2-3,5"]);
    assert_eq!(study.cut.len(), 1);
    assert_eq!(read_back(&study), study);
    // Without hyperthreads a second thread is not there.
    let (study, cpus) = cores(&["target.cores = 1", both], &machine("0-7"));
    assert_eq!(cpus, ["0"]);
    assert_eq!(study.cut.len(), 1);
}

#[test]
fn cores_that_are_not_there_are_refused() {
    let refused = [
        "target.cores = 2",
        "sweep.'target.cores' = [4, 2]",
        "target.cores = 1\nsweep.'target.cpus' = ['0', '1']",
        "target.cores = 1\ntarget.threads-per-core = 3",
        "target.threads-per-core = 2",
        "sweep.'target.threads-per-core' = [1, 2]",
        "target.cores = 1\ntarget.threads-per-core = 2",
    ];
    let refused = refused.map(|case| (case, refusal(&with(&["cpus = '1'"], &[case]))));
    assert_golden!(refused);
}

const SCALED: &str = r#"
schema = 1
question = "?"
trials = 7
[target]
server = "embedded"
[load]
duration = "10s"
[find]
maximize = "goodput"
to = 64
while = "first-byte-max <= 2s"
hold = "2min"
[[case]]
name = "bulk"
sweep."target.object" = ["1MiB", "4MiB", "16MiB"]
[[answer]]
case = "bulk"
metric = "goodput"
compare = "target.object"
baseline = "16MiB"
[scale.quick]
trials = 3
load.warmup = "10ms"
find.hold = "5s"
sweep."target.object" = ["1MiB", "2MiB"]
"#;

fn scaled(scale: Option<&str>, text: &str) -> Result<Study, String> {
    crate::parse("test.toml", text, &allowed(), scale).map_err(|error| error.to_string())
}

#[test]
fn a_scale_takes_the_place_of_what_the_study_says_and_tells_what_it_cut() {
    let whole = scaled(None, SCALED).unwrap();
    assert_eq!((whole.trials, whole.cells.len(), whole.cut.len()), (7, 3, 0));
    let quick = scaled(Some("quick"), SCALED).unwrap();
    assert_eq!((quick.trials, quick.cells.len()), (3, 2));
    assert_eq!(quick.cells[1].target.object.to_string(), "2MiB");
    assert_eq!(quick.cells[1].held_for().seconds(), 5.0);
    insta::assert_snapshot!(
        quick.cut.iter().map(|of| of.what.as_str()).collect::<Vec<_>>().join("\n")
    );
    assert_eq!(read_back(&quick), quick);
}

#[test]
fn a_scale_changes_one_case_and_leaves_the_others() {
    let two = SCALED.replace(
        "[[answer]]",
        "[[case]]\nname = \"other\"\nload.suite = \"none\"\nload.warmup = \"2s\"\n[[answer]]",
    );
    let with = |line: &str| {
        let text = two.replace("[scale.quick]\n", &format!("[scale.quick]\n{line}\n"));
        scaled(Some("quick"), &text)
    };
    let quick = with("case.other.load.warmup = \"7s\"").unwrap();
    let warmups: Vec<_> = quick.cells.iter().map(|cell| cell.load.warmup().seconds()).collect();
    assert_eq!(warmups, [0.01, 0.01, 7.0]);
    let cut = "scale quick: load.warmup = 7s instead of 10ms in case other";
    assert!(quick.cut.iter().any(|of| of.what == cut), "{:?}", quick.cut);
    let wrong =
        ["case.othre.load.warmup = '7s'", "case.other.trials = 2", "case.other.load.warmpu = '7s'"];
    assert_golden!(wrong.map(|line| (line, with(line).unwrap_err())));
}

/// What an answer's `only` names is dropped as a baseline is: cells that a scale leaves out, and the baseline that it
/// leaves alone.
#[test]
fn answers_about_cells_that_a_scale_leaves_out_are_dropped() {
    let answer = |only: &str| {
        format!(
            "[[answer]]\ncase = 'bulk'\nmetric = 'rate'\ncompare = 'load.suite'\nbaseline = 'none'\n{only}"
        )
    };
    let text = with(
        &[],
        &[
            "sweep.'load.suite' = ['none', 'TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384']",
            "sweep.'load.connections' = [4, 8]",
            &answer("only = { 'load.connections' = 8 }"),
            &answer(
                "only = [{ 'load.suite' = 'none' }, { 'load.suite' = 'TLS_AES_256_GCM_SHA384' }]",
            ),
            &answer(""),
            "[scale.few]\nsweep.'load.suite' = ['none', 'TLS_AES_128_GCM_SHA256']",
            "sweep.'load.connections' = [4]",
        ],
    );
    let dropped =
        |study: &Study| study.cut.iter().filter(|cut| cut.kind == "fewer answers").count();
    let whole = scaled(None, &text).unwrap();
    assert_eq!((whole.answers.len(), dropped(&whole)), (3, 0));
    let few = scaled(Some("few"), &text).unwrap();
    assert!(matches!(&few.answers[..], [rule] if rule.only.is_empty()), "{:?}", few.answers);
    assert_eq!(dropped(&few), 2, "{:?}", few.cut);
}

#[test]
fn a_scale_that_is_not_there_or_cuts_nothing_is_refused() {
    let changed = |from: &str, to: &str| {
        assert!(SCALED.contains(from), "{from}");
        SCALED.replace(from, to)
    };
    let objects = "sweep.\"target.object\" = [\"1MiB\", \"2MiB\"]\n";
    let warmup = "load.warmup = \"10ms\"";
    let refused = |scale: Option<&str>, text: &str| scaled(scale, text).unwrap_err();
    let quick = Some("quick");
    assert_golden!([
        ("--scale qiuck", refused(Some("qiuck"), SCALED)),
        ("--scale quick, of a study without", refused(quick, &with(&[], &[]))),
        (
            "sweep.'load.suite' = ['none']",
            refused(quick, &changed(objects, "sweep.'load.suite' = ['none']\n")),
        ),
        ("target.object = '1MiB'", refused(quick, &changed(warmup, "target.object = '1MiB'")),),
        // Also where it is not wanted.
        ("laod.warmup = '10ms'", refused(None, &changed("load.warmup", "laod.warmup"))),
    ]);
}

fn only(wanted: &[&str]) -> Result<Study, String> {
    let mut study = crate::parse("quick.toml", QUICK, &allowed(), None).unwrap();
    let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    crate::only(&mut study, &wanted).map(|()| study).map_err(|error| error.to_string())
}

#[test]
fn a_part_of_a_study_is_its_cells_with_these_values() {
    let names = |wanted: &[&str]| -> Vec<String> {
        let study = only(wanted).unwrap();
        assert_eq!(read_back(&study), study);
        study.cells.iter().map(|cell| cell.name.clone()).collect()
    };
    assert_eq!(names(&["suite=none", "server=nginx"]), ["bulk-0001"]);
    assert_eq!(names(&["load.suite=none", "suite=ECDHE-RSA-AES128-SHA"]).len(), 4);
    assert_eq!(names(&["case=handshakes", "certificate-key=rsa:2048"]).len(), 2);
    let study = only(&["suite=none"]).unwrap();
    assert_eq!(study.answers.len(), 1, "those about another baseline are left out");
    assert_eq!((study.cells.len(), study.cut.len()), (2, 3));
}

#[test]
fn a_part_that_is_not_there_is_refused_with_what_is() {
    let refused = [
        &["siute=none"][..],
        &["server=ngnix"],
        &["server=haproxy"],
        &["suite"],
        &["encrypt-then-mac=true"],
        &["case=bluk"],
        &["case=handshakes", "suite=none"],
    ];
    let refused = refused.map(|wanted| (wanted.join(" "), only(wanted).unwrap_err()));
    assert_golden!(refused);
}

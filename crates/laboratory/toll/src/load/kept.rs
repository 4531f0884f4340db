//! A load that is kept: a run of one cell, whose study is made of the options. All that works on the runs of studies
//! works on it.

use std::path::{Path, PathBuf};

use ::load::{HostPort, Plan, Url, is_built_in};
use file::StudyFile;
use targets::ServerPid;
use toml::{Table, Value};

use crate::compare;
use crate::exports::Exports;
use crate::gates::Gates;
use crate::{Exit, Failure, LOAD, OUTPUT, run};

/// The options of a load that is kept; each of them makes it one.
#[derive(clap::Args)]
pub(super) struct KeptLoad {
    /// How many times to measure; from 6 on there is an interval
    ///
    /// The trials are kept in a result folder, as those of a study are [default: 1; as many as the run of --against has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = LOAD)]
    trials: Option<u32>,

    /// Keep what is measured in this folder, for toll report and toll compare
    ///
    /// An earlier run of that name is kept beside it, with the time in its name [default with --trials, --against
    /// or --gate: results/TIME-load]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,

    /// Compare with the run in this folder, and list what changed
    ///
    /// As toll compare DIR does. Gates may be about that: --gate 'regression<=5%'.
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    against: Option<PathBuf>,

    /// What its report calls it
    ///
    /// [default: load]
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = OUTPUT)]
    name: Option<String>,

    #[command(flatten)]
    gates: Gates,

    #[command(flatten)]
    exports: Exports,
}

/// Its one case; two loads are compared, whatever they are called.
const CASE: &str = "load";

impl KeptLoad {
    pub(super) fn is_wanted(&self) -> bool {
        let Self { trials, out, against, name, gates, exports } = self;
        let places = [out, against].into_iter().any(Option::is_some);
        trials.is_some_and(|trials| trials > 1)
            || places
            || name.is_some()
            || !(gates.is_empty() && exports.is_empty())
    }
}

/// What the other options ask for.
pub(super) struct Asked<'a> {
    pub(super) url: &'a Url,
    pub(super) connect_to: Option<&'a HostPort>,
    pub(super) server_pid: Option<&'a ServerPid>,
    pub(super) i_operate_this_host: bool,
    pub(super) seed: u64,
    pub(super) plan: Plan,
}

/// Measures the load as a run, which prints as `run` says.
pub(super) fn main(
    kept: &KeptLoad,
    asked: Asked<'_>,
    run: run::Arguments,
) -> Result<Exit, Failure> {
    let KeptLoad { trials, out, against, name, gates, exports } = kept;
    let earlier = against.as_deref().map(compare::read).transpose()?;
    // As often as each cell of the earlier run was measured.
    let planned = earlier.iter().flat_map(|of| &of.analysis.cells).map(|cell| cell.trials.planned);
    let planned = planned.max().and_then(|most| u32::try_from(most).ok());
    let trials = trials.or(planned).unwrap_or(1);
    let text = study(asked, name.as_deref().unwrap_or(CASE), trials)?;
    let run =
        run::Arguments { out: out.clone(), gates: gates.clone(), exports: exports.clone(), ..run };
    run::of_load(&run, &StudyFile::written_by("toll load", text), earlier.as_ref())
}

/// The study: its file says all that the options do, whether they were given or not.
fn study(asked: Asked<'_>, name: &str, trials: u32) -> Result<String, Failure> {
    let Asked { url, connect_to, server_pid, i_operate_this_host, seed, mut plan } = asked;
    let files = [&mut plan.ca, &mut plan.client_certificate, &mut plan.client_key, &mut plan.body];
    let session = Some(&mut plan.session).filter(|file| !file.as_deref().is_some_and(is_built_in));
    for file in files.into_iter().chain([&mut plan.names]).chain(session).flatten() {
        *file = absolute(file)?;
    }
    let own = |error: toml::ser::Error| Failure::request(error);
    let mut target = Table::new();
    let mut put = |key: &str, value: Option<Value>| {
        value.map(|value| target.insert(key.to_owned(), value));
    };
    put("server", Some("address".into()));
    put("url", Some(url.to_string().into()));
    put("connect-to", connect_to.map(|to| to.to_string().into()));
    let pid = match server_pid {
        Some(ServerPid::File(path)) => Some(ServerPid::File(absolute(path)?)),
        named => named.cloned(),
    };
    put("pid", pid.map(Value::try_from).transpose().map_err(own)?);
    put("i-operate-this-host", i_operate_this_host.then_some(true.into()));
    let seed =
        i64::try_from(seed).map_err(|_| Failure::request("--seed: at most 2^63 - 1 here"))?;
    let study = Table::from_iter([
        ("schema".to_owned(), Value::from(1)),
        ("question".to_owned(), format!("What does {url} take?").into()),
        ("name".to_owned(), name.into()),
        ("seed".to_owned(), seed.into()),
        ("trials".to_owned(), i64::from(trials).into()),
        ("target".to_owned(), target.into()),
        ("load".to_owned(), Value::try_from(&plan).map_err(own)?),
        (
            "case".to_owned(),
            vec![Value::from(Table::from_iter([("name".to_owned(), CASE.into())]))].into(),
        ),
    ]);
    toml::to_string(&study).map_err(own)
}

fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file)
        .map_err(|error| Failure::request(format!("{}: {error}", file.display())))
}

//! `toll check`: what on this machine will spoil a measurement.

mod printed;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use check::{AesGcm, Item, Judgement, Measured, Stage, judge, names, settings_file};
use cpus::CpuList;
use observe::tuning::{self, Change, Made, Record};
use observe::{Fact, Root};
use primitives::bench::Bench;
use primitives::row::Outcome;
use primitives::{Aes, Algorithm, Cache, library};
use serde::Serialize;

use crate::progress::ProgressLine;
use crate::{Exit, Failure, json};

/// Show what on this machine will spoil a measurement, and how to fix it.
///
/// Checks CPUs, frequency, other programs, limits, network settings, libraries and installed servers. It
/// takes a little more than 1 s; run it while nothing else runs. It changes nothing without --apply.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Change the settings that can be changed, and keep the former values; needs root
    #[arg(long)]
    apply: bool,

    /// Restore the settings that --apply changed
    #[arg(long, conflicts_with_all = ["apply", "only"])]
    restore: bool,

    /// Check only these items, such as ports,time-wait
    #[arg(
        long,
        value_name = "ITEM",
        value_delimiter = ',',
        value_parser = clap::builder::PossibleValuesParser::new(names()),
        hide_possible_values = true
    )]
    only: Vec<String>,

    /// Compare settings with a machine's instead: xeon-e5-v3-2014, which was published, or a file (of
    /// sysctl.d, of limits.d, the output of `sysctl -a` elsewhere)
    #[arg(long, value_name = "MACHINE", conflicts_with_all = ["apply", "restore", "only"])]
    like: Option<PathBuf>,

    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  toll check
  sudo toll check --apply
      sets what can be set: sysctls, governor, turbo, idle states
  sudo toll check --restore
      restores every former value
  sudo toll check --apply --only ports,backlog
  toll check --like /etc/sysctl.d/90-server.conf
      shows which of its settings differ here, and which have no effect on TCP
  toll check --like xeon-e5-v3-2014
      the same with the machine of a published measurement
  toll check --json | jq -r '.items[] | select(.state != \"ok\") | .item'

Settings last until --restore or until the machine restarts. The former values are saved before the
first change, for root in /var/lib/toll/settings.json. The exit code is 0 whatever is found, and 3
if a setting could not be made or restored.";

/// What is printed with --json.
#[derive(Serialize)]
struct ItemsJson<'a> {
    /// How many items are a warning or bad.
    spoiling: usize,
    /// How many of those a setting fixes.
    settable: usize,
    /// Where the former values are of settings that toll has made.
    #[serde(skip_serializing_if = "Option::is_none")]
    former_values: Option<PathBuf>,
    items: &'a [Item],
}

/// What is printed with --json and --apply, --restore or --like.
#[derive(Serialize)]
struct SettingsJson<'a, T> {
    settings: &'a [T],
}

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    let root = Root::machine();
    if let Some(file) = &arguments.like {
        return compare(&root, file, arguments.json);
    }
    let folder = state_folder()?;
    if arguments.restore {
        let made = tuning::restore(&root, &folder).map_err(Failure::request)?;
        return arguments.tell_changes(&made, &printed::restored(&made));
    }
    let items = arguments.items(&root)?;
    if arguments.apply {
        let changes: Vec<Change> = items.iter().flat_map(|item| item.changes().to_vec()).collect();
        let made =
            tuning::apply(&root, &folder, &changes, &mut |_| {}).map_err(Failure::request)?;
        return arguments.tell_changes(&made, &printed::applied(&made, items.len()));
    }
    let former_values = Some(Record::path(&folder)).filter(|path| path.exists());
    if arguments.json {
        let spoiling = items.iter().filter(|item| item.trouble().is_some()).count();
        let settable = items.iter().filter(|item| !item.changes().is_empty()).count();
        json::print(json::CHECK, &ItemsJson { spoiling, settable, former_values, items: &items })?;
    } else {
        crate::print(&printed::of(&items, former_values.is_some()));
    }
    Ok(Exit::Done)
}

fn compare(root: &Root, file: &Path, json: bool) -> Result<Exit, Failure> {
    let text = match file.to_str().and_then(settings_file::shipped) {
        Some(text) => text.to_owned(),
        None => std::fs::read_to_string(file)
            .map_err(|error| Failure::request(format!("{}: {error}", file.display())))?,
    };
    let settings = settings_file::beside(root, &text)
        .map_err(|why| Failure::request(format!("{}, {why}", file.display())))?;
    match json {
        true => json::print(json::CHECK, &SettingsJson { settings: &settings })?,
        false => crate::print(&printed::compared(&settings, file)),
    }
    Ok(Exit::Done)
}

impl Arguments {
    fn items(&self, root: &Root) -> Result<Vec<Item>, Failure> {
        let cpus = crate::allowed_cpus()?;
        let line = ProgressLine::new(!self.json, "{wide_msg}");
        line.show(0, 0, || "measuring AES-GCM of OpenSSL and ring".to_owned());
        let aes_gcm = aes_gcm(&cpus).map_or_else(Fact::unknown, Fact::Known);
        let mut report = |stage: Stage| line.show(0, 0, || printed::stage(stage).to_owned());
        let measured = Measured::of_this_machine(&cpus, aes_gcm, &mut report);
        drop(line);
        let mut items = judge(root, &measured);
        if !self.only.is_empty() {
            items.retain(|item| self.only.iter().any(|name| name == item.name));
        }
        items.sort_by_key(|item| match item.judgement {
            Judgement::Bad(_) => 0,
            Judgement::Warning(_) => 1,
            Judgement::Ok => 2,
            Judgement::NotAvailable { .. } => 3,
        });
        Ok(items)
    }

    fn tell_changes(&self, made: &[Made], words: &str) -> Result<Exit, Failure> {
        match self.json {
            true => json::print(json::CHECK, &SettingsJson { settings: made })?,
            false => crate::print(words),
        }
        match made.iter().filter(|made| made.refused.is_some()).count() {
            0 => Ok(Exit::Done),
            n => Err(Failure::measurement(format!(
                "{n} of {} settings could not be changed",
                made.len()
            ))),
        }
    }
}

/// What OpenSSL and ring take for AES-GCM on the first CPU, sampled for about 50 ms each.
fn aes_gcm(cpus: &CpuList) -> Result<AesGcm, String> {
    const SAMPLES: usize = 150;
    let open = |name| library::open(name).map_err(|why| why.to_string());
    let libraries = [open("openssl")?, open("ring")?];
    let request = Bench {
        algorithms: &[Algorithm::Gcm(Aes::Aes128)],
        libraries: &libraries,
        checkers: &libraries,
        sizes: &[16 << 10],
        cache: Cache::Warm,
        cpus: &cpus.first(1),
        samples: SAMPLES,
    };
    let measurement = request.run(&AtomicBool::new(false), &mut |_| {});
    let costs =
        measurement.map_err(|error| error.to_string())?.rows.into_iter().map(|row| {
            match row.outcome {
                Outcome::Measured(measured) => Ok(measured.cycles().median),
                Outcome::None(none) => Err(format!("{}: {}", row.library_title, none.why)),
            }
        });
    match costs.collect::<Result<Vec<f64>, String>>()?[..] {
        [openssl, ring] => Ok(AesGcm { openssl, ring }),
        _ => Err("the clock stood still".to_owned()),
    }
}

/// Where former values are kept: with the system's state for root, who alone can set most, and with the
/// user's otherwise (XDG Base Directory Specification).
fn state_folder() -> Result<PathBuf, Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/toll"));
    }
    let of_user =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    of_user("XDG_STATE_HOME")
        .or_else(|| Some(of_user("HOME")?.join(".local/state")))
        .map(|folder| folder.join("toll"))
        .ok_or_else(|| Failure::request("HOME is not set; set it, or run toll check as root"))
}

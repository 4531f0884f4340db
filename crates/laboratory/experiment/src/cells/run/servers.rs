//! The servers of a run: started with a record of each, and started again where a study asks for it.

use agent::Refusal;
use load::Client;
use targets::{IfMissing, Restart, System, Target};

use super::agenda::NextTrial;
use crate::cells::bench::Bench;
use crate::kind::Event;
use crate::run_error::RunError;
use journal::{Results, Role, TargetRecord, TrialLine};
use study::{Cell, Only, Study};

/// The running servers, and the server of each cell.
pub(super) struct Servers<T> {
    running: Vec<Server<T>>,
    /// For each cell of the study, the index of its server if that runs.
    of_cell: Vec<Option<usize>>,
}

/// A server of a run, one process after another.
struct Server<T> {
    target: Target,
    only: Only,
    connections: usize,
    restart: Restart,
    record: TargetRecord,
    /// `None` once it could not be started again.
    running: Option<T>,
    /// How many processes of it there were before this one.
    process: u32,
    /// The round that this process has served.
    round: Option<u32>,
}

impl<T> Servers<T> {
    /// Starts the servers of the cells that are still to be measured, does the operation of each of
    /// these cells once, and writes down all.
    pub(super) fn start<B: Bench<Target = T>>(
        study: &Study,
        trials: &[TrialLine],
        is_wanted: impl Fn(usize) -> bool,
        results: &Results,
        bench: &mut B,
        report: &mut dyn FnMut(Event<'_>),
    ) -> Result<Self, RunError> {
        // Those of an earlier session are named by the trials that are in the journal.
        let mut records = results.targets()?;
        records.retain(|record| record.skipped.is_none());
        records.iter_mut().for_each(|record| record.not_sampled = None);
        let is_new = records.is_empty();
        let mut servers = Self { running: Vec::new(), of_cell: vec![None; study.cells.len()] };
        for ((target, only), cells) in study.servers() {
            let names: Vec<String> =
                cells.iter().map(|cell| study.cells[*cell].name.clone()).collect();
            let known = records.iter().rfind(|record| record.cells == names);
            if !cells.iter().any(|cell| is_wanted(*cell)) {
                continue;
            }
            let most = |cell: &usize| study.cells[*cell].most_connections();
            let connections = cells.iter().map(most).max().unwrap_or(0);
            let mut record = TargetRecord {
                name: target.server.to_string(),
                server: target.server.to_string(),
                settings: settings_in_words(&target, only),
                version: None,
                skipped: None,
                not_sampled: None,
                cells: names,
            };
            let may_skip = target.if_missing == IfMissing::Skip;
            match bench.start(&target, only, connections) {
                Ok(started) => {
                    let version = bench.version(&started);
                    record.name = bench.name(&started);
                    record.version = Some(version.clone());
                    check_same(known, &record)?;
                    let process = bench.process(&started);
                    let process = process.map_or_else(String::new, |words| format!("; {words}"));
                    let words = format!(
                        "{}: {version} answers ({}){process}.",
                        record.name, record.settings
                    );
                    report(Event::Started(words));
                    records.push(record.clone());
                    let restart = study.restart(&cells);
                    let before =
                        trials.iter().filter(|trial| record.cells.contains(&trial.place.cell));
                    let process = before.filter_map(|trial| trial.place.process).max();
                    for index in cells.into_iter().filter(|cell| is_wanted(*cell)) {
                        let cell = &study.cells[index];
                        match bench.probe(&started, cell) {
                            Ok(()) => servers.of_cell[index] = Some(servers.running.len()),
                            Err(Refusal { is_missing: true, why }) if may_skip => {
                                leave_out(cell, why, &mut records, report);
                            }
                            Err(Refusal { is_missing, why }) => {
                                let why = format!("{}: {why}", cell.name);
                                return Err(Refusal { is_missing, why }.into());
                            }
                        }
                    }
                    servers.running.push(Server {
                        target,
                        only,
                        connections,
                        restart,
                        record,
                        running: Some(started),
                        process: process.map_or(0, |last| last + 1),
                        round: None,
                    });
                }
                Err(Refusal { is_missing: true, why }) if may_skip => {
                    report_skip(&why, &records, report);
                    record.skipped = Some(why);
                    records.push(record);
                }
                Err(refusal) => return Err(refusal.into()),
            }
        }
        if let Some(why) = records.iter().find_map(|record| record.skipped.clone())
            && is_new
            && servers.of_cell.iter().all(Option::is_none)
        {
            return Err(RunError::NothingToMeasure(why));
        }
        results.write_targets(&records)?;
        Ok(servers)
    }

    pub(super) fn has(&self, cell: usize) -> bool {
        self.of_cell[cell].is_some()
    }

    /// The server for a trial, and which process of it that is; started again where the last round
    /// was served by this one.
    ///
    /// # Errors
    /// It does not come back, or as another version.
    pub(super) fn serving<B: Bench<Target = T>>(
        &mut self,
        task: &NextTrial,
        bench: &mut B,
    ) -> Result<Option<(&mut T, u32)>, RunError> {
        let Some(index) = self.of_cell[task.cell] else { return Ok(None) };
        let server = &mut self.running[index];
        if task.role == Role::Measure {
            let last = server.round.replace(task.round);
            let is_due = last.is_some_and(|last| match server.restart {
                Restart::Never => false,
                Restart::Round => last != task.round,
                Restart::Trial => true,
            });
            if is_due {
                server.start_again(bench, task.round)?;
            }
        }
        if server.running.as_ref().is_some_and(|running| bench.is_lost(running)) {
            server.start_again(bench, task.round)?;
        }
        Ok(server.running.as_mut().map(|running| (running, server.process)))
    }
}

impl<T> Server<T> {
    fn start_again<B: Bench<Target = T>>(
        &mut self,
        bench: &mut B,
        round: u32,
    ) -> Result<(), RunError> {
        let Some(running) = self.running.take() else { return Ok(()) };
        let (target, only) = (&self.target, self.only);
        let started = bench.restart(running, target, only, self.connections);
        let started = started.map_err(|Refusal { why, .. }| {
            let part = format!("{} does not start again for round {}", self.record.name, round + 1);
            RunError::Part { part, why }
        })?;
        let version = Some(bench.version(&started));
        let now = TargetRecord { version, ..self.record.clone() };
        check_same(Some(&self.record), &now).map_err(|error| RunError::Part {
            part: self.record.name.clone(),
            why: error.to_string(),
        })?;
        self.running = Some(started);
        self.process += 1;
        Ok(())
    }
}

/// Records why a cell is not measured at a running server, and reports it once: its client is not
/// installed, or, if that is toll, the server lacks what the cell asks for.
fn leave_out(
    cell: &Cell,
    why: String,
    records: &mut Vec<TargetRecord>,
    report: &mut dyn FnMut(Event<'_>),
) {
    let is_known = |record: &&mut TargetRecord| record.skipped.as_ref() == Some(&why);
    if let Some(record) = records.iter_mut().find(is_known) {
        record.cells.push(cell.name.clone());
        return;
    }
    report_skip(&why, records, report);
    let name = match cell.load.client {
        Client::Toll => cell.target.server.to_string(),
        client => client.to_string(),
    };
    records.push(TargetRecord {
        name: name.clone(),
        server: name,
        settings: String::new(),
        version: None,
        skipped: Some(why),
        not_sampled: None,
        cells: vec![cell.name.clone()],
    });
}

/// Reports why a server or a client is left out, where no other one is for the same reason.
fn report_skip(why: &str, records: &[TargetRecord], report: &mut dyn FnMut(Event<'_>)) {
    if !records.iter().any(|record| record.skipped.as_deref() == Some(why)) {
        report(Event::Says(format!("Skipped: {why}.")));
    }
}

fn settings_in_words(target: &Target, offered: Only) -> String {
    let only = |what: Option<String>| what.map(|what| format!(", only {what}")).unwrap_or_default();
    let on = |is_on, what: &str| if is_on { format!(", {what}") } else { String::new() };
    if let Some(url) = &target.url {
        return url.to_string();
    }
    let environment = target.environment.to_string();
    let library =
        target.library_path.folder().map(|folder| format!(", library in {}", folder.display()));
    let system = (target.system != System::Here).then(|| format!(", from {}", target.system));
    let program = target.program.file().map(|path| format!(", program {}", path.display()));
    let java = target.server.uses("crypto");
    format!(
        "{} certificate, CPU {}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}",
        target.certificate_key,
        target.cpus,
        target.host.as_ref().map(|host| format!(" of {host}")).unwrap_or_default(),
        on(target.library != Default::default(), &target.library.to_string()),
        on(offered.in_callgrind, "in callgrind"),
        on(java, &format!("crypto {}, AES {}", target.crypto, target.aes)),
        on(target.send != Default::default(), target.send.words()),
        on(target.directives != Default::default(), &format!("directives {}", target.directives)),
        on(target.tickets, "tickets"),
        on(target.session_cache, "session cache"),
        on(target.encrypt_then_mac, "encrypt-then-MAC"),
        system.unwrap_or_default(),
        program.unwrap_or_default(),
        library.unwrap_or_default(),
        on(target.environment != Default::default(), &environment),
        only(match (offered.suite, offered.version) {
            (Some(suite), _) => Some(suite.to_string()),
            (None, version) => version.map(|version| version.to_string()),
        }),
        only(offered.group.map(|group| group.to_string())),
    )
}

/// Trials of two versions of a server must not be mixed.
fn check_same(known: Option<&TargetRecord>, now: &TargetRecord) -> Result<(), RunError> {
    match (known.and_then(|record| record.version.as_ref()), &now.version) {
        (Some(was), Some(is)) if was != is => {
            Err(RunError::ServerChanged { was: was.clone(), is: is.clone() })
        }
        _ => Ok(()),
    }
}

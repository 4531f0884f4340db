//! A cell in the making: what is said of it, where, and how near to it.
//!
//! Each table is merged by levels: what holds for all cases, what a case says, what a sweep says. What
//! is said nowhere has the value of [`Target`]'s or [`Plan`]'s default.

use cpus::{CpuList, Topology};
use load::Plan;
use targets::Target;

use super::error::Flaw;
use super::fields::Field;
use super::keys::KeyTable;
use super::merged::{Level, Merged};
use study::CpuOrder;

/// What is said of a cell.
#[derive(Clone)]
pub(super) struct Draft<'a> {
    pub(super) target: Merged<'a>,
    pub(super) load: Merged<'a>,
    /// What is searched for.
    pub(super) find: Merged<'a>,
    /// The line of the last `[find]`, where there is one.
    pub(super) find_line: Option<usize>,
    /// The CPUs of server and load, where a study names none.
    usual_cpus: (CpuList, CpuList),
}

impl<'a> Draft<'a> {
    /// Without any key.
    pub(super) fn new(allowed: &CpuList) -> Self {
        let first = allowed.first(1);
        let second = allowed.without(&first).map_or_else(|| first.clone(), |rest| rest.first(1));
        Self {
            target: Merged::default(),
            load: Merged::default(),
            find: Merged::default(),
            find_line: None,
            usual_cpus: (first, second),
        }
    }

    pub(super) fn table(&self, table: KeyTable) -> &Merged<'a> {
        match table {
            KeyTable::Target => &self.target,
            KeyTable::Load => &self.load,
            KeyTable::Find => &self.find,
        }
    }

    pub(super) fn table_mut(&mut self, table: KeyTable) -> &mut Merged<'a> {
        match table {
            KeyTable::Target => &mut self.target,
            KeyTable::Load => &mut self.load,
            KeyTable::Find => &mut self.find,
        }
    }

    /// Puts all keys of the tables of a file or a case into this.
    pub(super) fn apply(&mut self, fields: Field<'a>, level: Level) {
        for table in KeyTable::ALL {
            if let Some(field) = fields.get(table.name()) {
                self.table_mut(table).apply(field, level);
            }
        }
        self.find_line = fields.get(KeyTable::Find.name()).map(Field::line).or(self.find_line);
    }

    /// The keys of a table with the values that hold for all cells, whether they are written or not.
    pub(super) fn values(&self, table: KeyTable) -> Result<Vec<(String, String)>, Flaw> {
        let mut values = match table {
            KeyTable::Load => ::keys::values(&self.load.read::<Plan>()?.settled()),
            KeyTable::Target | KeyTable::Find => self.table(table).values(table)?,
        };
        let cpus = match table {
            KeyTable::Target => &self.usual_cpus.0,
            KeyTable::Load | KeyTable::Find => &self.usual_cpus.1,
        };
        let own = values.iter_mut().find(|(key, _)| key == "cpus");
        if let Some((_, value)) = own.filter(|_| !self.table(table).has("cpus")) {
            *value = cpus.to_string();
        }
        Ok(values)
    }

    /// The server and the load that this describes. What has no use in them is left out of this.
    pub(super) fn resolve(&mut self) -> Result<(Target, Plan), Flaw> {
        if !self.target.has("server") {
            return Err(Flaw::lacking("target.server is not given; write it"));
        }
        let mut target = self.target.resolved("target.", Target::conflicts)?;
        target.check().map_err(|wrong| self.target.wrong(wrong))?;
        let mut plan = self.load.resolved("load.", Plan::conflicts)?.settled();
        let (of_server, of_load) = &self.usual_cpus;
        if !self.target.has("cpus") {
            target.cpus.clone_from(of_server);
        }
        if !self.load.has("cpus") {
            plan.cpus.clone_from(of_load);
        }
        Ok((target, plan))
    }

    /// The CPUs that a server may have which is given a number of cores: those that are written, or
    /// else all that this process may use, without the client's where there are others.
    pub(super) fn pool(
        &self,
        target: &Target,
        plan: &Plan,
        machine: &Topology,
    ) -> Result<Option<CpuOrder>, Flaw> {
        if target.cores.is_none() || !target.server.is_started() {
            return Ok(None);
        }
        if let Some(field) = self.target.field("cpus") {
            return field.read().map(Some);
        }
        let allowed = machine.allowed();
        let others = allowed.without(&plan.cpus).unwrap_or_else(|| allowed.clone());
        Ok(Some(CpuOrder::spread(&others, &plan.cpus, machine)))
    }
}

//! Measures a part by starting `toll bench` on the part's CPUs.
//!
//! A process of its own, because libraries look at the processor once, when they are loaded: features
//! can only be masked for a whole process. It also leaves the process that runs the study as it is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use primitives::row::{NoFigure, Outcome, Reason};
use primitives::{CycleSource, Row, hardware};
use serde::Deserialize;
use study::primitive::{Part, Primitives, What};
use targets::{Captured, NotEnded};

use super::run::{Meter, PartReading};

/// Starts this program again.
#[derive(Debug)]
pub struct Child {
    program: PathBuf,
}

/// A part may take this many times its forecast, and [`AT_LEAST`] more: nearly all of its samples
/// may be disturbed, and operations such as RSA are longer than a sample.
const TIMES_THE_FORECAST: u32 = 20;
/// See [`TIMES_THE_FORECAST`].
const AT_LEAST: Duration = Duration::from_secs(120);

/// The exit code of a request that cannot be measured, such as a library that is not there.
const REFUSED: i32 = 2;

/// What became of a process.
enum Once {
    Measured(PartReading),
    /// One of the libraries is not here: why.
    Refused(String),
    Interrupted,
}

/// What it prints; the rest is for other readers.
#[derive(Deserialize)]
struct Output {
    interrupted: bool,
    #[serde(flatten)]
    reading: PartReading,
}

impl Child {
    /// Of the program that runs.
    ///
    /// # Errors
    /// It cannot be found any more.
    pub fn new() -> Result<Self, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("toll itself cannot be found: {error}"))?;
        Ok(Self { program })
    }

    /// Measures these libraries of a part.
    fn once(
        &self,
        part: &Part<'_>,
        libraries: &[&str],
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Duration),
    ) -> Result<Once, String> {
        /// A mask of the user's own would make every level another one than it says.
        const MASKS: [&str; 2] = [hardware::VARIABLE, hardware::OPENSSL_VARIABLE];
        let limit = AT_LEAST + Duration::from_nanos(part.forecast().0) * TIMES_THE_FORECAST;
        let arguments = part.arguments(libraries).into_iter().map(OsString::from).collect();
        let mut child = Captured::start(&self.program, arguments, &MASKS, &part.cpus()).map_err(
            |(program, error)| {
                format!("toll bench cannot be started: {}: {error}", program.display())
            },
        )?;
        let status = match child.ended(limit, interrupt, report) {
            Ok(status) => status,
            Err(NotEnded::Interrupted) => return Ok(Once::Interrupted),
            Err(NotEnded::TooLong) => {
                let limit = limit.as_secs();
                return Err(format!("toll bench did not end within {limit} s"));
            }
        };
        let [output, log] = child.written().map_err(|error| format!("its output: {error}"))?;
        let why = last_line(&log);
        match serde_json::from_str::<Output>(&output) {
            Ok(Output { interrupted: false, reading }) => Ok(Once::Measured(reading)),
            Ok(_) => Ok(Once::Interrupted),
            Err(_) if status.code() == Some(REFUSED) && !why.is_empty() => Ok(Once::Refused(why)),
            Err(error) => {
                let printed =
                    if why.is_empty() { String::new() } else { format!("; it printed: {why}") };
                Err(format!("its output cannot be read: {error}{printed}"))
            }
        }
    }
}

impl Meter for Child {
    fn check(&self, primitives: &Primitives) -> Result<(), String> {
        for table in &primitives.tables {
            table
                .cpus
                .check_allowed()
                .map_err(|why| format!("primitives {}: {why}", table.name))?;
            let mut paths = table.libraries.iter().filter(|library| library.contains('/'));
            if let Some(path) = paths.find(|path| !Path::new(path.as_str()).is_file()) {
                return Err(format!(
                    "primitives {}: {path}: there is no such file; write the path of a libcrypto",
                    table.name
                ));
            }
        }
        Ok(())
    }

    fn measure(
        &mut self,
        part: &Part<'_>,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Duration),
    ) -> Result<Option<PartReading>, String> {
        let libraries: Vec<&str> = match part.what {
            What::Bounds(_) => Vec::new(),
            What::Table { table, .. } => table.libraries.iter().map(String::as_str).collect(),
        };
        let why = match self.once(part, &libraries, interrupt, report)? {
            Once::Measured(reading) => return Ok(Some(reading)),
            Once::Interrupted => return Ok(None),
            Once::Refused(why) => why,
        };
        if libraries.is_empty() {
            return Err(why);
        }
        // Which of them is not here is found by asking for each by itself.
        let mut all = PartReading::default();
        for library in libraries {
            match self.once(part, &[library], interrupt, report)? {
                Once::Measured(reading) => all.rows.extend(reading.rows),
                Once::Interrupted => return Ok(None),
                Once::Refused(why) => all.rows.extend(not_here(part, library, &why)),
            }
        }
        Ok(Some(all))
    }
}

/// The rows of a library that is not here.
fn not_here(part: &Part<'_>, library: &str, why: &str) -> Vec<Row> {
    let why = format!("not available here: {why}");
    let rows = part.rows().into_iter().filter(|key| key.library == library);
    rows.map(|key| Row {
        key,
        library_title: library.to_owned(),
        cycles_source: CycleSource::MeasuredFrequency,
        outcome: Outcome::None(NoFigure { why: why.clone(), reason: Reason::Unavailable }),
    })
    .collect()
}

/// What a program said last, without its own name.
fn last_line(text: &str) -> String {
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    line.strip_prefix("toll: ").unwrap_or(line).to_owned()
}

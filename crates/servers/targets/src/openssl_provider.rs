//! The OpenSSL provider that has a server's private keys, in the words of openssl.cnf (config(5)), for
//! servers that read that. toll's own is a shared library that lies with toll.

use std::path::{Path, PathBuf};

use counters::{AcceleratorCounts, SendCounters};
use offload::Kind;

use crate::launch_context::LaunchContext;
use crate::program::Binary;
use crate::{Running, Settings, TargetError};

/// The variable that names OpenSSL's configuration.
pub(crate) const OPENSSL_CONF: &str = "OPENSSL_CONF";
/// The file of toll's own provider.
const LIBRARY: &str = "libtoll_offload.so";
/// The file of what that counts, in the folder of a server's logs.
const COUNTS: &str = "accelerator.counts";

/// What a configuration of OpenSSL has for a provider.
#[derive(Default)]
pub(crate) struct Lines {
    /// The lines of its main section.
    pub(crate) main: &'static str,
    /// The sections that these name.
    pub(crate) sections: String,
}

impl Lines {
    /// Those of a server; empty where its private keys are used on the CPU.
    ///
    /// # Errors
    /// toll's provider is not there, or lies at a path that cannot be written.
    pub(crate) fn of(context: &LaunchContext<'_>) -> Result<Self, TargetError> {
        let target = &context.settings.target;
        let (name, settings) = match &target.provider {
            Some(provider) => (provider.name(), module(provider.path())?),
            None if target.accelerator != Kind::None => (offload::NAME, own_settings(context)?),
            None => return Ok(Self::default()),
        };
        let main = "providers = providers\nalg_section = algorithms\n";
        // The first one that is named keeps the default one from being there by itself.
        let sections = format!(
            "
[providers]
default = default_provider
{name} = key_provider

[default_provider]
activate = 1

[key_provider]
{settings}activate = 1

[algorithms]
default_properties = ?provider={name}
"
        );
        Ok(Self { main, sections })
    }
}

/// Whether the private keys of a server are not used on its CPU.
pub(crate) fn is_wanted(settings: &Settings) -> bool {
    settings.target.accelerator != Kind::None || settings.target.provider.is_some()
}

/// Refuses a server whose provider is not there.
///
/// # Errors
/// Which file is missing, and what makes it.
pub(crate) fn check(settings: &Settings) -> Result<(), TargetError> {
    multi_buffer(settings)?;
    match &settings.target.provider {
        Some(provider) => provider.check().map_err(TargetError::Settings),
        None if settings.target.accelerator != Kind::None => find(settings).map(drop),
        None => Ok(()),
    }
}

/// The file of Intel's multi-buffer library, and its name and version, where a server's private keys are used by that.
///
/// # Errors
/// Why it cannot be used here, and what to do.
pub(crate) fn multi_buffer(settings: &Settings) -> Result<Option<(PathBuf, String)>, TargetError> {
    let is_wanted = settings.target.accelerator == Kind::MultiBuffer;
    let found = is_wanted.then(offload::find_multi_buffer).transpose();
    found.map_err(|why| TargetError::NoAccelerator(why.to_string()))
}

/// Makes the file of counts of a server that is about to start.
pub(crate) fn prepare(context: &LaunchContext<'_>) -> Result<(), TargetError> {
    if context.settings.target.accelerator == Kind::None {
        return Ok(());
    }
    let path = context.logs.join(COUNTS);
    counters::create(&path, counters::PROCESSES).map_err(TargetError::file(&path))
}

/// What toll's provider counted in a server; `None` where it has no such provider.
pub(crate) fn accelerated(server: &Running) -> Result<Option<AcceleratorCounts>, TargetError> {
    let path = server.logs().join(COUNTS);
    path.exists().then(|| counts(&path)).transpose()
}

/// The operations that a server counts in this file, when none is under way any more or a second has passed;
/// the largest number of operations at once is then counted from 0 again.
pub(crate) fn counts(path: &Path) -> Result<AcceleratorCounts, TargetError> {
    let counters = SendCounters::settled(path);
    let counters = counters.and_then(|it| SendCounters::reset_in_flight_max(path).map(|()| it));
    counters.map(|it| it.accelerator.unwrap_or_default()).map_err(TargetError::file(path))
}

fn own_settings(context: &LaunchContext<'_>) -> Result<String, TargetError> {
    let target = &context.settings.target;
    let counts = context.logs.join(COUNTS);
    if let Some((library, _)) = multi_buffer(context.settings)? {
        // One that the system's loader finds has no folder.
        let library = match library.is_absolute() {
            true => format!("crypto-mb = {}\n", quoted(&library)?),
            false => String::new(),
        };
        return Ok(format!(
            "{module}\
             accelerator = {kind}\n\
             offload = {way}\n\
             batch-wait = {wait}\n\
             {library}\
             counters = {counts}\n",
            module = module(&find(context.settings)?)?,
            kind = target.accelerator,
            way = target.offload,
            wait = target.batch_wait.exact(),
            counts = quoted(&counts)?,
        ));
    }
    Ok(format!(
        "{module}\
         offload = {way}\n\
         accelerator-rate = {rates}\n\
         accelerator-latency = {latency}\n\
         accelerator-queue = {queue}\n\
         accelerator-count = {engines}\n\
         counters = {counts}\n",
        module = module(&find(context.settings)?)?,
        way = target.offload,
        rates = target.accelerator_rate,
        latency = target.accelerator_latency.exact(),
        queue = target.accelerator_queue,
        engines = target.accelerator_count,
        counts = quoted(&counts)?,
    ))
}

fn module(path: &Path) -> Result<String, TargetError> {
    Ok(format!("module = {}\n", quoted(path)?))
}

/// toll's own provider: where cargo has it, beside toll, or where packages put it.
fn find(settings: &Settings) -> Result<PathBuf, TargetError> {
    let toll = settings.find(Binary::Toll)?;
    let beside = toll.parent().unwrap_or(Path::new("/"));
    let folders = ["deps", ".", "../lib/toll"].map(|folder| beside.join(folder));
    let found = folders.iter().map(|folder| folder.join(LIBRARY)).find(|path| path.is_file());
    found.ok_or_else(|| TargetError::NotBuilt {
        what: "toll's OpenSSL provider",
        looked: format!("{LIBRARY} beside {} and in ../lib/toll", toll.display()),
        command: "cargo build --package offload-provider",
    })
}

/// A path as a value of OpenSSL's configuration.
fn quoted(path: &Path) -> Result<String, TargetError> {
    let text = path.to_str().filter(|text| !text.contains('\n'));
    let text = text.ok_or_else(|| TargetError::path("OpenSSL", path, "line breaks"))?;
    let special = |c: char| "\\\"'`$#".contains(c);
    let quote = |c| [special(c).then_some('\\'), Some(c)].into_iter().flatten();
    Ok(text.chars().flat_map(quote).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;
    use crate::launch_context::tests::context;

    fn lines(target: Target) -> Result<Lines, TargetError> {
        let settings = Settings::of(target);
        Lines::of(&context("/f", &settings))
    }

    #[test]
    fn a_server_whose_keys_are_on_the_cpu_has_no_provider() {
        let lines = lines(Target::default()).unwrap();
        assert_eq!((lines.main, lines.sections.as_str()), ("", ""));
    }

    #[test]
    fn a_provider_of_the_users_own_is_preferred_by_its_name() {
        let provider = "qat=/a b/$q'1#.so".parse().ok();
        let lines = lines(Target { provider, ..Target::default() }).unwrap();
        assert_eq!(
            lines.sections,
            "
[providers]
default = default_provider
qat = key_provider

[default_provider]
activate = 1

[key_provider]
module = /a b/\\$q\\'1\\#.so
activate = 1

[algorithms]
default_properties = ?provider=qat
"
        );
        assert!(quoted(Path::new("/a\nb")).is_err());
    }

    #[test]
    fn toll_s_own_provider_lies_with_toll() {
        let folder = tempfile::tempdir().unwrap();
        let toll = folder.path().join("bin/toll");
        let accelerator = Target { accelerator: Kind::Model, ..Target::default() };
        let settings = Settings { toll: Some(toll), ..Settings::of(accelerator) };
        let missing = check(&settings).unwrap_err();
        let TargetError::NotBuilt { command, .. } = missing else { panic!("{missing}") };
        assert!(command.contains("--package offload-provider"), "{command}");
        let library = folder.path().join("lib/toll").join(LIBRARY);
        for path in [folder.path().join("bin"), folder.path().join("lib/toll")] {
            std::fs::create_dir_all(path).unwrap();
        }
        std::fs::write(&library, "").unwrap();
        check(&settings).unwrap();
        let text = Lines::of(&context("/f", &settings)).unwrap().sections;
        for line in [
            "toll = key_provider",
            "/bin/../lib/toll/libtoll_offload.so",
            "offload = asynchronous",
            "accelerator-rate = rsa:2048 40000/s, rsa:4096 4130/s",
            "accelerator-latency = 100us",
            "accelerator-queue = 256",
            "accelerator-count = 1",
            "counters = /l/accelerator.counts",
            "default_properties = ?provider=toll",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_provider_that_is_not_there_is_named() {
        let provider = "qat=/nowhere/qat.so".parse().ok();
        let settings = Settings::of(Target { provider, ..Target::default() });
        let why = check(&settings).unwrap_err().to_string();
        assert!(why.contains("/nowhere/qat.so"), "{why}");
    }
}

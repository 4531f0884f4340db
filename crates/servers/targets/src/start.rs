//! The start of a server: what is the same for all.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use cpus::CpuList;
use observe::OwnGroup;
use rustix::process::Signal;
use tls::{CertificateKey, Group, Suite, Version};
use units::{Bytes, Nanos};

use crate::backend::BackendAddress;
use crate::callgrind::Callgrind;
use crate::launch_context::{ERROR_LOG, LaunchContext, OUTPUT_LOG};
use crate::log::LogWatch;
use crate::port::Ports;
use crate::process::{GuardedProcess, Launch};
use crate::ready::Unready;
use crate::running::Starting;
use crate::server::Server;
use crate::servers::Embedded;
use crate::servers::program::{Invocation, Program};
use crate::system::Mapped;
use crate::target_dir::TargetDir;
use crate::{
    BACKEND_SUITE, Backend, Binary, Objects, Running, ServerFacts, Settings, System, Target,
    TargetError,
};

/// The name of a backend's folders.
const BACKEND: &str = "backend";

/// What it takes to end a server and start it again, on most machines. A virtual machine of the JVM
/// takes longer.
pub const RESTART_TAKES: Nanos = Nanos(100_000_000);

/// Starts a server that serves `objects`, and returns when it answers. The server keeps them alive.
///
/// `folder` is the result folder: `folder/logs/<name>/` takes what the server writes,
/// `folder/targets/<name>/` its certificate, its configuration, and while it runs its key. The name
/// is the server's, with a number after it from the second one of a kind on. Its ports are those that
/// were reserved before, where some are given.
///
/// # Errors
/// [`TargetError::Missing`] where the program is not installed, [`TargetError::NotBuilt`] where it is
/// not built, [`TargetError::NoAccelerator`] where a library is, [`TargetError::NotCounted`] where its instructions
/// are to be counted and cannot, and [`TargetError::WeakKey`] where it does not take the key, so that the caller may
/// leave the target out; otherwise what is wrong with the settings, the system or the server. Nothing is
/// left running.
pub fn start(
    server: &Server,
    settings: &Settings,
    objects: &Arc<Objects>,
    folder: &Path,
    ports: Option<Ports>,
) -> Result<Running, TargetError> {
    let program = program_of(server)?;
    let settings = &with_backend(server, settings);
    start_as(server.name(), program, settings, objects, folder, ports)
        .map_err(|error| error.of_key(settings.target.certificate_key))
        .map_err(|error| error.of_library(settings.target.library.stack()))
}

/// Ends a server and starts another process of it, with the same settings, folders, key, certificate
/// and backend, on other ports. The logs are those of the new process.
///
/// # Errors
/// As [`start`]. Nothing is left running.
pub fn restart(
    running: Running,
    server: &Server,
    settings: &Settings,
    ports: Option<Ports>,
) -> Result<Running, TargetError> {
    let (dir, backend, objects) = running.end();
    let program = program_of(server)?;
    let settings = &with_backend(server, settings);
    let binary = settings.find(program.binary())?;
    let version = program.version(&binary, settings)?;
    start_at(dir, backend, program, (binary, version), ports, settings, &objects)
}

/// With the backend that this server has where nothing is said of one.
fn with_backend(server: &Server, settings: &Settings) -> Settings {
    let mut own = settings.clone();
    own.target.backend = own.target.backend.or(server.backend);
    own
}

fn program_of(server: &Server) -> Result<&'static dyn Program, TargetError> {
    let why = || TargetError::Settings(format!("toll does not start {server}: it runs already"));
    server.program().ok_or_else(why)
}

fn start_as(
    name: &str,
    program: &dyn Program,
    settings: &Settings,
    objects: &Arc<Objects>,
    folder: &Path,
    ports: Option<Ports>,
) -> Result<Running, TargetError> {
    settings.check()?;
    program.check(settings)?;
    let binary = settings.find(program.binary())?;
    let version = program.version(&binary, settings)?;
    let dir = TargetDir::claim(folder, name, settings)?;
    let backend = match settings.target.backend() {
        Some(backend) => Some(Box::new(start_backend(backend, settings, objects, folder)?)),
        None => None,
    };
    start_at(dir, backend, program, (binary, version), ports, settings, objects)
}

/// Starts the program in a folder of its own, which may have had another process before.
fn start_at(
    dir: TargetDir,
    backend: Option<Box<Running>>,
    program: &dyn Program,
    (binary, version): (PathBuf, String),
    ports: Option<Ports>,
    settings: &Settings,
    objects: &Arc<Objects>,
) -> Result<Running, TargetError> {
    let ports = ports.map_or_else(|| Ports::reserve(&settings.target.addresses()), Ok)?;
    let secrets = dir.write_keys()?;
    let (output_log, output) = dir.log(OUTPUT_LOG)?;
    let mut log_files = vec![output_log];
    let incidents = match program.incidents() {
        Some(is_incident) => {
            let (error_log, _) = dir.log(ERROR_LOG)?;
            log_files.push(error_log.clone());
            Some(LogWatch::new(error_log, is_incident))
        }
        None => None,
    };
    let mut context = LaunchContext {
        settings,
        name: dir.name.clone(),
        binary,
        version,
        folder: dir.folder.clone(),
        logs: dir.logs.clone(),
        root: objects.root(),
        smallest: objects.smallest(),
        https: ports.https(),
        http: ports.http(),
        backend: backend.as_ref().map(|backend| address_of(backend, settings)),
        secrets,
    };
    for (name, text) in program.files(&context)? {
        context.write(name, &text)?;
    }
    program.configure(&mut context)?;
    let invocation = program.launch(&context);
    let stdout = match invocation.stdout {
        Some(name) => dir.log(name)?.1,
        None => output.try_clone().map_err(TargetError::file(&log_files[0]))?,
    };
    // Otherwise the ports stay reserved until the server listens on them.
    let _ports = (!invocation.needs_free_ports).then_some(ports);
    let callgrind = settings.in_callgrind.then(|| Callgrind::prepare(settings)).transpose()?;
    let counts = callgrind.as_ref().map(|callgrind| callgrind.folder.path());
    let mapped = mapped_files(&context, counts)?;
    let entrance = settings.entrance(&context.binary)?;
    let (program_file, mut arguments) = match &callgrind {
        None => (entrance.program, Vec::new()),
        Some(Callgrind { program, folder }) => {
            (program.clone(), Callgrind::arguments(folder.path(), &entrance.program))
        }
    };
    arguments.extend(entrance.arguments.into_iter().chain(invocation.arguments));
    let variables = settings.variables().into_iter().chain(invocation.environment);
    let launch = Launch {
        program: program_file,
        arguments,
        environment: entrance.environment.into_iter().chain(variables).collect(),
        without: &[],
        cpus: &settings.target.cpus,
        stdin: Stdio::null(),
        stdout,
        stderr: output,
        death_signal: if invocation.has_children { Signal::TERM } else { Signal::KILL },
        mounts: entrance.mounts,
        group: OwnGroup::make().ok(),
        secrets: std::mem::take(&mut context.secrets),
        temporary: callgrind.map(|callgrind| callgrind.folder),
    };
    let process = GuardedProcess::start(launch)
        .map_err(|(program, source)| TargetError::Spawn { program, source })?;
    let limit = settings.start_limit.unwrap_or_else(|| match settings.in_callgrind {
        true => Callgrind::start_limit(program.start_limit()),
        false => program.start_limit(),
    });
    let deadline = Instant::now() + limit;
    // Why a server does not answer that verifies its backend.
    let verified = context.backend.as_ref().filter(|_| verifies_backend(settings));
    let mut distrusted = None;
    Starting { dir, process, log_files, incidents, limit, deadline, mapped, backend }
        .finish(settings, objects, program.libraries(), &context.binary, |deadline| {
            program.ready(&context, deadline).inspect_err(|why| {
                if let Unready::Wrong(_) = why {
                    distrusted = verified.and_then(BackendAddress::distrusted);
                }
            })
        })
        .map_err(|error| match distrusted.take() {
            Some(why) => TargetError::Backend { name: context.name.clone(), why },
            None => error,
        })
}

/// Whose mapped files prove that the server is its system's, where it is another one; the folders of the run are ones
/// that it sees.
fn mapped_files(
    context: &LaunchContext<'_>,
    counts: Option<&Path>,
) -> Result<Option<Mapped>, TargetError> {
    let LaunchContext { settings, .. } = context;
    let Some(root) = settings.target.system.root()? else { return Ok(None) };
    let folders = [context.folder.as_path(), &context.logs, context.root];
    for folder in folders {
        root.check_sees(folder, settings.in_callgrind)?;
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut programs = Vec::new();
    if context
        .settings
        .target
        .server
        .program()
        .is_some_and(|of| matches!(of.binary(), Binary::Toll))
    {
        programs.push(real(&context.binary));
    }
    if settings.in_callgrind {
        programs.extend(Callgrind::FOLDERS.map(PathBuf::from));
    }
    Ok(Some(Mapped {
        root,
        programs,
        folders: folders.into_iter().chain(counts).map(real).collect(),
    }))
}

fn verifies_backend(settings: &Settings) -> bool {
    settings.target.backend() == Some(Backend::Tls) && settings.target.backend_verify
}

fn address_of(backend: &Running, settings: &Settings) -> BackendAddress {
    let ServerFacts { http, https, certificate, .. } = backend.facts();
    let is_tls = settings.target.backend() == Some(Backend::Tls);
    BackendAddress {
        address: if is_tls { *https } else { *http },
        certificate: certificate.clone(),
    }
}

/// On the system's own library.
fn start_backend(
    backend: Backend,
    settings: &Settings,
    objects: &Arc<Objects>,
    folder: &Path,
) -> Result<Running, TargetError> {
    let cpus = match &settings.backend_cpus {
        Some(cpus) => cpus.clone(),
        None => spare_cpus(&settings.target.cpus)?,
    };
    let own = Settings { toll: settings.toll.clone(), ..Settings::new(cpus) };
    let own = match backend {
        Backend::Tls => encrypted(own),
        // Its other port, which nobody asks for, needs a key all the same: one that is made soon.
        Backend::Plain => Settings {
            target: Target { certificate_key: CertificateKey::EcdsaP256, ..own.target },
            ..own
        },
    };
    start_as(BACKEND, &Embedded, &own, objects, folder, None)
}

/// Those of a backend over TLS: version, suite and group of today, and no sessions.
fn encrypted(settings: Settings) -> Settings {
    let mut own = Settings {
        versions: vec![Version::Tls13],
        suites: Suite::parse(BACKEND_SUITE).into_iter().collect(),
        groups: vec![Group::X25519],
        ..settings
    };
    own.target.certificate_key = CertificateKey::EcdsaP256;
    (own.target.tickets, own.target.session_cache) = (false, false);
    own
}

fn spare_cpus(used: &CpuList) -> Result<CpuList, TargetError> {
    let allowed = CpuList::allowed().map_err(|error| TargetError::Settings(error.to_string()))?;
    Ok(allowed.without(used).unwrap_or_else(|| used.clone()))
}

/// The command that [`start`] runs, for a person: with the paths that the server called `name` has
/// in the result folder `folder`, and `root` as the folder of its objects. Nothing is started.
/// `None` where toll starts nothing.
pub fn command(
    server: &Server,
    settings: &Settings,
    root: &Path,
    folder: &Path,
    name: &str,
) -> Option<String> {
    let program = server.program()?;
    let name_of = program.binary().name();
    let shown = match (&settings.target.system, settings.target.program.file()) {
        (System::Made(system), _) => format!("{system}:{name_of}"),
        (System::Here, Some(path)) => path.display().to_string(),
        (System::Here, None) => name_of.to_owned(),
    };
    let addresses = settings.target.addresses();
    let unknown = |address: &IpAddr| SocketAddr::new(*address, 0);
    let unknown: Vec<SocketAddr> = addresses.iter().map(unknown).collect();
    let context = LaunchContext {
        settings,
        name: name.to_owned(),
        binary: shown.clone().into(),
        version: String::new(),
        folder: folder.join("targets").join(name),
        logs: folder.join("logs").join(name),
        root,
        smallest: Bytes(0),
        backend: None,
        https: unknown.clone(),
        http: unknown,
        secrets: Vec::new(),
    };
    let Invocation { arguments, environment, .. } = program.launch(&context);
    let variables = settings.variables().into_iter().chain(environment);
    let mut words: Vec<String> =
        variables.map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
    if settings.in_callgrind {
        words.push("valgrind".to_owned());
        let own = Callgrind::arguments(Path::new("TMP"), Path::new(&shown));
        words.extend(own.iter().map(|word| word.to_string_lossy().into_owned()));
    } else {
        words.push(shown);
    }
    words.extend(arguments.iter().map(|word| match word.to_string_lossy() {
        word if word.contains(' ') => format!("\"{word}\""),
        word => word.into_owned(),
    }));
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_name;

    #[test]
    fn a_backend_takes_the_cpus_that_its_proxy_leaves() {
        let allowed = CpuList::allowed().unwrap();
        assert_eq!(spare_cpus(&allowed).unwrap(), allowed);
        if allowed.len() > 1 {
            let first = allowed.first(1);
            assert_eq!(spare_cpus(&first).unwrap(), allowed.without(&first).unwrap());
        }
    }

    #[test]
    fn the_command_is_shown_with_its_paths() {
        let settings = Settings::new(CpuList::from(0));
        let settings = Settings {
            target: Target {
                command: Some("serve {port} {root}".parse().unwrap()),
                ..settings.target
            },
            ..settings
        };
        let shown = |name: &str| {
            let server = by_name(name).unwrap();
            command(server, &settings, Path::new("OBJECTS"), Path::new("r"), name)
        };
        let servers = ["nginx", "embedded", "haproxy", "command"];
        support::assert_golden!(servers.map(|name| (name, shown(name).unwrap())));
        assert_eq!(shown("address"), None);
    }
}

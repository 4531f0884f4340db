//! The pet store of `apps/petstore` on Tomcat: a web application in one Java process, with pages,
//! sessions and a database. It also serves the generated objects.
//!
//! Heap and collector are fixed, so that they do not follow the machine: 512 MiB, which hold the
//! sessions and pages of some hundred users, and the parallel collector, Java's for throughput, on one
//! CPU as on many. So is the number of CPUs that Java plans for, since it has more of them while it is
//! warmed up. What it negotiates is Java's choice among all that Java can: one process takes the
//! clients of every suite. The database lies beside the objects, in memory where there is room.

mod facts;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;

use self::facts::NSS_SWITCHES;
use crate::launch_context::{ANNOUNCEMENT, LaunchContext};
use crate::program::{self, Binary};
use crate::ready::{self, Unready};
use crate::running::Started;
use crate::servers::program::{Invocation, Program};
use crate::{Aes, Crypto, CryptoFacts, Running, Settings, TargetError};

const PACKAGE: &str = "openjdk-17-jdk-headless";
/// The variable that names the application's jar.
const TOLL_PETSTORE: &str = "TOLL_PETSTORE";
/// Where `make petstore` puts the jar, in `target`.
const JAR: &str = "petstore/petstore.jar";
/// The file of Java's settings of security.
const SECURITY: &str = "java.security";
/// The file that makes NSS a provider.
const NSS_CONFIGURATION: &str = "nss.cfg";
/// NSS, which Java loads by this name.
const NSS: &str = "libnss3.so";
/// Java 17's own list without `TLS_RSA_*`, which 17.0.18 and later add.
const DISABLED: &str = "\
jdk.tls.disabledAlgorithms=SSLv3, TLSv1, TLSv1.1, DTLSv1.0, RC4, DES, MD5withRSA, DH keySize < 1024, \
EC keySize < 224, 3DES_EDE_CBC, anon, NULL, ECDH
";

pub(super) struct Tomcat;

/// The line that it prints when it listens.
#[derive(Deserialize)]
struct Announcement {
    tls: SocketAddr,
    plain: SocketAddr,
    tomcat: String,
    java: String,
}

impl Program for Tomcat {
    fn binary(&self) -> Binary {
        Binary::Installed { name: "java", package: PACKAGE }
    }

    fn check(&self, settings: &Settings) -> Result<(), TargetError> {
        program::find("jcmd", PACKAGE, &settings.program_folders)?;
        if settings.target.crypto == Crypto::Nss {
            nss_folder()?;
        }
        jar().map(drop)
    }

    /// Its announcement says which Tomcat and which Java.
    fn version(&self, _binary: &Path, _settings: &Settings) -> Result<String, TargetError> {
        Ok("the pet store".to_owned())
    }

    fn configure(&self, context: &mut LaunchContext<'_>) -> Result<(), TargetError> {
        let mut security = DISABLED.to_owned();
        if context.settings.target.crypto == Crypto::Nss {
            security.push_str(&providers(&context.folder.join(NSS_CONFIGURATION))?);
            let configuration = format!(
                "name = NSS\nnssLibraryDirectory = {}\nnssDbMode = noDb\nattributes = compatibility\n",
                nss_folder()?.display()
            );
            context.write(NSS_CONFIGURATION, &configuration)?;
        }
        context.write(SECURITY, &security)
    }

    fn launch(&self, context: &LaunchContext<'_>) -> Invocation {
        let target = &context.settings.target;
        let is_off = target.aes == Aes::Off;
        let variables = NSS_SWITCHES.map(|name| (name.into(), "1".into()));
        let is_without = |crypto| is_off && target.crypto == crypto;
        Invocation {
            arguments: arguments(context, is_without(Crypto::Jdk)),
            environment: variables.into_iter().filter(|_| is_without(Crypto::Nss)).collect(),
            stdout: Some(ANNOUNCEMENT),
            ..Invocation::default()
        }
    }

    fn ready(&self, context: &LaunchContext<'_>, deadline: Instant) -> Result<Started, Unready> {
        let Announcement { tls, plain, tomcat, java } =
            ready::announcement(&context.announcement())?;
        ready::attempt(plain, tls, context.smallest, deadline)?;
        let version = format!("{tomcat}, Java {java}");
        Ok(Started { version, https: tls, http: plain, stack: None, lacks: Vec::new() })
    }

    /// Java and the new database take some seconds of a CPU, of which a busy machine gives a part.
    fn start_limit(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn orders(&self, server: &Running) -> Result<Option<u64>, TargetError> {
        facts::orders(server).map(Some)
    }

    fn crypto(
        &self,
        server: &Running,
        settings: &Settings,
    ) -> Result<Option<CryptoFacts>, TargetError> {
        let jcmd = program::find("jcmd", PACKAGE, &settings.program_folders)?;
        facts::crypto(server, &jcmd, settings.target.crypto).map(Some)
    }

    /// Of NSS, what encrypts.
    fn libraries(&self) -> &'static [&'static str] {
        &["libsoftokn3.so", "libfreeblpriv3.so"]
    }
}

fn arguments(context: &LaunchContext<'_>, is_without_aes: bool) -> Vec<OsString> {
    // The flags of AES are read back, which needs diagnostic ones unlocked: whether on or off.
    let mut arguments: Vec<OsString> =
        ["-Xms512m", "-Xmx512m", "-XX:+UseParallelGC", "-XX:+UnlockDiagnosticVMOptions"]
            .map(Into::into)
            .to_vec();
    let cpus = context.settings.target.cpus.len();
    arguments.push(format!("-XX:ActiveProcessorCount={cpus}").into());
    if is_without_aes {
        arguments.extend(["-XX:-UseAES", "-XX:-UseGHASHIntrinsics"].map(Into::into));
    }
    let mut security = OsString::from("-Djava.security.properties=");
    security.push(context.folder.join(SECURITY));
    arguments.push(security);
    let jar = jar().unwrap_or_else(|_| Path::new("target").join(JAR));
    let folder = context.root.join(&context.name);
    for (flag, path) in [("-jar", &jar), ("--database", &folder)] {
        arguments.extend([flag.into(), path.into()]);
    }
    arguments.extend(["--https", "0", "--plain", "0", "--certificate"].map(Into::into));
    arguments.push(context.certificate().into());
    arguments.extend(["--key".into(), context.key().into()]);
    arguments.extend(["--root".into(), context.root.into()]);
    arguments
}

/// The application: what the variable names, else `petstore/petstore.jar` in the folder `target` that
/// toll lies in, else in that of the current folder.
fn jar() -> Result<PathBuf, TargetError> {
    if let Some(path) = std::env::var_os(TOLL_PETSTORE) {
        return first_file(&[path.into()]);
    }
    let jars: Vec<_> =
        shared_library::build_folders().into_iter().map(|folder| folder.join(JAR)).collect();
    first_file(&jars)
}

fn first_file(paths: &[PathBuf]) -> Result<PathBuf, TargetError> {
    paths.iter().find(|path| path.is_file()).cloned().ok_or_else(|| TargetError::NotBuilt {
        what: "the pet store",
        looked: paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        command: "make petstore and name its jar in TOLL_PETSTORE where it lies elsewhere",
    })
}

/// Where the system has NSS.
fn nss_folder() -> Result<PathBuf, TargetError> {
    let of_debian = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let folders = [&of_debian, "/usr/lib64", "/usr/lib"].map(PathBuf::from);
    let found = folders.iter().find(|folder| folder.join(NSS).is_file()).cloned();
    found.ok_or(TargetError::Missing { program: NSS, package: "libnss3" })
}

/// NSS before Java's own providers that TLS needs.
fn providers(nss: &Path) -> Result<String, TargetError> {
    let nss = match nss.to_str() {
        Some(text) if text.is_ascii() && !text.contains(['\\', '$']) => text,
        _ => return Err(TargetError::path("tomcat", nss, "`$` and backslashes, in ASCII")),
    };
    let nss = format!("SunPKCS11 {nss}");
    let all = [nss.as_str(), "SUN", "SunRsaSign", "SunEC", "SunJSSE", "SunJCE"];
    let lines = all.iter().enumerate();
    Ok(lines.map(|(i, provider)| format!("security.provider.{}={provider}\n", i + 1)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;
    use crate::launch_context::tests::context;

    fn settings(crypto: Crypto, aes: Aes) -> Settings {
        let settings = Settings::new("0".parse().unwrap());
        Settings { target: Target { crypto, aes, ..settings.target }, ..settings }
    }

    /// The flags of AES and the variables.
    fn switches(crypto: Crypto, aes: Aes) -> (Vec<String>, Vec<String>) {
        let settings = settings(crypto, aes);
        let Invocation { arguments, environment, .. } = Tomcat.launch(&context("/f", &settings));
        let text = |word: &OsString| word.to_str().unwrap().to_owned();
        let flags = arguments.iter().map(text).filter(|flag| flag.starts_with("-XX:-")).collect();
        (flags, environment.iter().map(|(name, _)| text(name)).collect())
    }

    #[test]
    fn each_provider_has_its_own_way_to_do_without_aes_instructions() {
        let none: [&str; 0] = [];
        for crypto in [Crypto::Jdk, Crypto::Nss] {
            let (flags, variables) = switches(crypto, Aes::On);
            assert!(flags.is_empty() && variables.is_empty(), "{crypto}");
        }
        let (flags, variables) = switches(Crypto::Jdk, Aes::Off);
        assert_eq!(flags, ["-XX:-UseAES", "-XX:-UseGHASHIntrinsics"]);
        assert_eq!(variables, none);
        let (flags, variables) = switches(Crypto::Nss, Aes::Off);
        assert_eq!(flags, none);
        assert_eq!(variables, ["NSS_DISABLE_HW_AES", "NSS_DISABLE_PCLMUL"]);
    }

    #[test]
    fn nss_stands_before_javas_own() {
        let text = providers(Path::new("/a b/nss.cfg")).unwrap();
        assert!(text.starts_with("security.provider.1=SunPKCS11 /a b/nss.cfg\n"), "{text}");
        assert!(text.ends_with("security.provider.6=SunJCE\n"), "{text}");
        let error = providers(Path::new("/ü/nss.cfg")).unwrap_err();
        assert!(matches!(error, TargetError::Path { .. }), "{error}");
    }

    #[test]
    fn a_jar_that_is_not_there_says_where_it_was_looked_for() {
        let paths = ["/nowhere/petstore.jar", "/target/petstore.jar"].map(PathBuf::from);
        let error = first_file(&paths).unwrap_err();
        let TargetError::NotBuilt { looked, command, .. } = error else { panic!("{error}") };
        assert!(looked.starts_with("/nowhere/"), "{looked}");
        assert!(command.starts_with("make petstore"), "{command}");
    }
}

//! What a running shop says of itself on its plain port, and what the system says of its process.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::ready;
use crate::system::Entrance;
use crate::{Aes, Crypto, CryptoFacts, Running, TargetError};

/// The variables that keep NSS from AES instructions and from those that authenticate GCM.
pub(super) const NSS_SWITCHES: [&str; 2] = ["NSS_DISABLE_HW_AES", "NSS_DISABLE_PCLMUL"];
/// The flags that say whether compiled Java uses them.
const JAVA_SWITCHES: [&str; 3] = ["UseAES", "UseAESIntrinsics", "UseGHASHIntrinsics"];
/// The ciphers of which the provider is what `crypto` means.
const CIPHERS: [&str; 2] = ["AES/CBC/NoPadding", "AES/GCM/NoPadding"];
/// What a variable is that a process does not have.
const UNSET: &str = "unset";
/// It measures its ciphers for some seconds, more without AES instructions.
const LIMIT: Duration = Duration::from_secs(60);

/// The time between two looks at the orders.
const LOOKS_APART: Duration = Duration::from_millis(50);
/// A shop that still stores orders after this many looks is loaded by someone else.
const MOST_LOOKS: usize = 100;

/// The answer to `/crypto`.
#[derive(Deserialize)]
struct Answer {
    providers: BTreeMap<String, String>,
    ns_per_byte: BTreeMap<String, f64>,
    disabled: String,
}

/// The orders in its database, when those of a load that is over have all been stored: what was asked
/// for on connections that are closed by now may still be worked on.
pub(super) fn orders(server: &Running) -> Result<u64, TargetError> {
    let mut stored = count_orders(server)?;
    for _ in 0..MOST_LOOKS {
        std::thread::sleep(LOOKS_APART);
        let before = std::mem::replace(&mut stored, count_orders(server)?);
        if before == stored {
            break;
        }
    }
    Ok(stored)
}

fn count_orders(server: &Running) -> Result<u64, TargetError> {
    let text = ask(server, "/orders")?;
    text.trim().parse().map_err(|_| silent(server, "/orders", format!("it says `{text}`")))
}

pub(super) fn crypto(
    server: &Running,
    jcmd: &Path,
    asked: Crypto,
) -> Result<CryptoFacts, TargetError> {
    let text = ask(server, "/crypto")?;
    let Answer { providers, ns_per_byte, disabled } = serde_json::from_str(&text)
        .map_err(|error| silent(server, "/crypto", format!("{error} in `{text}`")))?;
    let mut switches = java_switches(server, jcmd)?;
    switches.extend(nss_switches(server)?);
    let crypto = crypto_of(&providers);
    let aes = aes_of(asked, &switches);
    Ok(CryptoFacts { crypto, aes, providers, switches, ns_per_byte, disabled })
}

/// The body of a short answer.
fn ask(server: &Running, path: &str) -> Result<String, TargetError> {
    let failed = |why: String| silent(server, path, why);
    let answer = ready::get(&format!("http://{}{path}", server.facts().http), LIMIT);
    let mut answer = answer.map_err(|error| failed(error.to_string()))?;
    match answer.status().as_u16() {
        200 => answer.body_mut().read_to_string().map_err(|error| failed(error.to_string())),
        status => Err(failed(format!("status {status}"))),
    }
}

fn silent(server: &Running, question: &str, why: String) -> TargetError {
    TargetError::Silent { name: server.facts().name.clone(), question: question.to_owned(), why }
}

/// The flags of its virtual machine, as that reports them to another process.
fn java_switches(server: &Running, jcmd: &Path) -> Result<BTreeMap<String, String>, TargetError> {
    let arguments = [server.pid().to_string().into(), "VM.flags".into(), "-all".into()];
    let output = Entrance { arguments: arguments.into(), ..Entrance::here(jcmd) }.ask()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let switches = flags(&said);
    match switches.len() == JAVA_SWITCHES.len() {
        true => Ok(switches),
        false => Err(silent(server, "jcmd VM.flags", format!("no AES flags in `{said:.200}`"))),
    }
}

/// Of lines such as `bool UseAES = true {product} {default}`.
fn flags(said: &str) -> BTreeMap<String, String> {
    let flag = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let name = words.next().filter(|name| JAVA_SWITCHES.contains(name))?.to_owned();
        Some((name, words.nth(1)?.to_owned()))
    };
    said.lines().filter_map(flag).collect()
}

/// The variables that the kernel gave its process.
fn nss_switches(server: &Running) -> Result<BTreeMap<String, String>, TargetError> {
    let file = format!("/proc/{}/environ", server.pid());
    let environment = fs::read(&file).map_err(TargetError::file(Path::new(&file)))?;
    let environment = String::from_utf8_lossy(&environment);
    let value = |name: &str| {
        let of_name = |entry: &str| Some(entry.strip_prefix(name)?.strip_prefix('=')?.to_owned());
        environment.split('\0').find_map(of_name).unwrap_or_else(|| UNSET.to_owned())
    };
    Ok(NSS_SWITCHES.map(|name| (name.to_owned(), value(name))).into())
}

/// The word for what does AES; its providers where they are not those of one word.
fn crypto_of(providers: &BTreeMap<String, String>) -> String {
    let of_ciphers = CIPHERS.map(|cipher| providers.get(cipher).map_or("nothing", String::as_str));
    match of_ciphers {
        ["SunJCE", "SunJCE"] => Crypto::Jdk.to_string(),
        ["SunPKCS11-NSS", "SunPKCS11-NSS"] => Crypto::Nss.to_string(),
        [cbc, gcm] => format!("{cbc} for {}, {gcm} for {}", CIPHERS[0], CIPHERS[1]),
    }
}

/// The word for the switches that matter to what does AES; the switches where they disagree.
fn aes_of(crypto: Crypto, switches: &BTreeMap<String, String>) -> String {
    let (names, on): (&[&str], &str) = match crypto {
        Crypto::Jdk => (&JAVA_SWITCHES, "true"),
        Crypto::Nss => (&NSS_SWITCHES, UNSET),
    };
    let are_on: Vec<bool> = names.iter().map(|name| switches[*name] == on).collect();
    if are_on.iter().all(|is_on| *is_on) {
        Aes::On.to_string()
    } else if !are_on.contains(&true) {
        Aes::Off.to_string()
    } else {
        let values = names.iter().map(|name| format!("{name}={}", switches[*name]));
        values.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn flags_are_read_from_their_list() {
        let said = "1582:\n[Global flags]\n     bool UseAES      = false   {product} {command line}\n\
                    bool UseAESCTRIntrinsics = true {diagnostic} {default}\nccstr X = \n";
        assert_eq!(flags(said), map(&[("UseAES", "false")]));
    }

    #[test]
    fn crypto_is_what_does_both_ciphers() {
        let of = |cbc, gcm| crypto_of(&map(&[(CIPHERS[0], cbc), (CIPHERS[1], gcm)]));
        assert_eq!(of("SunJCE", "SunJCE"), "jdk");
        assert_eq!(of("SunPKCS11-NSS", "SunPKCS11-NSS"), "nss");
        assert_eq!(
            of("SunPKCS11-NSS", "SunJCE"),
            "SunPKCS11-NSS for AES/CBC/NoPadding, SunJCE for AES/GCM/NoPadding"
        );
    }

    #[test]
    fn switches_count_for_what_does_aes() {
        let on = [
            ("UseAES", "true"),
            ("UseAESIntrinsics", "true"),
            ("UseGHASHIntrinsics", "true"),
            ("NSS_DISABLE_HW_AES", "unset"),
            ("NSS_DISABLE_PCLMUL", "unset"),
        ];
        let of = |crypto, changes: &[(&str, &str)]| {
            let mut switches = map(&on);
            switches.extend(map(changes));
            aes_of(crypto, &switches)
        };
        assert_eq!(of(Crypto::Jdk, &[("NSS_DISABLE_HW_AES", "1")]), "on");
        assert_eq!(of(Crypto::Nss, &[("UseAES", "false")]), "on");
        let nss = [("NSS_DISABLE_HW_AES", "1"), ("NSS_DISABLE_PCLMUL", "1")];
        assert_eq!(of(Crypto::Nss, &nss), "off");
        assert_eq!(of(Crypto::Nss, &nss[..1]), "NSS_DISABLE_HW_AES=1 NSS_DISABLE_PCLMUL=unset");
        let vm = "UseAES=true UseAESIntrinsics=true UseGHASHIntrinsics=false";
        assert_eq!(of(Crypto::Jdk, &[("UseGHASHIntrinsics", "false")]), vm);
        let jdk = JAVA_SWITCHES.map(|name| (name, "false"));
        assert_eq!(of(Crypto::Jdk, &jdk), "off");
    }
}

//! Completions and help. That `man` can read the pages is among the proofs.

use std::process::Command;

use support::{output_with_input, toll_output};

#[test]
fn bash_completes_commands_and_flags() {
    let script = toll_output(&["completions", "bash"]);
    assert!(script.status.success());
    let ask = |words: &str, index: usize| {
        let question = format!(
            "\nCOMP_WORDS=({words}); COMP_CWORD={index}; _toll toll \"${{COMP_WORDS[$COMP_CWORD]}}\" \
             \"${{COMP_WORDS[$((COMP_CWORD - 1))]}}\"; echo \"${{COMPREPLY[@]}}\"\n"
        );
        let input = [&script.stdout[..], question.as_bytes()].concat();
        String::from_utf8(output_with_input(Command::new("bash").args(["--norc"]), &input).stdout)
            .unwrap()
    };
    assert_eq!(ask("toll re", 1).trim(), "report");
    assert_eq!(ask("toll run --dr", 2).trim(), "--dry-run");
    assert_eq!(ask("toll run qu", 2).trim(), "quick");
    assert_eq!(ask("toll run --only server=ngi", 3).trim(), "server=nginx");
    assert_eq!(ask("toll load --suite TLS_AES_128_GC", 3).trim(), "TLS_AES_128_GCM_SHA256");
    assert_eq!(ask("toll load --group X25519ML", 3).trim(), "X25519MLKEM768");
    assert_eq!(ask("toll serve --groups secp2", 3).trim(), "secp256r1");
    assert_eq!(ask("toll serve --certificate-key ecdsa:p2", 3).trim(), "ecdsa:p256");
    assert_eq!(ask("toll serve --library rustls-r", 3).trim(), "rustls-ring");
    assert_eq!(ask("toll load --client h2", 3).trim(), "h2load");
}

#[test]
fn zsh_and_fish_offer_the_same_values() {
    for shell in ["zsh", "fish"] {
        let script = toll_output(&["completions", shell]).stdout;
        let script = String::from_utf8(script).unwrap().replace('\\', "");
        for value in ["post-quantum", "server=haproxy", "X25519MLKEM768", "ecdsa:p384", "AES_256"] {
            assert!(script.contains(value), "{shell}: {value}");
        }
    }
}

#[test]
fn the_short_help_fits_a_screen_and_the_long_one_teaches() {
    for (command, headings) in [
        ("load", &["Target", "Load", "TLS", "Output"][..]),
        ("serve", &["Target", "Load", "TLS", "Output"]),
        ("run", &["Target", "Load", "Output"]),
    ] {
        let help = |flag: &str| String::from_utf8(toll_output(&[command, flag]).stdout).unwrap();
        let (short, long) = (help("-h"), help("--help"));
        for heading in headings {
            let heading = format!("\n{heading}:\n");
            assert!(short.contains(&heading) && long.contains(&heading), "{heading} {short}");
        }
        assert!(short.lines().count() <= 48, "{command}: {}\n{short}", short.lines().count());
        assert!(short.lines().all(|line| line.chars().count() <= 100), "{short}");
        assert!(!short.contains("Examples:") && short.contains("--help explains"), "{short}");
        assert!(long.contains("Examples:"), "{long}");
        // Every option has a heading.
        let options = short.split("\nOptions:\n").nth(1).unwrap_or_default();
        let own = options.lines().take_while(|line| !line.is_empty());
        assert!(own.clone().all(|line| line.contains("-h, --help")), "{short}");
    }
}

#[test]
fn every_shell_has_a_script_and_an_unknown_one_is_an_error() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = toll_output(&["completions", shell]);
        assert!(output.status.success() && output.stdout.len() > 1_000, "{shell}");
    }
    let output = toll_output(&["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
}

//! Served to curl: files and generated objects.

use std::io::Read;
use std::process::Stdio;

use support::peer;

use super::server::{Serve, object, write};

#[test]
fn curl_gets_the_generated_objects_over_every_version() {
    for server in Serve::on_each_library(&[]) {
        for size in ["0B", "1B", "16KiB", "1MiB", "5MiB"] {
            let path = format!("/bytes/{size}");
            let expected = object(size);
            assert!(server.fetch(&[&server.http(&path)]) == expected, "plain {size}");
            for version in [&["--tlsv1.3"][..], &["--tls-max", "1.2"]] {
                let url = server.https(&path);
                assert!(
                    server.fetch(&[version, &[&url]].concat()) == expected,
                    "{version:?} {size}"
                );
            }
        }
    }
}

#[test]
fn curl_keeps_a_connection_for_several_requests() {
    for server in Serve::on_each_library(&[]) {
        for url in [server.https("/bytes/1KiB"), server.http("/bytes/1KiB")] {
            let format = "%{num_connects}\n";
            let output = server.fetch(&[
                "--write-out",
                format,
                "-o",
                "/dev/null",
                "-o",
                "/dev/null",
                &url,
                &url,
            ]);
            assert_eq!(String::from_utf8(output).unwrap(), "1\n0\n");
        }
    }
}

#[test]
fn head_has_the_length_and_no_content() {
    for server in Serve::on_each_library(&[]) {
        for url in [server.https("/bytes/3MiB"), server.http("/bytes/3MiB")] {
            let head = String::from_utf8(server.fetch(&["--http1.1", "--head", &url])).unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n"), "{head}");
            assert!(head.ends_with("\r\n\r\n"));
        }
    }
}

#[test]
fn other_methods_and_unknown_paths_get_their_status() {
    for server in Serve::on_each_library(&[]) {
        let url = server.https("/bytes/1KiB");
        assert_eq!(server.status(&["--data", "x=1", &url]), "405");
        assert_eq!(server.status(&["--request", "DELETE", &url]), "405");
        assert_eq!(server.status(&["--request", "GET", "--data", "body", &url]), "200");
        for path in ["/", "/bytes/", "/bytes/1", "/bytes/2TiB", "/etc/passwd"] {
            assert_eq!(server.status(&[&server.https(path)]), "404", "{path}");
        }
    }
}

#[test]
fn files_are_served_and_nothing_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let large = object("3MiB").split_off(7);
    write(&root.join("inner/large"), &large);
    write(&root.join("bytes/1KiB"), b"a file");
    write(&root.join("empty"), b"");
    write(&folder.path().join("secret"), b"secret");
    std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
    for server in Serve::on_each_library(&["--root", root.to_str().unwrap()]) {
        for base in [server.https(""), server.http("")] {
            assert!(server.fetch(&[&format!("{base}/inner/large")]) == large);
            assert_eq!(server.fetch(&[&format!("{base}/bytes/1KiB")]), b"a file");
            assert_eq!(server.fetch(&[&format!("{base}/bytes/2KiB")]), object("2KiB"));
            assert_eq!(server.fetch(&[&format!("{base}/empty")]), b"");
            for path in
                ["/../secret", "/inner/../../secret", "/%2e%2e/secret", "/link", "/inner", "/none"]
            {
                assert_eq!(
                    server.status(&["--path-as-is", &format!("{base}{path}")]),
                    "404",
                    "{path}"
                );
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_short_ends_its_response_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for encrypted in [true, false] {
        std::fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let server = Serve::start(&["--root", folder.path().to_str().unwrap()]);
        let url = if encrypted { server.https("/file") } else { server.http("/file") };
        let mut curl = peer("curl")
            .args(["--silent", "--insecure", "--limit-rate", "10M", "--max-time", "50", &url])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        curl.stdout.as_mut().unwrap().read_exact(&mut [0; 1 << 16]).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        assert!(!curl.wait_with_output().unwrap().status.success(), "a short body is an error");
        assert_eq!(server.fetch(&[&server.https("/bytes/1KiB")]), object("1KiB"));
    }
}

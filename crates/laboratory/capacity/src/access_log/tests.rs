use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

fn log_by(text: &[u8], format: Option<&str>) -> Result<AccessLog, LogErrorReason> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let format = format.map(|format| format.parse().unwrap());
    let read = read(file.path(), format.as_ref(), &mut |_| ControlFlow::Continue(()));
    read.map(Option::unwrap).map_err(|error| error.reason)
}

fn log(text: &[u8]) -> Result<AccessLog, LogErrorReason> {
    log_by(text, None)
}

fn line(minute: u32, body: &str, more: &str) -> String {
    format!(
        "192.0.2.1 - - [10/Oct/2026:13:{minute:02}:36 +0000] \"GET /a\\\"b HTTP/1.1\" 200 {body} \"-\" \
         \"an agent\"{more}\n"
    )
}

#[test]
fn sizes_and_the_busiest_minute_are_counted() {
    let text = [
        line(1, "100", ""),
        line(2, "-", ""),
        line(1, "300", ""),
        line(2, "8", ""),
        line(2, "8", ""),
    ];
    let read = log(text.concat().as_bytes()).unwrap();
    assert_eq!(
        (read.used.requests, read.busiest, &*read.minute),
        (5, 3, "10/Oct/2026:13:02 +0000")
    );
    assert_eq!((read.sizes.count(), read.sizes.bytes()), (5, 416));
    assert_eq!(read.used.connections, None);
}

#[test]
fn of_equally_busy_minutes_it_is_the_first() {
    let text: String = (0..60).rev().map(|minute| line(minute, "1", "")).collect();
    for _ in 0..5 {
        let read = log(text.as_bytes()).unwrap();
        assert_eq!((read.busiest, &*read.minute), (1, "10/Oct/2026:13:59 +0000"));
    }
}

#[test]
fn minutes_are_those_of_utc() {
    // At the end of summer time an hour comes twice.
    let summer = line(30, "1", "").replace("+0000", "+0200");
    let winter = line(30, "1", "").replace("+0000", "+0100");
    let text = [summer.repeat(120), winter.repeat(120)].concat();
    let read = log(text.as_bytes()).unwrap();
    assert_eq!((read.busiest, &*read.minute), (120, "10/Oct/2026:13:30 +0200"));
    // And one minute has two names.
    let same = line(30, "1", "").replace(":13:30", ":12:30").replace("+0000", "+0100");
    let read = log([summer, same].concat().as_bytes()).unwrap();
    assert_eq!((read.busiest, &*read.minute), (2, "10/Oct/2026:13:30 +0200"));
}

/// One line of each format, and what is read of it.
struct Case {
    format: &'static str,
    text: &'static str,
    /// With its offset.
    minute: &'static str,
    size: u64,
    heads: Heads,
    protocol: Option<Protocol>,
    tls: Option<Tls>,
    proxied: Option<f64>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            format: "",
            text: "",
            minute: "",
            size: 0,
            heads: Heads::NotCounted,
            protocol: Some(Protocol::V1_1),
            tls: None,
            proxied: None,
        }
    }
}

fn cases() -> [Case; 16] {
    [
        Case {
            format: "common",
            text: r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#,
            minute: "10/Oct/2000:13:55 -0700",
            size: 2326,
            heads: Heads::Unknown,
            protocol: Some(Protocol::V1_0),
            ..Case::default()
        },
        Case {
            format: "common",
            text: r#"2001:db8::1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/2.0" 304 - 0.004"#,
            minute: "10/Oct/2026:13:55 +0000",
            protocol: Some(Protocol::V2),
            ..Case::default()
        },
        Case {
            format: "combined",
            text: r#"2001:db8::1 - a user [10/Oct/2026:13:55:36 +0200] "GET /a HTTP/1.1" 200 5316 "https://example.org/?a=\"1" "Mozilla/5.0 [en] (X11)""#,
            minute: "10/Oct/2026:13:55 +0200",
            size: 5316,
            heads: Heads::Unknown,
            ..Case::default()
        },
        // nginx.org's `main`, then the time that a request took; a request that is none.
        Case {
            format: "combined",
            text: r#"192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "\x16\x03\x01" 400 157 "-" "-" "198.51.100.7, 10.0.0.1" 0.002 -"#,
            minute: "10/Oct/2026:13:55 +0000",
            size: 157,
            heads: Heads::Unknown,
            protocol: None,
            ..Case::default()
        },
        Case {
            format: "vhost_combined",
            text: r#"www.example.org:443 192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8.5.0""#,
            minute: "10/Oct/2026:13:55 +0000",
            size: 512,
            heads: Heads::Unknown,
            ..Case::default()
        },
        Case {
            format: "HAProxy's HTTP log",
            text: r#"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1""#,
            minute: "06/Feb/2009:12:14",
            size: 2750,
            heads: Heads::Included,
            proxied: Some(1.0),
            ..Case::default()
        },
        Case {
            format: "HAProxy's HTTP log",
            text: r#"10.0.1.2:33317 [06/Feb/2009:12:14:14.655] https~ https/<NOSRV> -1/-1/-1/-1/0 -1 0 - - CR-- 1/1/0/0/0 0/0 "<BADREQ>""#,
            minute: "06/Feb/2009:12:14",
            heads: Heads::Included,
            protocol: None,
            proxied: Some(0.0),
            ..Case::default()
        },
        Case {
            format: "HAProxy's HTTP log",
            text: r#"<134>Jan  8 10:11:12 lb haproxy[31]: ::1:50226 [08/Jan/2026:10:11:12.307] web~ app/s2 0/0/0/3/3 200 1071 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/2.0" 0/0000000000000000/0/0/0 example.org/TLSv1.3/TLS_AES_128_GCM_SHA256"#,
            minute: "08/Jan/2026:10:11",
            size: 1071,
            heads: Heads::Included,
            protocol: Some(Protocol::V2),
            tls: Some(Tls::V1_3),
            proxied: Some(1.0),
        },
        Case {
            format: "AWS ALB",
            text: r#"h2 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 10.0.1.252:48160 10.0.0.66:9000 0.000 0.002 0.000 200 200 5 257 "GET https://10.0.2.105:773/ HTTP/2.0" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337327-72bd00b0343d75b906739c42" "-" "-" 1 2018-07-02T22:22:48.364000Z "redirect" "https://example.com:80/" "-" "10.0.0.66:9000" "200" "-" "-""#,
            minute: "2018-07-02T22:23+00:00",
            size: 257,
            heads: Heads::Included,
            protocol: Some(Protocol::V2),
            tls: Some(Tls::V1_2),
            proxied: Some(1.0),
        },
        Case {
            format: "#Fields:",
            text: "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) ssl-protocol cs-protocol-version\n2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.24\tGET\td111111abcdef8.cloudfront.net\t/a b.html\t200\t-\tTLSv1.3\tHTTP/2.0",
            minute: "2019-12-04 21:02 UTC",
            size: 392,
            heads: Heads::Included,
            protocol: Some(Protocol::V2),
            tls: Some(Tls::V1_3),
            ..Case::default()
        },
        Case {
            format: "#Fields:",
            text: "#Software: Microsoft Internet Information Services 10.0\n#Date: 2026-10-10 13:55:36\n#Fields: date time s-ip cs-method cs-uri-stem cs-version cs(User-Agent) sc-status sc-bytes time-taken\n2026-10-10 13:55:36 10.0.0.1 GET / HTTP/1.1 Mozilla/5.0+(X11) 200 930 15",
            minute: "2026-10-10 13:55 UTC",
            size: 930,
            heads: Heads::Included,
            ..Case::default()
        },
        Case {
            format: "JSON",
            text: r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/","headers":{"User-Agent":["curl \"7\""],"size":["1"]},"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"example.com"}},"bytes_read":0,"duration":0.0009,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#,
            minute: "2022-03-09 21:30 UTC",
            size: 10_900,
            protocol: Some(Protocol::V2),
            tls: Some(Tls::V1_3),
            ..Case::default()
        },
        Case {
            format: "JSON",
            text: r#"{"time_iso8601":"2026-10-10T13:55:36+02:00","request":"GET /\"a HTTP/1.1","status":"200","body_bytes_sent":"612","upstream_addr":"10.0.0.1:80, 10.0.0.2:80","ssl_protocol":"TLSv1.2","tags":[1,{"a":null}]}"#,
            minute: "2026-10-10T13:55+02:00",
            size: 612,
            tls: Some(Tls::V1_2),
            proxied: Some(1.0),
            ..Case::default()
        },
        Case {
            format: "JSON",
            text: r#"{"time":0.004,"msec":1791640536.217,"server_protocol":"HTTP/3.0","status":204,"bytes_sent":188,"body_bytes_sent":0,"upstream_addr":""}"#,
            minute: "2026-10-10 13:55 UTC",
            protocol: Some(Protocol::V3),
            proxied: Some(0.0),
            ..Case::default()
        },
        Case {
            format: "JSON",
            text: r#"{"time_local":"10/Oct/2026:13:55:36 +0530","request_method":"GET","server_protocol":"HTTP/1.1","status":200,"bytes_sent":"850"}"#,
            minute: "10/Oct/2026:13:55 +0530",
            size: 850,
            heads: Heads::Included,
            ..Case::default()
        },
        // By syslog.
        Case {
            format: "combined",
            text: r#"<190>Oct 10 13:55:36 web nginx[81]: 192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "HEAD / HTTP/1.1" 200 0 "-" "-""#,
            minute: "10/Oct/2026:13:55 +0000",
            ..Case::default()
        },
    ]
}

#[test]
fn a_line_of_each_format_is_read() {
    for case in cases() {
        for (before, end) in [("", "\n"), ("\u{feff}", "\r\n")] {
            let text = format!("{before}{}{end}", case.text);
            let read = log(text.as_bytes()).unwrap_or_else(|error| panic!("{text}{error:?}"));
            let used = &read.used;
            assert_eq!((used.format, &*read.minute), (case.format, case.minute), "{text}");
            assert_eq!((used.requests, used.lines, &used.damaged), (1, 1, &None), "{text}");
            assert_eq!((read.sizes.bytes(), used.heads), (case.size, case.heads), "{text}");
            let (protocol, tls) = (used.protocols.keys().next(), used.tls.keys().next());
            assert_eq!((protocol, tls), (case.protocol.as_ref(), case.tls.as_ref()), "{text}");
            assert_eq!(used.proxied, case.proxied, "{text}");
        }
    }
}

#[test]
fn a_log_of_two_formats_is_refused_with_both_named() {
    let cases = cases();
    for (a, b) in [(2, 5), (2, 8), (2, 9), (2, 12), (5, 2), (8, 11), (11, 0), (9, 2), (9, 11)] {
        let [a, b] = [a, b].map(|at: usize| &cases[at]);
        let text = [&[a.text; 3][..], &[b.text]].concat().join("\n") + "\n";
        // Columns begin with lines of their own, of which the first are no requests elsewhere.
        let error = log(text.as_bytes()).unwrap_err();
        match &error {
            LogErrorReason::Mixed { format, other, .. } => {
                let is_first = (*format, *other) == (a.format, b.format);
                assert!(is_first || (b.format, a.format) == (*format, *other), "{error}");
            }
            _ => panic!("{text}{error}"),
        }
    }
}

#[test]
fn fields_after_the_format_of_nginx_and_of_apache_count_connections() {
    let expected = Some(Connections { requests: 3, opened: 2, with_resumption: 2, resumed: 1 });
    for fields in [[" 1 r", " 2 r", " 1 ."], [" 0 Resumed", " 1 Resumed", " 0 Initial"]] {
        let text: String = fields.iter().map(|fields| line(1, "10", fields)).collect();
        assert_eq!(log(text.as_bytes()).unwrap().used.connections, expected, "{fields:?}");
    }
    // Others say nothing of them, and lines without them do not count.
    for fields in [" 0.004", " 1 r 3", " x r", " 1", " \"-\" 2 r"] {
        assert_eq!(
            log(line(1, "10", fields).as_bytes()).unwrap().used.connections,
            None,
            "{fields}"
        );
    }
    let text = [line(1, "5", " 1 r"), line(1, "5", ""), line(1, "5", " 2 r")].concat();
    let expected = Connections { requests: 2, opened: 1, with_resumption: 1, resumed: 1 };
    assert_eq!(log(text.as_bytes()).unwrap().used.connections, Some(expected));
}

#[test]
fn apache_numbers_no_requests_of_http_2() {
    let http2 = line(1, "10", " 0 Initial").replace("HTTP/1.1", "HTTP/2.0");
    let text =
        [http2.repeat(30), line(1, "10", " 0 Initial"), line(1, "10", " 1 Initial")].concat();
    let read = log(text.as_bytes()).unwrap();
    let expected = Connections { requests: 2, opened: 1, with_resumption: 1, resumed: 0 };
    assert_eq!((read.used.connections, read.used.not_numbered), (Some(expected), 30));
    let read = log(http2.as_bytes()).unwrap();
    assert_eq!((read.used.connections, read.used.not_numbered), (None, 1));
    // nginx does.
    let text = line(1, "10", " 1 .").replace("HTTP/1.1", "HTTP/2.0");
    assert_eq!(log(text.as_bytes()).unwrap().used.connections.unwrap().opened, 1);
}

#[test]
fn a_given_format_is_read() {
    let format =
        "$msec|$status|$body_bytes_sent|$server_protocol|$connection_requests|$ssl_session_reused";
    let text = "1791640536.217|200|7|HTTP/2.0|1|r\n1791640537.217|200|7|HTTP/2.0|2|r\n";
    let read = log_by(text.as_bytes(), Some(format)).unwrap();
    let expected = Connections { requests: 2, opened: 1, with_resumption: 1, resumed: 1 };
    assert_eq!((read.busiest, read.used.connections), (2, Some(expected)));
    let apache = "%t %>s %B %k %H";
    let text = "[10/Oct/2026:13:55:36 +0000] 200 7 0 HTTP/1.1\n[10/Oct/2026:13:55:36 +0000] 200 7 0 HTTP/2.0\n";
    let read = log_by(text.as_bytes(), Some(apache)).unwrap();
    let expected = Connections { requests: 1, opened: 1, with_resumption: 0, resumed: 0 };
    assert_eq!((read.used.connections, read.used.not_numbered), (Some(expected), 1));
    // Another format is refused with its first line.
    let error = log_by(line(1, "5", "").as_bytes(), Some(apache)).unwrap_err();
    assert!(error.to_string().contains("line 1: it has another form"), "{error}");
}

#[test]
fn heads_are_subtracted_where_responses_without_a_body_show_them() {
    let of = |method: &str, status: u32, size: u64| {
        line(1, &size.to_string(), "")
            .replace("\"GET ", &format!("\"{method} "))
            .replace(" 200 ", &format!(" {status} "))
    };
    let bodies = [of("GET", 200, 10_300), of("GET", 200, 5_300)].concat();
    let heads = [of("HEAD", 200, 200), of("GET", 304, 300), of("GET", 304, 2_000)].concat();
    // Of a format that does not say it.
    let read = log([&*bodies, &heads].concat().as_bytes()).unwrap();
    assert_eq!(read.used.heads, Heads::Subtracted { bytes: 300, lines: 3 });
    assert_eq!((read.sizes.count(), read.sizes.bytes()), (5, 15_000));
    // Where they have no bytes, sizes are of bodies.
    let none = [of("HEAD", 200, 0), of("GET", 304, 0)].concat();
    let read = log([&*bodies, &none].concat().as_bytes()).unwrap();
    assert_eq!((read.used.heads, read.sizes.bytes()), (Heads::NotCounted, 15_600));
    let read = log(bodies.as_bytes()).unwrap();
    assert_eq!((read.used.heads, read.sizes.bytes()), (Heads::Unknown, 15_600));
    // And where the format says that they have heads.
    let format = "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"";
    let read = log_by([&*bodies, &heads].concat().as_bytes(), Some(format)).unwrap();
    assert_eq!(
        (read.used.heads, read.sizes.bytes()),
        (Heads::Subtracted { bytes: 300, lines: 3 }, 15_000)
    );
    let read = log_by(bodies.as_bytes(), Some(format)).unwrap();
    assert_eq!((read.used.heads, read.sizes.bytes()), (Heads::Included, 15_600));
    // Where it says that they have none, they are taken as they are.
    let read =
        log_by([&*bodies, &heads].concat().as_bytes(), Some(&format.replace("%O", "%b"))).unwrap();
    assert_eq!((read.used.heads, read.sizes.bytes()), (Heads::NotCounted, 18_100));
}

#[test]
fn compressed_logs_are_read_and_a_torn_end_is_left_out() {
    let text = line(1, "100", "").repeat(3);
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    compressed.write_all(text.as_bytes()).unwrap();
    assert_eq!(log(&compressed.finish().unwrap()).unwrap().used.requests, 3);
    let read = log(&text.as_bytes()[..text.len() - 20]).unwrap();
    assert_eq!((read.used.requests, read.used.damaged), (2, None));
    // Also where what is left looks whole: this was 100.
    let common = text.replace(" \"-\" \"an agent\"", "");
    let read = log(&common.as_bytes()[..common.len() - 2]).unwrap();
    assert_eq!((read.used.requests, read.used.lines, read.sizes.bytes()), (2, 2, 200));
    // Two frames and one that is skipped between them.
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let frame = ruzstd::encoding::compress_to_vec(text.as_bytes(), level);
    let skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc";
    let frames = [&frame[..], skipped, &frame].concat();
    assert_eq!(log(&frames).unwrap().used.requests, 6);
    assert!(matches!(log(&frames[..frames.len() - 5]), Err(LogErrorReason::Read { .. })));
}

#[test]
fn up_to_one_line_in_a_hundred_may_be_damaged() {
    let good = line(1, "100", "");
    for (bad, why) in [
        (
            "127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5\n".to_owned(),
            "another form",
        ),
        ("{\"status\":200}\n".to_owned(), "another form"),
        ("\n".to_owned(), "another form"),
        (good.replace("200", "OK"), "no status"),
        (good.replace("10/Oct/2026", "2026-10-10"), "no time"),
        (good.replace("10/Oct/2026", "31/Feb/2026"), "no time"),
        (line(1, "ten", ""), "no size"),
        (line(1, "99999999999999999999", ""), "no size"),
        (good[..40].to_owned() + "\n", "another form"),
        ("x".repeat(100_000) + "\n", "more than 64 KiB"),
    ] {
        let read = log(format!("{good}{bad}{}", good.repeat(98)).as_bytes()).unwrap();
        assert_eq!((read.used.requests, read.used.lines), (99, 100), "{bad}");
        let Damaged { line, why: found } = read.used.damaged.unwrap();
        assert!(line == 2 && found.contains(why), "{bad}: {found}");
        let error = log(format!("{good}{bad}{}", good.repeat(97)).as_bytes()).unwrap_err();
        assert!(
            error.to_string().contains("line 2: ") && error.to_string().contains(why),
            "{error}"
        );
    }
}

#[test]
fn an_unknown_format_is_refused_by_what_it_looks_like() {
    for (text, look) in [
        ("{\"status\":200,\"bytes\":5}\n", "name for the time"),
        ("{\"ts\":1791640536,\"bytes\":5}\n", "`status`"),
        ("{\"ts\":1791640536,\"status\":200}\n", "for the size"),
        ("{\"ts\":1791640536,\"status\":200\n", "damaged JSON"),
        ("200 GET / HTTP/1.1\n", "requests in another order"),
        ("hello\n", "without requests"),
        ("a\0b\n", "no text"),
        ("\u{fd}7zXZ", "without requests"),
        ("BZh91AY", "bzip2"),
    ] {
        let error = log(text.as_bytes()).unwrap_err();
        assert!(matches!(error, LogErrorReason::Unknown { line: 1, .. }), "{text}: {error}");
        let error = error.to_string();
        assert!(error.contains(look) && error.contains("vhost_combined"), "{text}: {error}");
    }
    let error = log(b"#Fields: date time sc-status\n").unwrap_err();
    assert!(matches!(error, LogErrorReason::NoColumn { line: 1, name: "sc-bytes" }), "{error}");
    assert!(matches!(log(b"").unwrap_err(), LogErrorReason::Empty));
    assert!(matches!(log(b"\x1f\x8bno gzip").unwrap_err(), LogErrorReason::Read { .. }));
}

/// As Envoy writes it to a node's log, Istio's sidecar, and the same behind the name of a pod.
const ENVOY: [&str; 3] = [
    r#"2026-10-10T13:55:36.912345678Z stdout F [2026-10-10T13:55:36.901Z] "GET /a HTTP/1.1" 200 - 0 10240 4 3 "-" "curl/8.5.0" "4f0c" "shop.example.org" "10.0.0.5:8080""#,
    r#"2026-10-10T13:55:36.912345678Z stdout F [2026-10-10T13:55:36.901Z] "GET /a HTTP/1.1" 200 - via_upstream - "-" 0 10240 4 3 "-" "curl/8.5.0" "4f0c" "shop.example.org" "10.0.0.5:8080" outbound|8080||shop.default.svc.cluster.local 10.0.0.9:40000 10.0.0.9:8443 10.0.1.1:51000 - default"#,
    r#"[pod/shop-7d4b9c-x2x1p/istio-proxy] [2026-10-10T13:55:36.901Z] "GET /a HTTP/2" 200 - 0 10240 4 3 "-" "curl/8.5.0" "4f0c" "shop.example.org" "10.0.0.5:8080""#,
];

#[test]
fn a_format_whose_sizes_cannot_be_right_is_not_known() {
    let common = |size| line(1, size, " 1523").replace(" \"-\" \"an agent\"", "");
    let mixed = common("-").repeat(2) + &common("700");
    let zero = line(1, "0", "").repeat(3);
    let envoy = ENVOY.map(|line| format!("{line}\n").repeat(3));
    for text in envoy.iter().chain([&mixed, &zero]) {
        let error = log(text.as_bytes()).unwrap_err();
        assert!(matches!(error, LogErrorReason::NoSizes { .. }), "{text}: {error:?}");
        assert!(error.to_string().contains("--log-format"), "{error}");
    }
    // With the format that the docs give they are read.
    let format =
        "$prefix[$time_iso8601] \"$request\" $status $flags $received $body_bytes_sent $more";
    let istio = "$prefix[$time_iso8601] \"$request\" $status $flags $details $more \"$why\" $received $body_bytes_sent $rest";
    for (text, format) in [(&envoy[0], format), (&envoy[1], istio)] {
        let read = log_by(text.as_bytes(), Some(format)).unwrap();
        assert_eq!((read.used.requests, read.sizes.bytes()), (3, 3 * 10_240));
    }
    // What has no body by its kind says nothing, and some responses may be empty.
    let few = common("-") + &common("700").repeat(2);
    let times = line(1, "-", " 1523").repeat(2) + &line(1, "700", " 1523");
    let bodiless = line(1, "0", "").replace(" 200 ", " 304 ");
    for text in [few, times, bodiless, line(1, "0", "").replace("GET", "HEAD")] {
        assert!(log(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn lines_that_docker_wraps_are_refused_and_those_on_a_node_are_read() {
    let ingress = r#"192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/2.0" 200 612 "-" "curl/8.5.0" 75 0.002 [default-shop-80] [] 10.0.0.5:80 612 0.002 200 4f0c"#;
    let docker = serde_json::json!({"log": format!("{ingress}\n"), "stream": "stdout", "time": "2026-10-10T13:55:36.1Z"});
    let error = log(format!("{docker}\n").as_bytes()).unwrap_err();
    assert!(matches!(error, LogErrorReason::Unknown { line: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("docker logs"), "{error}");
    for text in [ingress.to_owned(), format!("2026-10-10T13:55:36.1Z stdout F {ingress}")] {
        let read = log(format!("{text}\n").as_bytes()).unwrap();
        assert_eq!((read.used.format, read.sizes.bytes()), ("combined", 612));
    }
    // What has no five times is none of HAProxy's.
    let haproxy = cases()[5].text.replace("10/0/30/69/109", "10/0/30/69");
    assert!(log(format!("{haproxy}\n").as_bytes()).is_err());
}

#[test]
fn what_was_never_tls_and_what_became_a_websocket_is_left_out_and_counted() {
    let alb = |kind: &str, status: u32, tls: &str| {
        let line = cases()[8].text.replacen("h2 ", &format!("{kind} "), 1);
        let line = line.replace(" 200 200 5 257 ", &format!(" {status} {status} 5 52428800 "));
        line.replace("ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2", tls)
    };
    let tls = "ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2";
    let haproxy = cases()[5].text.to_owned();
    let json = |more: &str| {
        format!(r#"{{"msec":1791640536.2,"status":200,"body_bytes_sent":612,{more}}}"#)
    };
    let caddy = cases()[11].text.to_owned();
    let no_tls = r#","tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"example.com"}"#;
    let of_host = |port| {
        cases().iter().find(|of| of.format == "vhost_combined").unwrap().text.replace("443", port)
    };
    let nginx = |more: &str| line(1, "612", more).trim_end().to_owned();
    let upgraded = nginx("").replace(" 200 612 ", " 101 52428800 ");
    for (good, bad, expected) in [
        (alb("https", 200, tls), alb("http", 200, "- -"), (1, 0)),
        (alb("https", 200, tls), alb("ws", 101, "- -"), (1, 0)),
        (alb("h2", 200, tls), alb("https", 200, "- -"), (1, 0)),
        (alb("h2", 200, tls), alb("wss", 101, tls), (0, 1)),
        (json(r#""scheme":"https""#), json(r#""scheme":"http""#), (1, 0)),
        (json(r#""ssl_protocol":"TLSv1.3""#), json(r#""ssl_protocol":"""#), (1, 0)),
        (json(r#""ssl_cipher":"A""#), json(r#""ssl_cipher":"-""#), (1, 0)),
        (caddy.clone(), caddy.replace(no_tls, ""), (1, 0)),
        (haproxy.clone(), haproxy.replace("http-in~", "http-in"), (1, 0)),
        (haproxy.clone(), haproxy.replace(" 200 2750 ", " 101 2750 "), (0, 1)),
        (of_host("443"), of_host("80"), (1, 0)),
        (of_host("8443"), of_host("80"), (1, 0)),
        (nginx(" 1 ."), nginx(" 2 -"), (1, 0)),
        (nginx(" 0 Initial"), nginx(" 1 -"), (1, 0)),
        (nginx(" 0 Initial"), upgraded, (0, 1)),
    ] {
        let one = log(format!("{good}\n").as_bytes()).unwrap();
        let read = log(format!("{good}\n{bad}\n").as_bytes()).unwrap();
        let left_out = LeftOut { plain: expected.0, upgraded: expected.1 };
        assert_eq!((read.used.left_out, read.used.lines), (left_out, 2), "{bad}");
        assert_eq!((read.used.requests, read.busiest), (1, 1), "{bad}");
        assert_eq!((read.sizes, read.used.connections), (one.sizes, one.used.connections));
        let error = log(format!("{bad}\n").as_bytes()).unwrap_err();
        assert!(matches!(error, LogErrorReason::NoTls(of) if of == left_out), "{bad}: {error:?}");
    }
    // By a format that is given.
    let format = "$scheme [$time_iso8601] $status $body_bytes_sent $ssl_cipher";
    let text = "https [2026-10-10T13:55:36Z] 200 7 A\nhttp [2026-10-10T13:55:36Z] 200 7 -\n";
    let read = log_by(text.as_bytes(), Some(format)).unwrap();
    assert_eq!((read.used.requests, read.used.left_out.plain), (1, 1));
    let line = |port| format!("2026-10-10 13:55:36 GET {port} 200 612\n");
    let text = format!(
        "#Fields: date time cs-method s-port sc-status sc-bytes\n{}{}",
        line(443),
        line(80)
    );
    let read = log(text.as_bytes()).unwrap();
    assert_eq!((read.used.requests, read.used.left_out.plain), (1, 1));
    let apache = "%t %>s %B %k %{SSL_CIPHER}x";
    let text = "[10/Oct/2026:13:55:36 +0000] 200 7 0 A\n[10/Oct/2026:13:55:36 +0000] 200 7 1 -\n";
    let read = log_by(text.as_bytes(), Some(apache)).unwrap();
    assert_eq!((read.used.requests, read.used.connections.unwrap().requests), (1, 1));
}

#[test]
fn a_reader_that_is_ended_gives_nothing() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(line(1, "5", "").repeat(LINES_PER_REPORT as usize).as_bytes()).unwrap();
    let mut reports = 0;
    let read = read(file.path(), None, &mut |so_far| {
        reports += 1;
        assert_eq!((so_far.lines, so_far.bytes), (LINES_PER_REPORT, so_far.all_bytes));
        ControlFlow::Break(())
    });
    assert!(matches!(read, Ok(None)) && reports == 1);
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = log(&bytes);
        let _ = log(&[line(1, "5", "").as_bytes(), &bytes].concat());
    }

    /// A line with some of its bytes changed.
    #[test]
    fn no_damage_is_a_panic(at in 0..16usize, changes in prop::collection::vec((0..400usize, any::<u8>()), 1..5)) {
        let mut text = cases()[at].text.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at % text.len();
            text[at] = byte;
        }
        let _ = log(&text);
    }
}

//! The examples of RFC 7541, appendix C.

use super::{Decoder, Encoder, Owned, decode, integer, refs};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|char| !char.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Fields, each a line `name: value`.
fn fields(lines: &[&str]) -> Owned {
    let field = |line: &&str| {
        let (name, value) = line[1..].split_once(": ").unwrap();
        (format!("{}{name}", &line[..1]).into_bytes(), value.into())
    };
    lines.iter().map(field).collect()
}

#[test]
fn integers() {
    for (pattern, prefix, value, hex) in
        [(0, 5, 10, "0a"), (0, 5, 1337, "1f9a0a"), (0, 8, 42, "2a"), (0x80, 7, 127, "ff00")]
    {
        let mut out = Vec::new();
        integer::put(&mut out, pattern, prefix, value);
        assert_eq!(out, bytes(hex));
        let mut rest = &out[..];
        assert_eq!((integer::take(&mut rest, prefix), rest), (Some(value), &[][..]));
    }
    for endless in ["", "1f", "1fff", "1fffffffff01", "1f8080808000"] {
        assert_eq!(integer::take(&mut &bytes(endless)[..], 5), None, "{endless}");
    }
}

#[test]
fn forms_of_fields() {
    for (hex, line, is_indexed) in [
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            "custom-key: custom-header",
            true,
        ),
        ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path", false),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret", false),
        ("82", ":method: GET", false),
    ] {
        let mut decoder = Decoder::new(1000);
        assert_eq!(decode(&mut decoder, &bytes(hex)), Ok(fields(&[line])));
        assert_eq!(decode(&mut decoder, &[0xbe]).is_ok(), is_indexed, "{line}");
    }
}

/// Three heads on one connection, in each of two codes. The encoder writes the second one of requests; in an
/// example of responses a text is as long in both codes.
fn series(table: Option<u32>, heads: [(&[&str], [&str; 2]); 3]) {
    for code in [0, 1] {
        let mut decoder = Decoder::new(1000);
        let mut encoder = Encoder::new();
        if let Some(size) = table {
            let mut update = Vec::new();
            integer::put(&mut update, 0x20, 5, size as usize);
            assert_eq!(decode(&mut decoder, &update), Ok(vec![]));
        }
        for (lines, hex) in &heads {
            let (fields, block) = (fields(lines), bytes(hex[code]));
            assert_eq!(decode(&mut decoder, &block).as_ref(), Ok(&fields));
            if code == 1 && table.is_none() {
                let mut out = Vec::new();
                encoder.encode(refs(&fields), &mut out);
                assert_eq!(out, block, "{lines:?}");
            }
        }
    }
}

#[test]
fn requests() {
    series(
        None,
        [
            (
                &[":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
                [
                    "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                    "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
                ],
            ),
            (
                &[
                    ":method: GET",
                    ":scheme: http",
                    ":path: /",
                    ":authority: www.example.com",
                    "cache-control: no-cache",
                ],
                ["8286 84be 5808 6e6f 2d63 6163 6865", "8286 84be 5886 a8eb 1064 9cbf"],
            ),
            (
                &[
                    ":method: GET",
                    ":scheme: https",
                    ":path: /index.html",
                    ":authority: www.example.com",
                    "custom-key: custom-value",
                ],
                [
                    "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
                    "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
                ],
            ),
        ],
    );
}

/// With a table so small that fields are evicted.
#[test]
fn responses() {
    series(
        Some(256),
        [
            (
                &[
                    ":status: 302",
                    "cache-control: private",
                    "date: Mon, 21 Oct 2013 20:13:21 GMT",
                    "location: https://www.example.com",
                ],
                [
                    "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
                     2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70
                     6c65 2e63 6f6d",
                    "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
                     2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                ],
            ),
            (
                &[
                    ":status: 307",
                    "cache-control: private",
                    "date: Mon, 21 Oct 2013 20:13:21 GMT",
                    "location: https://www.example.com",
                ],
                ["4803 3330 37c1 c0bf", "4883 640e ffc1 c0bf"],
            ),
            (
                &[
                    ":status: 200",
                    "cache-control: private",
                    "date: Mon, 21 Oct 2013 20:13:22 GMT",
                    "location: https://www.example.com",
                    "content-encoding: gzip",
                    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
                ],
                [
                    "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d
                     54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049
                     5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e
                     3d31",
                    "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
                     77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f
                     9587 3160 65c0 03ed 4ee5 b106 3d50 07",
                ],
            ),
        ],
    );
}

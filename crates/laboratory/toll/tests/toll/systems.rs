//! Studies of a system that is not made.

use support::{Desk, text};

#[test]
fn a_system_that_is_not_made_is_skipped_with_what_makes_it() {
    let desk = |missing: &str| {
        Desk::new(&format!(
            "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"nginx\"\nsystem = \
             \"debian-99\"\nif-missing = \"{missing}\"\n[load]\nconnections = 1\nduration = \
             \"100ms\"\n[[case]]\nname = \"c\"\n"
        ))
    };
    for missing in ["skip", "fail"] {
        let desk = desk(missing);
        let output = desk.run(&[]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains("make systems SYSTEMS=debian-99"), "{missing}: {said}");
    }
}

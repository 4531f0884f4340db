//! Stacks as one line each, and as a picture.

use std::collections::BTreeMap;

use inferno::flamegraph::{self, Options};

use crate::stack::CallStack;

/// The stacks in the folded format of flame graphs, `nginx;main;write 12`, outermost function first.
pub fn folded<'a>(stacks: impl IntoIterator<Item = &'a CallStack>) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for stack in stacks {
        let names =
            stack.frames.iter().rev().map(|frame| match (&frame.function, &frame.library) {
                (Some(function), _) => function.replace(';', ":"),
                (None, Some(library)) => format!("[{library}]"),
                (None, None) => "[unknown]".to_owned(),
            });
        let line: Vec<String> = std::iter::once(stack.thread.clone()).chain(names).collect();
        *counts.entry(line.join(";")).or_default() += 1;
    }
    counts.iter().map(|(stack, count)| format!("{stack} {count}\n")).collect()
}

/// A narrower frame of a picture has no room for a letter, in percent of the width.
const NARROWEST: f64 = 0.5;

/// How many samples folded stacks are of.
pub fn count(folded: &str) -> u64 {
    folded.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// A flame graph as SVG with its own script, from folded stacks; `None` where there are none.
pub fn flame_graph(folded: &str, title: &str) -> Option<String> {
    svg(folded, &mut options(title))
}

/// The same as a still picture of the frames that can be read, a tenth as large.
pub fn flame_picture(folded: &str, title: &str) -> Option<String> {
    let mut options = options(title);
    options.min_width = NARROWEST;
    // A picture runs no script.
    options.no_javascript = true;
    svg(folded, &mut options)
}

fn options(title: &str) -> Options<'static> {
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = "samples".to_owned();
    options.image_width = Some(1_160);
    // Else a picture that is made again has other colours.
    options.deterministic = true;
    options
}

fn svg(folded: &str, options: &mut Options<'_>) -> Option<String> {
    let mut svg = Vec::new();
    flamegraph::from_lines(options, folded.lines(), &mut svg).ok()?;
    String::from_utf8(svg).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Frame;

    fn stack(functions: &[&str]) -> CallStack {
        let frame = |name: &&str| Frame { library: None, function: Some((*name).to_owned()) };
        CallStack {
            process: 7,
            thread: "nginx".to_owned(),
            frames: functions.iter().map(frame).collect(),
        }
    }

    #[test]
    fn equal_stacks_are_one_line_outermost_first() {
        let mut stacks =
            vec![stack(&["write", "main"]), stack(&["main"]), stack(&["write", "main"])];
        stacks[1].frames[0] = Frame { library: Some("libcrypto.so.3".to_owned()), function: None };
        let folded = folded(&stacks);
        assert_eq!(folded, "nginx;[libcrypto.so.3] 1\nnginx;main;write 2\n");
        let svg = flame_graph(&folded, "nginx").unwrap();
        assert!(svg.contains("main (2 samples, 66.67%)"), "{svg}");
        assert_eq!(flame_graph("", "nothing"), None);
        assert_eq!((count(&folded), count("")), (3, 0));
    }

    #[test]
    fn a_picture_is_small_and_has_no_frame_that_is_too_narrow() {
        let folded = "nginx;main;wide 999\nnginx;main;narrow 1\n";
        let (graph, picture) =
            (flame_graph(folded, "nginx").unwrap(), flame_picture(folded, "nginx").unwrap());
        assert!(graph.contains("narrow (1 samples") && !picture.contains("narrow"), "{picture}");
        assert!(picture.len() < graph.len() / 4, "{} of {}", picture.len(), graph.len());
        assert!(picture.contains("wide (999 samples"), "{picture}");
        assert_eq!(picture, flame_picture(folded, "nginx").unwrap());
    }
}

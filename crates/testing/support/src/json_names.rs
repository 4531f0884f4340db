//! The names in what toll prints for programs.

use std::collections::BTreeSet;

use serde_json::Value;

/// The path of every field in these values, each once and on a line: what programs that read them rely on. Fields of
/// an object whose names are data (`params`) are left out.
pub fn json_names<'a>(values: impl IntoIterator<Item = &'a Value>, data: &[&str]) -> String {
    let mut names = BTreeSet::new();
    values.into_iter().for_each(|value| add(value, "", data, &mut names));
    names.into_iter().map(|name| name + "\n").collect()
}

fn add(value: &Value, path: &str, data: &[&str], names: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => {
            values.iter().for_each(|value| add(value, &format!("{path}[]"), data, names));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if !data.contains(&name.as_str()) {
                    add(value, &path, data, names);
                }
                names.insert(path);
            }
        }
        _ => {}
    }
}

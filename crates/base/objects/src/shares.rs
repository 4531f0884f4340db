//! Things with their shares of a whole, as users write them: `1KiB 90%, 1MiB 10%`.

/// The whole, in thousandths of a percent.
pub const WHOLE: u32 = 100_000;

/// What a list holds, each with its share in thousandths of a percent; a single one needs no share. `kind` names
/// what they are, of which there may be `most`.
///
/// # Errors
/// What the list has or needs, to follow its text.
pub fn shares<T: PartialEq>(
    text: &str,
    kind: &str,
    most: usize,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<(T, u32)>, String> {
    let items: Vec<&str> = text.split(',').map(str::trim).collect();
    if items.len() > most {
        return Err(format!("has more than {most} {kind}"));
    }
    let mut shares: Vec<(T, u32)> = Vec::with_capacity(items.len());
    for item in &items {
        let (name, share) = match item.split_once(char::is_whitespace) {
            Some((name, share)) => (name, thousandths(share.trim())),
            None if items.len() == 1 => (*item, Some(WHOLE)),
            None => return Err(format!("needs a share for `{item}`")),
        };
        let parsed = parse(name)?;
        let Some(share) = share.filter(|share| *share > 0) else {
            return Err(format!("has an invalid share for `{name}`"));
        };
        if shares.iter().any(|(other, _)| *other == parsed) {
            return Err(format!("has `{name}` twice"));
        }
        shares.push((parsed, share));
    }
    match shares.iter().map(|(_, share)| u64::from(*share)).sum::<u64>() {
        sum if sum == u64::from(WHOLE) => Ok(shares),
        sum => Err(format!("has shares of {} in all instead of 100%", in_percent(sum))),
    }
}

/// A percentage with up to three decimals, in thousandths of a percent.
fn thousandths(text: &str) -> Option<u32> {
    let digits = text.strip_suffix('%')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || fraction.len() > 3 {
        return None;
    }
    let thousandths = format!("{whole}{fraction:0<3}").parse().ok()?;
    (thousandths <= WHOLE).then_some(thousandths)
}

/// The same as it is parsed.
pub fn in_percent(thousandths: u64) -> String {
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

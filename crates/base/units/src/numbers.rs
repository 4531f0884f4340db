/// `1640000` as `1,640,000`.
pub fn thousands(value: u64) -> String {
    grouped(&value.to_string())
}

/// `1 trial`, `1,640 trials`: of a noun whose plural ends with an s.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// A number to `places` decimal places, with commas in its whole part: `1,640.5` with 1. With -2 it is
/// a number of hundreds, `1,600`. Never a negative zero.
pub fn decimal(number: f64, places: i32) -> String {
    let step = 10f64.powi(places.abs());
    // Halves are rounded up; formatting alone rounds them to even numbers.
    let rounded =
        if places < 0 { (number / step).round() * step } else { (number * step).round() / step };
    let rounded = if rounded.is_finite() { rounded } else { number };
    let text = format!("{:.*}", places.max(0) as usize, rounded.abs());
    let sign = if number < 0.0 && text.contains(|c| matches!(c, '1'..='9')) { "-" } else { "" };
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{sign}{}.{fraction}", grouped(whole)),
        None => format!("{sign}{}", grouped(&text)),
    }
}

/// The decimal places that leave a number `digits` significant digits, after rounding too: of three
/// digits 9.994 has two places and 9.996, which is 10.0, has one. Of 0 none.
pub fn places(number: f64, digits: i32) -> i32 {
    let text = format!("{:.*e}", (digits - 1) as usize, number);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if number == 0.0 { 0 } else { digits - 1 - exponent }
}

/// Rounded to so many significant digits, of halves to the even one: the number that the text with these digits
/// says. One so small or large that its power of ten is not exact stays as it is.
pub fn significant(number: f64, digits: i32) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let place = number.abs().log10().floor() as i32 + 1 - digits;
    let power = 10f64.powi(place.abs());
    if power > 1e22 {
        return number;
    }
    // How many there are of the last place, and what the division or multiplication rounded away.
    let (count, lost) = match place > 0 {
        true => (number / power, (number / power).mul_add(-power, number)),
        false => (number * power, number.mul_add(power, -(number * power))),
    };
    let whole = count.round_ties_even();
    // Only what looks like a half can lie on its other side.
    let is_half = (count - whole).abs() == 0.5;
    let beyond = is_half && lost != 0.0 && (lost > 0.0) == (count > whole);
    let whole = if beyond { whole + lost.signum() } else { whole };
    if place > 0 { whole * power } else { whole / power }
}

/// A share of one as a percentage: `0.068` as `6.8%`, `0.997` as `99.7%`.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As text says it.
    fn of_text(number: f64) -> f64 {
        format!("{number:.5e}").parse().unwrap()
    }

    proptest! {
        #[test]
        fn six_digits_are_those_of_the_text(
            digits in -9.99e5..9.99e5, power in -16..16_i32, halves in -2_000_000..2_000_000_i32, ulps in -2..3_i64
        ) {
            // Any number, one that lies half way between two with six digits, and its neighbours.
            let half = f64::from(halves) / 2.0 * 10f64.powi(power);
            let beside = f64::from_bits((half.to_bits() as i64 + ulps) as u64);
            for number in [digits * 10f64.powi(power), half, beside] {
                prop_assert_eq!(significant(number, 6), of_text(number), "{}", number);
            }
        }
    }

    #[test]
    fn what_has_no_digits_stays() {
        for number in [0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 1.234_567_8e300] {
            assert!(significant(number, 6).to_bits() == number.to_bits(), "{number}");
        }
    }

    #[test]
    fn numbers_have_commas_and_their_places() {
        assert_eq!([thousands(1_640_000), thousands(999)], ["1,640,000", "999"]);
        for (number, places, text) in [
            (1_640.46, 1, "1,640.5"),
            (0.197, 2, "0.20"),
            (88.25, 1, "88.3"),
            (-0.04, 1, "0.0"),
            (-1_234.0, 0, "-1,234"),
            (12_355.0, -2, "12,400"),
            (-12_355.0, -2, "-12,400"),
        ] {
            assert_eq!(decimal(number, places), text);
        }
        // Its hundreds would be more than an f64 holds.
        assert!(decimal(f64::MAX, -306).starts_with("179,769,"));
        assert_eq!(percent(0.068), "6.8%");
    }

    #[test]
    fn places_leave_the_digits_that_count() {
        for (number, expected) in
            [(9.994, 2), (9.996, 1), (0.0123, 4), (-64.0, 1), (1_649.0, -1), (999.6, -1), (0.0, 0)]
        {
            assert_eq!(places(number, 3), expected, "{number}");
        }
        assert_eq!(places(0.5, 1), 1);
    }
}

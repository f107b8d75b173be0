//! Costs and lists of numbers as text.

use cellworks_stats::figures::thousands;

use crate::text::figures;

/// Formats a cost. Whole costs have all digits, because users compare them with published costs.
pub(crate) fn amount(cost: f64) -> String {
    match cost {
        _ if cost.fract() == 0.0 => thousands(&format!("{cost:.0}")),
        1_000.0.. => {
            let tenths = format!("{cost:.1}");
            let (whole, tenth) = tenths.split_at(tenths.len() - 2);
            thousands(whole) + tenth
        }
        _ => figures(cost),
    }
}

pub(crate) fn listed(numbers: &[usize], between: &str) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    numbers.join(between)
}

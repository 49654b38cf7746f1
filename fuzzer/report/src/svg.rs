//! Writes SVG elements. Colours are classes of the page's style sheet, so that a plot follows the light or dark scheme
//! of the browser. A plotting library would write fixed colours into the picture.

use std::fmt::Write;

use super::format::escape;

/// A map from values to coordinates.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    from: (f64, f64),
    to: (f64, f64),
    log: bool,
}

impl Scale {
    /// A linear scale.
    #[must_use]
    pub fn linear(from: (f64, f64), to: (f64, f64)) -> Self {
        Self { from, to, log: false }
    }

    /// A logarithmic scale; `from` must be positive.
    #[must_use]
    pub fn log(from: (f64, f64), to: (f64, f64)) -> Self {
        Self { from, to, log: true }
    }

    /// The coordinate of a value.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        let f = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let (a, b) = (f(self.from.0), f(self.from.1));
        let share = if b > a { (f(value) - a) / (b - a) } else { 0.5 };
        self.to.0 + share * (self.to.1 - self.to.0)
    }

    /// The limits of the values.
    #[must_use]
    pub fn domain(&self) -> (f64, f64) {
        self.from
    }

    /// Round values for labels: about `about` of them on a linear scale, every power of ten on a logarithmic one.
    #[must_use]
    pub fn ticks(&self, about: usize) -> Vec<f64> {
        let (a, b) = self.from;
        if self.log {
            let range = (a.log10() - 1e-9).ceil() as i32..=(b.log10() + 1e-9).floor() as i32;
            return range.map(|e| 10_f64.powi(e)).collect();
        }
        let step = round_step((b - a) / about.max(1) as f64);
        let first = (a / step - 1e-9).ceil() as i64;
        let last = (b / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

/// The smallest value of 1, 2 or 5 times a power of ten that is at least `least`.
#[must_use]
pub fn round_step(least: f64) -> f64 {
    let unit = 10_f64.powf(least.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * unit).find(|s| *s >= least * 0.999_999).unwrap_or(unit * 10.0)
}

/// A value on an axis: four decimal places without trailing zeros.
#[must_use]
pub fn label(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The start of an SVG element with the label `what`; the caller adds `</svg>`.
#[must_use]
pub fn open(class: &str, width: f64, height: f64, what: &str) -> String {
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" \
         aria-label=\"{}\">\n",
        escape(what)
    )
}

/// Text at a point; `class` sets its alignment.
#[must_use]
pub fn text(x: f64, y: f64, class: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>\n", escape(text))
}

/// A straight line.
#[must_use]
pub fn line(from: (f64, f64), to: (f64, f64), class: &str) -> String {
    let ((x1, y1), (x2, y2)) = (from, to);
    format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>\n")
}

/// A step function: each value holds until the next point.
pub fn steps(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut out = String::new();
    let (mut level, mut end) = (None, 0.0);
    for (x, y) in points {
        let _ = match level {
            None => write!(out, "M{x:.1} {y:.1}"),
            Some(old) if old == format!("{y:.1}") => Ok(()),
            Some(_) => write!(out, "H{x:.1}V{y:.1}"),
        };
        (level, end) = (Some(format!("{y:.1}")), x);
    }
    let _ = write!(out, "H{end:.1}");
    out
}

/// Separates labels: returns coordinates that differ by at least `gap`, within the limits, in the order of `wanted`
/// (ascending) and close to it.
#[must_use]
pub fn spread_labels(wanted: &[f64], gap: f64, limits: (f64, f64)) -> Vec<f64> {
    let mut out = Vec::with_capacity(wanted.len());
    let mut free = limits.0;
    for &w in wanted {
        let y = w.max(free);
        out.push(y);
        free = y + gap;
    }
    let mut most = limits.1;
    for y in out.iter_mut().rev() {
        *y = y.min(most);
        most = *y - gap;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_would_overlap_are_moved_apart() {
        assert_eq!(spread_labels(&[10.0, 11.0, 50.0], 5.0, (0.0, 100.0)), [10.0, 15.0, 50.0]);
        assert_eq!(spread_labels(&[98.0, 99.0, 100.0], 5.0, (0.0, 100.0)), [90.0, 95.0, 100.0]);
    }

    #[test]
    fn ticks_are_round_and_within_the_limits() {
        assert_eq!(Scale::linear((60.0, 100.0), (0.0, 1.0)).ticks(5), [60.0, 70.0, 80.0, 90.0, 100.0]);
        assert_eq!(Scale::log((0.001, 10.0), (0.0, 1.0)).ticks(0), [0.001, 0.01, 0.1, 1.0, 10.0]);
        assert_eq!([label(0.001), label(10.0), label(97.5)], ["0.001", "10", "97.5"]);
    }

    #[test]
    fn a_step_function_rises_where_the_new_value_is() {
        let points = [(0.0, 9.0), (1.0, 9.0), (2.0, 4.0), (3.0, 4.0)];
        assert_eq!(steps(points.into_iter()), "M0.0 9.0H2.0V4.0H3.0");
    }
}

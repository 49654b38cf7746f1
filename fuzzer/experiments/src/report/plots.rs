//! The plots of the page. A tool has the same colour and dashes in all of them. The line of the reference tool is thick
//! and has the colour of the text.

use std::fmt::Write;

use penfuzz_report::{
    format::number,
    svg::{self, Scale},
};

use super::{
    curves::{self, Curve},
    grid::{Grid, Row},
    verdict,
};
use crate::{model::ToolInfo, statistics::mean};

/// Number of colours in the style sheet; further tools reuse them with dashes.
const COLOURS: usize = 7;
/// Distance between the baselines of two labels, in pixels.
const LINE: f64 = 17.0;

/// Returns the width of the longest name at 13 pixels; bold letters are up to 8 pixels wide on average.
fn name_width(grid: &Grid) -> f64 {
    8.0 * grid.tools.iter().map(|t| t.name.chars().count()).max().unwrap_or(0) as f64
}

/// Returns the CSS classes of a tool's lines.
pub fn style(grid: &Grid, tool: usize) -> String {
    if tool == grid.reference {
        return "ref".to_owned();
    }
    let number = if tool > grid.reference { tool - 1 } else { tool };
    format!("c{} d{}", number % COLOURS, number / COLOURS % 3)
}

/// Plots coverage over time for all functions together; `None` if no tool has a trial of all of them.
pub fn over_time(grid: &Grid, times: &[f64]) -> Option<String> {
    let functions = curves::compared(grid);
    let curves = curves::overall(grid, &functions, times);
    let lowest = curves.iter().map(Curve::end).min_by(f64::total_cmp)?;
    let best = mean(&functions.iter().map(|f| 100.0 * f.best as f64 / f.total as f64).collect::<Vec<_>>())?;
    let (width, height) = (980.0, 440.0_f64.max(LINE * curves.len() as f64 + 90.0));
    let (left, right, top, bottom) = (62.0, width - name_width(grid) - 86.0, 26.0, height - 50.0);
    let x = Scale::log((times[0], times[times.len() - 1]), (left, right));
    let y = Scale::linear(limits(lowest, best), (bottom, top));
    let mut out = svg::open("plot", width, height, "Coverage over time");
    out.push_str(&axes(&x, &y, (left, right, top, bottom)));
    out.push_str(&svg::line((left, y.at(best)), (right, y.at(best)), "best"));
    out.push_str(&svg::text(left + 8.0, y.at(best) - 6.0, "s", &format!("best known {best:.1}")));
    let middle = (f64::midpoint(left, right), f64::midpoint(top, bottom));
    out.push_str(&svg::text(middle.0, height - 8.0, "m", "time since the trial's start, seconds"));
    let title = "branches covered, mean over functions, %";
    let _ = write!(
        out,
        "<g transform=\"translate(15 {:.1}) rotate(-90)\">{}</g>",
        middle.1,
        svg::text(0.0, 0.0, "m", title)
    );
    let clip = (left, top, right - left, bottom - top);
    let _ = writeln!(
        out,
        "<clipPath id=\"area\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
         <g clip-path=\"url(#area)\">",
        clip.0, clip.1, clip.2, clip.3
    );
    for curve in in_front_last(grid, &curves) {
        out.push_str(&band(curve, times, &x, &y, &style(grid, curve.tool)));
    }
    for curve in in_front_last(grid, &curves) {
        out.push_str(&path(curve, times, &x, &y, &style(grid, curve.tool)));
    }
    out.push_str("</g>\n");
    out.push_str(&labels(grid, &curves, &y, right, (top, bottom)));
    Some(out + "</svg>\n")
}

/// Returns the limits of an axis in percent: the upper one is the best known; the lower one is as far below the lowest
/// end as that is below the best known, and at least 20 points below the latter.
fn limits(lowest: f64, best: f64) -> (f64, f64) {
    let low = (2.0 * lowest - best).min(best - 20.0);
    let high = (best / 5.0).ceil() * 5.0;
    (((low / 10.0).floor() * 10.0).clamp(0.0, 80.0), high.clamp(5.0, 100.0))
}

fn axes(x: &Scale, y: &Scale, (left, right, top, bottom): (f64, f64, f64, f64)) -> String {
    let mut out = String::new();
    for v in y.ticks(6) {
        out.push_str(&svg::line((left, y.at(v)), (right, y.at(v)), "grid"));
        out.push_str(&svg::text(left - 8.0, y.at(v) + 4.0, "e", &svg::label(v)));
    }
    for v in x.ticks(6) {
        out.push_str(&svg::line((x.at(v), top), (x.at(v), bottom), "grid"));
        out.push_str(&svg::text(x.at(v), bottom + 18.0, "m", &svg::label(v)));
    }
    out.push_str(&svg::line((left, bottom), (right, bottom), "axis"));
    out + &svg::line((left, top), (left, bottom), "axis")
}

/// Returns the curves in drawing order: the reference tool is drawn over the others.
fn in_front_last<'a>(grid: &Grid, curves: &'a [Curve]) -> Vec<&'a Curve> {
    let mut order: Vec<_> = curves.iter().collect();
    order.sort_by_key(|c| c.tool == grid.reference);
    order
}

fn path(curve: &Curve, times: &[f64], x: &Scale, y: &Scale, class: &str) -> String {
    let points = times.iter().zip(&curve.level).map(|(&t, &v)| (x.at(t), y.at(v)));
    format!("<path class=\"{class}\" d=\"{}\"/>\n", svg::steps(points))
}

/// Draws the band from the first to the third quartile.
fn band(curve: &Curve, times: &[f64], x: &Scale, y: &Scale, class: &str) -> String {
    if curve.q1.iter().zip(&curve.q3).all(|(a, b)| b - a < 0.05) {
        return String::new();
    }
    let points = |values: &[f64]| times.iter().zip(values).map(|(&t, &v)| (x.at(t), y.at(v))).collect::<Vec<_>>();
    let there = svg::steps(points(&curve.q3).into_iter());
    // The way back: the lower edge from right to left, each level before its time.
    let mut back = String::new();
    let lower = points(&curve.q1);
    for i in (0..lower.len()).rev() {
        if i + 1 == lower.len() || (lower[i].1 - lower[i + 1].1).abs() > 0.05 {
            let from = if i + 1 == lower.len() { lower[i].0 } else { lower[i + 1].0 };
            let _ = write!(back, "L{from:.1} {:.1}", lower[i].1);
        }
    }
    if let Some(first) = lower.first() {
        let _ = write!(back, "H{:.1}", first.0);
    }
    format!("<path class=\"band {class}\" d=\"{there}{back}Z\"/>\n")
}

/// Draws the names at the ends of the lines, with the final values.
fn labels(grid: &Grid, curves: &[Curve], y: &Scale, right: f64, limits: (f64, f64)) -> String {
    let mut order: Vec<_> = curves.iter().collect();
    order.sort_by(|a, b| b.end().total_cmp(&a.end()));
    let wanted: Vec<_> = order.iter().map(|c| y.at(c.end())).collect();
    let places = svg::spread_labels(&wanted, LINE, (limits.0 + 2.0, limits.1));
    let mut out = String::new();
    for ((curve, from), to) in order.iter().zip(&wanted).zip(places) {
        let class = style(grid, curve.tool);
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"M{:.1} {from:.1}L{:.1} {to:.1}H{:.1}\"/>",
            right,
            right + 16.0,
            right + 38.0
        );
        let bold = if curve.tool == grid.reference { "s b" } else { "s" };
        let text = format!("{} {}", number(Some(curve.end()), 1), grid.tools[curve.tool].name);
        out.push_str(&svg::text(right + 44.0, to + 4.0, bold, &text));
    }
    out
}

/// Plots each trial as a dot: its final mean over functions, with the mean of these, by which the tools are ranked as
/// in the table. `None` if no tool has a trial of all functions.
pub fn trials(grid: &Grid) -> Option<String> {
    let mut rows: Vec<_> = (0..grid.tools.len())
        .map(|t| (t, verdict::means(&grid.common(&[t]), t)))
        .filter(|(_, means)| !means.is_empty())
        .collect();
    rows.sort_by(|(_, a), (_, b)| mean(b).partial_cmp(&mean(a)).unwrap_or(std::cmp::Ordering::Equal));
    let all = || rows.iter().flat_map(|(_, m)| m.iter().copied());
    let (lowest, highest) = (all().min_by(f64::total_cmp)?, all().max_by(f64::total_cmp)?);
    let step = svg::round_step(((highest - lowest) / 8.0).max(0.1));
    let domain = (((lowest / step).floor() * step).max(0.0), ((highest / step).ceil() * step).max(step));
    let (width, height) = (980.0, 22.0 * rows.len() as f64 + 60.0);
    let (left, right, bottom) = (name_width(grid) + 20.0, width - 60.0, height - 46.0);
    let x = Scale::linear(domain, (left, right));
    let mut out = svg::open("plot", width, height, "Every trial at the end");
    for v in x.ticks(8) {
        out.push_str(&svg::line((x.at(v), 6.0), (x.at(v), bottom), "grid"));
        out.push_str(&svg::text(x.at(v), bottom + 18.0, "m", &svg::label(v)));
    }
    out.push_str(&svg::line((left, bottom), (right, bottom), "axis"));
    let title = "branches covered at the end, mean over functions, %";
    out.push_str(&svg::text(f64::midpoint(left, right), height - 6.0, "m", title));
    for (i, (tool, means)) in rows.iter().enumerate() {
        out.push_str(&dots(grid, *tool, means, &x, 18.0 + 22.0 * i as f64, (left, right)));
    }
    Some(out + "</svg>\n")
}

fn dots(grid: &Grid, tool: usize, means: &[f64], x: &Scale, y: f64, (left, right): (f64, f64)) -> String {
    let class = style(grid, tool);
    let bold = |align: &str| if tool == grid.reference { format!("{align} b") } else { align.to_owned() };
    let mut out = svg::text(left - 10.0, y + 4.0, &bold("e"), &grid.tools[tool].name);
    for (i, &value) in means.iter().enumerate() {
        // Equal values would cover each other.
        let shift = [0.0, -3.5, 3.5][i % 3];
        let _ = writeln!(out, "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>", x.at(value), y + shift);
    }
    if let Some(m) = mean(means) {
        out.push_str(&svg::line((x.at(m), y - 8.0), (x.at(m), y + 8.0), "mean"));
        out.push_str(&svg::text(right + 14.0, y + 4.0, &bold("s"), &number(Some(m), 1)));
    }
    out
}

/// Plots coverage over time on one function, without names.
pub fn small(grid: &Grid, row: &Row, times: &[f64]) -> String {
    let curves = curves::of_function(row, times);
    let (width, height, left, right, top, bottom) = (260.0, 150.0, 34.0, 252.0, 8.0, 126.0);
    let highest = 100.0 * row.best as f64 / row.total.max(1) as f64;
    let lowest = curves.iter().map(Curve::end).fold(highest, f64::min);
    let x = Scale::log((times[0], times[times.len() - 1]), (left, right));
    let y = Scale::linear((limits(lowest, highest).0, highest.max(5.0)), (bottom, top));
    let mut out = svg::open("small", width, height, &row.info.name);
    let (low, high) = y.domain();
    for v in [low, high] {
        out.push_str(&svg::line((left, y.at(v)), (right, y.at(v)), "grid"));
        out.push_str(&svg::text(left - 5.0, y.at(v) + 4.0, "e", &format!("{v:.0}")));
    }
    for v in x.ticks(4) {
        out.push_str(&svg::line((x.at(v), bottom), (x.at(v), bottom + 4.0), "axis"));
        out.push_str(&svg::text(x.at(v), bottom + 17.0, "m", &svg::label(v)));
    }
    out.push_str(&svg::line((left, bottom), (right, bottom), "axis"));
    // Values below the axis are drawn on it.
    let at = |v: f64| y.at(v.max(low));
    for curve in in_front_last(grid, &curves) {
        let points = times.iter().zip(&curve.level).map(|(&t, &v)| (x.at(t), at(v)));
        let _ = writeln!(out, "<path class=\"{}\" d=\"{}\"/>", style(grid, curve.tool), svg::steps(points));
    }
    out + "</svg>\n"
}

/// A tool with its line style, for plots without names.
pub struct Key<'a> {
    /// Name of the tool.
    pub name: &'a str,
    /// SVG.
    pub line: String,
}

/// Returns the keys of all tools.
pub fn keys<'a>(grid: &Grid<'a>) -> Vec<Key<'a>> {
    let line = |tool: usize| format!("<path class=\"{}\" d=\"M1 5H29\"/></svg>", style(grid, tool));
    let key =
        |(i, tool): (usize, &&'a ToolInfo)| Key { name: &tool.name, line: svg::open("key", 30.0, 10.0, "") + &line(i) };
    grid.tools.iter().enumerate().map(key).collect()
}

//! Plots of the branches covered (or other goals reached) over time, and over evaluations. The second is for short
//! campaigns, which find everything between two points in time.

use std::fmt::Write;

use crate::{
    format::{count, seconds},
    history::History,
    model::Report,
    svg::{self, Scale},
    words::Words,
};

/// Number of colours of the style sheet; further clients reuse them.
const COLOURS: usize = 7;

const WIDTH: f64 = 980.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 70.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// The data of a plot.
struct Plot<'a> {
    title: String,
    x: Scale,
    /// Formats a value of x as a label.
    label: fn(f64) -> String,
    /// Names and points.
    curves: Vec<(&'a str, Vec<(f64, f64)>)>,
}

/// A plot as the page shows it.
pub struct Picture {
    pub title: String,
    /// The SVG text.
    pub picture: String,
}

/// Draws the plots for which there is data: over time, over evaluations, both or none.
pub fn pictures(report: &Report, history: &History) -> Vec<Picture> {
    // Clients share their finds, so the number of evaluations that several clients needed together is not known.
    let evaluations = if history.curves.len() > 1 { None } else { over_evaluations(report) };
    let total = report.branches.total as f64;
    let plots = over_time(report, history).into_iter().chain(evaluations);
    plots.map(|plot| Picture { picture: draw(&plot, total), title: plot.title }).collect()
}

/// The plot over time; `None` if no curve rises between two points in time.
fn over_time<'a>(report: &Report, history: &'a History) -> Option<Plot<'a>> {
    let end = history.end();
    let rises = |points: &[(f64, f64)]| points.first().map(|p| p.1) != points.last().map(|p| p.1);
    (end > 0.0 && history.curves.iter().any(|c| rises(&c.points))).then(|| Plot {
        title: format!("{} over time", Words::of(report.goals).title()),
        x: Scale::linear((0.0, end), (LEFT, RIGHT)),
        label: time,
        curves: history.curves.iter().map(|c| (c.client.as_str(), c.points.clone())).collect(),
    })
}

/// The plot of when each branch was first taken.
fn over_evaluations(report: &Report) -> Option<Plot<'static>> {
    let mut at: Vec<u64> = report.sites.iter().flat_map(|s| &s.branches).filter_map(|b| b.covered_at).collect();
    at.sort_unstable();
    let last = *at.last()?;
    let mut points: Vec<(f64, f64)> = at.iter().zip(1_u32..).map(|(at, n)| (*at as f64, f64::from(n))).collect();
    let end = report.evaluations.max(last).max(2) as f64;
    points.push((end, at.len() as f64));
    Some(Plot {
        title: format!("{} over evaluations", Words::of(report.goals).title()),
        x: Scale::log((1.0, end), (LEFT, RIGHT)),
        label: |n| count(n as u64),
        curves: vec![("", points)],
    })
}

/// Formats a time on the axis.
fn time(s: f64) -> String {
    if s < 100.0 { format!("{} s", svg::label(s)) } else { seconds(s) }
}

fn draw(plot: &Plot, total: f64) -> String {
    let y = Scale::linear((0.0, total.max(1.0)), (BOTTOM, TOP));
    let mut out = svg::open("plot", WIDTH, HEIGHT, &plot.title);
    for v in y.ticks(5).into_iter().chain([total]) {
        let class = if v >= total { "best" } else { "grid" };
        out.push_str(&svg::line((LEFT, y.at(v)), (RIGHT, y.at(v)), class));
    }
    for v in y.ticks(5).into_iter().filter(|v| (y.at(*v) - y.at(total)).abs() > 14.0).chain([total]) {
        out.push_str(&svg::text(LEFT - 8.0, y.at(v) + 4.0, "e", &svg::label(v)));
    }
    for v in plot.x.ticks(6) {
        out.push_str(&svg::line((plot.x.at(v), BOTTOM), (plot.x.at(v), BOTTOM + 5.0), "axis"));
        out.push_str(&svg::text(plot.x.at(v), BOTTOM + 20.0, "m", &(plot.label)(v)));
    }
    out.push_str(&svg::line((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis"));
    curves(&mut out, plot, &y);
    out + "</svg>\n"
}

/// Draws the curves, with their names at the right end.
fn curves(out: &mut String, plot: &Plot, y: &Scale) {
    let mut ends: Vec<(f64, usize)> = Vec::new();
    for (i, (_, points)) in plot.curves.iter().enumerate() {
        let Some(last) = points.last() else { continue };
        ends.push((y.at(last.1), i));
        let path = svg::steps(points.iter().map(|p| (plot.x.at(p.0), y.at(p.1))));
        let _ = writeln!(out, "<path class=\"c{}\" d=\"{path}\"/>", i % COLOURS);
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted: Vec<f64> = ends.iter().map(|e| e.0).collect();
    for (at, (_, i)) in svg::spread_labels(&wanted, 15.0, (TOP, BOTTOM)).into_iter().zip(&ends) {
        out.push_str(&svg::text(RIGHT + 8.0, at + 4.0, &format!("t{}", i % COLOURS), plot.curves[*i].0));
    }
}

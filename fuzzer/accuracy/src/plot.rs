//! Plots the largest error in each part of the domain of one argument, as SVG.

use std::{fmt::Write, path::Path};

use penfuzz_error::Error;
use penfuzz_mutators::{extremes::Peak, line, view::Kind};
use penfuzz_report::{
    literal,
    svg::{self, Scale},
};
use penfuzz_system::files::destination::Destination;

use super::{Answer, pair::Pair, value::Measure};

const WIDTH: f64 = 980.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = HEIGHT - 48.0;
/// Above this number of ulps the axis of errors is logarithmic.
const LINEAR: f64 = 20.0;
/// Maximum number of labels of the argument.
const LABELS: usize = 8;
/// Approximate number of labels of errors.
const TICKS: usize = 6;
/// Style of a plot in a file of its own; in a page it uses the style of the page.
const STYLE: &str = "<style>svg{font:13px sans-serif;background:#fff}text{fill:#333}\
    .e{text-anchor:end}.m{text-anchor:middle}\
    .grid{stroke:#ddd}.axis{stroke:#666}rect{fill:#0072b2}rect:hover{fill:#d1495b}\
    @media(prefers-color-scheme:dark){svg{background:#1b1b1b}text{fill:#ccc}\
    .grid{stroke:#333}.axis{stroke:#999}}</style>\n";

/// Checks whether a plot can be written to this file.
///
/// # Errors
/// When the function has several arguments, or the file cannot be written.
pub fn check(path: &Path, output: Option<&Path>, pair: &Pair) -> Result<Destination, Error> {
    match pair.layout().slots() {
        [_] => Destination::check("--plot", path, output),
        slots => Err(Error::new(format!("--plot needs a function of one argument; this one has {}", slots.len()))),
    }
}

/// Writes the plot (SVG): the parts with errors in order, equally wide. Parts are binades, or pieces of them.
///
/// # Errors
/// When the file cannot be written.
pub fn write(file: &Destination, pair: &Pair, answer: &Answer) -> Result<(), Error> {
    file.write(&draw(pair, &answer.peaks, STYLE))
}

/// Returns the plot; empty for a function of several arguments.
#[must_use]
pub fn draw(pair: &Pair, parts: &[Peak], style: &str) -> String {
    let [slot] = pair.layout().slots() else { return String::new() };
    let kind = slot.kind;
    let y = scale(pair, parts);
    let x = Scale::linear((0.0, parts.len().max(1) as f64), (LEFT, RIGHT));
    let unit = pair.value().unit();
    let title = format!("{}: largest errors found, {unit}", pair.function().name);
    let mut out = svg::open("plot", WIDTH, HEIGHT, &title) + style;
    out.push_str(&svg::text(LEFT, 18.0, "s", &title));
    let ticks = y.ticks(TICKS);
    for tick in ticks.iter().step_by(ticks.len() / TICKS + 1) {
        out.push_str(&svg::line((LEFT, y.at(*tick)), (RIGHT, y.at(*tick)), "grid"));
        let label = if *tick == 0.0 || (1e-3..1e5).contains(tick) { svg::label(*tick) } else { format!("{tick:.0e}") };
        out.push_str(&svg::text(LEFT - 8.0, y.at(*tick) + 4.0, "e", &label));
    }
    for (n, part) in parts.iter().enumerate() {
        bar(&mut out, kind, unit, part, x.at(n as f64), x.at(n as f64 + 1.0), y.at(part.value));
    }
    out.push_str(&svg::line((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis"));
    for n in (0..parts.len()).step_by(parts.len() / LABELS + 1) {
        let at = x.at(n as f64);
        out.push_str(&svg::line((at, BOTTOM), (at, BOTTOM + 5.0), "axis"));
        out.push_str(&svg::text(at, BOTTOM + 20.0, "m", &short(kind, line::raw(kind, parts[n].ends[0].0))));
    }
    out + "</svg>\n"
}

/// Returns the axis of errors: linear for a few ulps, otherwise logarithmic.
fn scale(pair: &Pair, parts: &[Peak]) -> Scale {
    let most = parts.iter().map(|p| p.value).fold(0.0, f64::max);
    let least = parts.iter().map(|p| p.value).fold(most, f64::min);
    let to = (BOTTOM, TOP);
    match pair.value().measure() {
        Measure::Ulp if most <= LINEAR => Scale::linear((0.0, most.max(1.0)), to),
        Measure::Ulp => Scale::log((0.1, most), to),
        Measure::Absolute | Measure::Relative => Scale::log((least.max(most * 1e-20), most), to),
    }
}

/// Returns a value with three digits.
fn short(kind: Kind, bits: u64) -> String {
    let text = literal::decimal(kind, bits);
    match text.parse::<f64>() {
        Ok(value) if value == 0.0 || (1e-3..1e5).contains(&value.abs()) => svg::label(value),
        Ok(value) => format!("{value:.2e}"),
        Err(_) => text,
    }
}

/// Appends the bar of one part, with a tooltip of its ends and error.
fn bar(out: &mut String, kind: Kind, unit: &str, part: &Peak, from: f64, to: f64, top: f64) {
    let (from, to, top) = (from.min(to), from.max(to), top.clamp(TOP, BOTTOM));
    let decimal = |position| literal::decimal(kind, line::raw(kind, position));
    let _ = writeln!(
        out,
        "<rect class=\"t0\" x=\"{from:.2}\" y=\"{top:.1}\" width=\"{:.2}\" height=\"{:.1}\">\
         <title>{} to {}: {} {unit}</title></rect>",
        (to - from - 0.3).max(0.5),
        BOTTOM - top,
        decimal(part.ends[0].0),
        decimal(part.ends[0].1),
        if part.value >= 1e-3 { format!("{:.4}", part.value) } else { format!("{:.4e}", part.value) }
    );
}

//! Draws the dashboard: headline, curve of the branches, rates, clients, finds, messages. It uses the colours of the
//! terminal, so that it is readable on light and on dark backgrounds.

use penfuzz_report::{
    format::{seconds, share},
    words::Words,
};
use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    style::{Color, Modifier, Style, Stylize},
    symbols::Marker,
    text::{Line, Span},
    widgets::{Axis, Block, Borders, Cell, Chart, Dataset, GraphType, Paragraph, Row, Sparkline, Table},
};

use super::Trail;
use crate::watch::{Client, Snapshot, lines::short};

/// Minimum number of rows for the curve and the table to be useful.
const LEAST_HEIGHT: u16 = 12;

/// Draws `now` and the history `trail` on the whole frame.
pub fn campaign(frame: &mut Frame, now: &Snapshot, trail: &Trail) {
    let area = frame.area();
    let [head, body] = Layout::vertical([Constraint::Length(4), Constraint::Min(0)]).areas(area);
    headline(frame, head, now);
    if area.height < LEAST_HEIGHT {
        return;
    }
    let clients = (now.clients.len() as u16 + 3).min(body.height / 3).max(4);
    let words = if body.height >= 20 { 8 } else { body.height / 4 };
    let [plots, table, bottom] =
        Layout::vertical([Constraint::Min(0), Constraint::Length(clients), Constraint::Length(words)]).areas(body);
    let [left, right] = Layout::horizontal([Constraint::Percentage(60), Constraint::Percentage(40)]).areas(plots);
    curve(frame, left, now, trail);
    rates(frame, right, now, trail);
    table_of_clients(frame, table, now);
    let [left, right] = Layout::horizontal([Constraint::Percentage(50); 2]).areas(bottom);
    finds(frame, left, now);
    messages(frame, right, now);
}

fn block(title: &str) -> Block<'static> {
    Block::new().borders(Borders::TOP).title(Line::from(format!(" {title} ")).bold())
}

fn headline(frame: &mut Frame, area: Rect, now: &Snapshot) {
    let (b, words) = (&now.branches, Words::of(now.goals));
    let title = format!(" penfuzz  {} ({}) ", now.function, now.target);
    let right = format!(" {}  {}  Ctrl-C ends ", now.directory, seconds(now.seconds));
    let first = format!(
        "{} of {} {} {} ({:.1} %), {} saturated, {} given up",
        b.covered,
        b.total,
        words.goals,
        words.done,
        share(b.covered, b.total),
        b.saturated,
        b.given_up
    );
    let second = Line::from(vec![
        Span::raw(format!(
            "{} evaluations, {}/s | {} kept, ",
            short(now.evaluations as f64),
            short(now.evaluations_per_second),
            now.kept
        )),
        count(now.crashes, "crashes"),
        Span::raw(", "),
        count(now.hangs, "hangs"),
        Span::raw(format!(" | last new {} {} ago", words.goal, seconds(now.since_last_find))),
    ]);
    let mut lines = vec![Line::from(first).bold(), second];
    lines.extend(warning(now));
    let block = Block::new().borders(Borders::TOP).title(Line::from(title).bold()).title(
        // The second title is truncated if there is no room for both.
        Line::from(right).alignment(Alignment::Right),
    );
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn count(n: u64, what: &str) -> Span<'static> {
    let text = Span::raw(format!("{n} {what}"));
    if n == 0 { text } else { text.red().bold() }
}

/// The current problems: finds that are not on disk, machines that are not connected.
fn warning(now: &Snapshot) -> Option<Line<'static>> {
    let mut parts = Vec::new();
    if now.unwritten > 0 {
        parts.push(format!("{} finds are not on disk yet", now.unwritten));
    }
    if let Some(broker) = &now.broker {
        let lost = broker.peers.iter().filter(|p| !p.connected).count();
        if lost > 0 {
            parts.push(format!("{lost} of {} other machines not connected", broker.peers.len()));
        }
    }
    (!parts.is_empty()).then(|| Line::from(parts.join(", ")).yellow())
}

fn curve(frame: &mut Frame, area: Rect, now: &Snapshot, trail: &Trail) {
    let (begin, end) = (trail.covered.first().map_or(0.0, |p| p.0), now.seconds.max(0.01));
    let total = (now.branches.total as f64).max(1.0);
    let points = steps(&trail.covered, end);
    let data = Dataset::default()
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(Style::new().fg(Color::Cyan))
        .data(&points);
    let x = Axis::default().bounds([begin, end]).labels([seconds(begin), seconds(end)]);
    let y = Axis::default().bounds([0.0, total]).labels(["0".to_owned(), now.branches.total.to_string()]);
    let chart =
        Chart::new(vec![data]).x_axis(x).y_axis(y).block(block(&format!("{} over time", Words::of(now.goals).title())));
    frame.render_widget(chart, area);
}

/// The corners of a step function: each value holds until the next one, and the last until `end`.
fn steps(points: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::with_capacity(2 * points.len() + 1);
    for &(x, y) in points {
        if let Some(&(_, before)) = out.last() {
            out.push((x, before));
        }
        out.push((x, y));
    }
    if let Some(&(_, last)) = out.last() {
        out.push((end, last));
    }
    out
}

/// Draws the rates of the clients, one below the other, as far as there is room.
fn rates(frame: &mut Frame, area: Rect, now: &Snapshot, trail: &Trail) {
    let block = block("evaluations per second");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let highest = trail.rates.values().flatten().copied().max().unwrap_or(0);
    let name_width = now.clients.iter().map(|c| shown_name(c).chars().count()).max().unwrap_or(0) as u16;
    let height = (inner.height / (now.clients.len() as u16).max(1)).clamp(1, 3);
    for (client, y) in now.clients.iter().zip((inner.y..inner.bottom()).step_by(height.into())) {
        let row = Rect { y, height: height.min(inner.bottom() - y), ..inner };
        let [name, line, rate] =
            Layout::horizontal([Constraint::Length(name_width + 1), Constraint::Min(0), Constraint::Length(7)])
                .areas(row);
        frame.render_widget(Paragraph::new(shown_name(client)), name);
        let known = trail.rates.get(&client.name);
        let skip = known.map_or(0, |r| r.len().saturating_sub(line.width.into()));
        let data: Vec<u64> = known.into_iter().flatten().skip(skip).copied().collect();
        frame.render_widget(Sparkline::default().data(&data).max(highest).style(Style::new().fg(Color::Green)), line);
        let text = format!("{:>6}", short(client.evaluations_per_second));
        frame.render_widget(Paragraph::new(text).right_aligned(), rate);
    }
}

/// The displayed name of a client; `all` for a single client, which has no name.
fn shown_name(client: &Client) -> &str {
    if client.name.is_empty() { "all" } else { &client.name }
}

const COLUMNS: [(&str, u16); 12] = [
    ("client", 8),
    ("role", 12),
    ("core", 4),
    ("pid", 7),
    ("state", 9),
    ("restarts", 8),
    ("evals", 6),
    ("evals/s", 7),
    ("covered", 7),
    ("kept", 5),
    ("crashes", 7),
    ("hangs", 5),
];

fn table_of_clients(frame: &mut Frame, area: Rect, now: &Snapshot) {
    let right = |text: &str| Cell::from(Line::from(text.to_owned()).right_aligned());
    let is_number = |i: usize| i == 2 || i == 3 || i >= 5;
    let cell = |i: usize, text: &str| if is_number(i) { right(text) } else { Cell::from(text.to_owned()) };
    let head = Row::new(COLUMNS.iter().enumerate().map(|(i, (name, _))| cell(i, name))).add_modifier(Modifier::DIM);
    let rows = now.clients.iter().map(|c| {
        let cells = cells(c);
        let row = Row::new(cells.iter().enumerate().map(|(i, text)| cell(i, text)));
        if c.is_alive() { row } else { row.yellow() }
    });
    let hidden = now.clients.len().saturating_sub(usize::from(area.height.saturating_sub(2)));
    let title = if hidden > 0 { format!("clients ({hidden} more)") } else { "clients".to_owned() };
    let widths = COLUMNS.map(|(_, width)| Constraint::Length(width));
    frame.render_widget(Table::new(rows, widths).header(head).block(block(&title)), area);
}

fn cells(c: &Client) -> [String; 12] {
    let none = || "-".to_owned();
    [
        shown_name(c).to_owned(),
        c.role.clone(),
        c.core.map_or_else(none, |n| n.to_string()),
        if c.pid == 0 { none() } else { c.pid.to_string() },
        c.state.clone(),
        c.restarts.to_string(),
        short(c.evaluations as f64),
        short(c.evaluations_per_second),
        c.covered.to_string(),
        c.kept.to_string(),
        c.crashes.to_string(),
        c.hangs.to_string(),
    ]
}

fn finds(frame: &mut Frame, area: Rect, now: &Snapshot) {
    let lines = now.finds.iter().rev().map(|f| {
        let text = format!("{:>10}  {:<4} {}", seconds(f.seconds), f.client, f.what);
        if f.what.contains("crash") || f.what.contains("hang") { Line::from(text).red() } else { Line::from(text) }
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).block(block("last finds")), area);
}

fn messages(frame: &mut Frame, area: Rect, now: &Snapshot) {
    let lines: Vec<Line> = now.messages.iter().rev().map(|m| Line::from(m.as_str())).collect();
    frame.render_widget(Paragraph::new(lines).block(block("messages")), area);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::watch::example;

    fn picture(now: &Snapshot, width: u16, height: u16) -> String {
        let mut trail = Trail::default();
        let begun = Instant::now();
        for i in 0..40_u32 {
            let mut then = now.clone();
            (then.seconds, then.branches.covered) = (f64::from(i) * 5.0, 10 + i as usize / 5);
            trail.note(&then, begun + std::time::Duration::from_secs(u64::from(i)));
        }
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| campaign(frame, now, &trail)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn dashboard_of_a_farm() {
        insta::assert_snapshot!(picture(&example::farm(), 100, 32));
    }

    #[test]
    fn any_size_of_terminal_will_do() {
        let mut now = example::farm();
        now.clients = (0..200).map(|i| Client { name: format!("c{i}"), ..now.clients[0].clone() }).collect();
        for (width, height) in [(1, 1), (1, 50), (200, 1), (5, 5), (20, 12), (40, 13), (300, 100)] {
            picture(&now, width, height);
            picture(&Snapshot::default(), width, height);
        }
    }

    #[test]
    fn a_tiny_terminal_has_the_headline() {
        assert!(picture(&example::farm(), 70, 5).contains("17 of 20 branches covered (85.0 %)"));
    }

    #[test]
    fn a_curve_is_made_of_steps() {
        assert_eq!(steps(&[(0.0, 1.0), (2.0, 3.0)], 5.0), [(0.0, 1.0), (2.0, 1.0), (2.0, 3.0), (5.0, 3.0)]);
        assert_eq!(steps(&[], 5.0), []);
    }
}

//! A table that can be rendered as Markdown, HTML or plain text.

use std::fmt::Write;

use askama::Template;
use penfuzz_report::format::markdown;
use penfuzz_system::console;

/// A head and rows of cells, rendered as Markdown ([`Table::markdown`]), plain text ([`Table::plain`]) or, by its
/// template, HTML. The first column is aligned to the left, the others to the right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Template)]
#[template(path = "table.html")]
pub struct Table {
    /// The head.
    pub head: Vec<String>,
    /// Each as long as the head.
    pub rows: Vec<Vec<Cell>>,
    /// Number of rows at the end that are the foot.
    pub feet: usize,
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// Whether it is emphasized.
    pub strong: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, strong: false }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// Returns a cell that is emphasized if `strong`.
    pub fn strong_if(text: String, strong: bool) -> Self {
        Self { text, strong }
    }
}

impl Table {
    /// Returns a table without rows.
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&h| h.to_owned()).collect(), ..Self::default() }
    }

    /// Appends a row.
    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// Removes the columns that have no figure in any row: each cell is empty or a dash. The first column stays, and so
    /// do all columns of a table without rows.
    pub fn without_empty(mut self) -> Self {
        let has_figure = |column: usize| self.rows.iter().any(|row| !["", "-"].contains(&row[column].text.as_str()));
        let keep: Vec<bool> = (0..self.head.len()).map(|i| i == 0 || self.rows.is_empty() || has_figure(i)).collect();
        self.head = kept(self.head, &keep);
        self.rows = self.rows.into_iter().map(|row| kept(row, &keep)).collect();
        self
    }

    /// Returns Markdown that ends with a newline.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = line(self.head.iter().map(|h| markdown(h)).collect());
        out.push_str(&line((0..self.head.len()).map(|i| if i == 0 { "---" } else { "---:" }.to_owned()).collect()));
        for row in &self.rows {
            let cell = |c: &Cell| {
                let text = markdown(&c.text);
                if c.strong && !text.is_empty() { format!("**{text}**") } else { text }
            };
            out.push_str(&line(row.iter().map(cell).collect()));
        }
        out
    }

    /// The rows above the foot, for the template.
    fn body(&self) -> &[Vec<Cell>] {
        &self.rows[..self.rows.len() - self.feet]
    }

    /// The last rows, for the template.
    fn foot(&self) -> &[Vec<Cell>] {
        &self.rows[self.rows.len() - self.feet..]
    }

    /// Returns text for a terminal, with columns two blanks apart.
    pub fn plain(&self) -> String {
        let shown = |c: &Cell| Cell { text: console::shown(&c.text).into_owned(), ..c.clone() };
        let rows: Vec<Vec<Cell>> = self.rows.iter().map(|r| r.iter().map(shown).collect()).collect();
        let head: Vec<Cell> = self.head.iter().map(|h| Cell::from(h.as_str())).collect();
        let lines = || std::iter::once(&head).chain(&rows);
        let width = |i: usize| lines().map(|l| l[i].text.chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..head.len()).map(width).collect();
        let mut out = String::new();
        for line in lines() {
            let mut text = format!("{:<w$}", line[0].text, w = widths[0]);
            for (cell, w) in line.iter().zip(&widths).skip(1) {
                let _ = write!(text, "  {:>w$}", cell.text);
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out
    }
}

/// Returns the cells of the columns to keep.
fn kept<T>(cells: Vec<T>, keep: &[bool]) -> Vec<T> {
    cells.into_iter().zip(keep).filter(|(_, keep)| **keep).map(|(cell, _)| cell).collect()
}

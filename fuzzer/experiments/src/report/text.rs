//! Figures and names as text.

pub use penfuzz_app::report::markup::escape;

/// A number with so many digits behind the point; a dash for what is not known.
pub fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"))
}

/// A p-value: two significant digits, or three behind the point.
pub fn p_value(p: Option<f64>) -> String {
    match p {
        None => "-".to_owned(),
        Some(p) if p < 0.001 => format!("{p:.1e}"),
        Some(p) => format!("{p:.3}"),
    }
}

/// A count with three significant digits; a dash for what is not known.
pub fn count(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| penfuzz_app::report::summary::count(v.round() as u64))
}

/// `1 function`, `2 functions`.
pub fn plural(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

/// Text in a Markdown table: it neither ends the cell nor marks anything up.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '`' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// On one line.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

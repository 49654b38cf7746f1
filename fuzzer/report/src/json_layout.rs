//! The layout of `report.json`: objects are indented, and an array that holds no object stands on one line. An indented
//! list of pairs takes five times the space, and most of a large report are pairs of numbers.

use std::io::{self, Write};

use serde_json::ser::{CompactFormatter, Formatter};

/// An object or array that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Object,
    /// An array, and whether it holds an object.
    Array(bool),
}

/// Writes the layout. For one value.
#[derive(Debug, Default)]
pub(super) struct Layout {
    levels: Vec<Level>,
    is_empty: bool,
}

impl Layout {
    fn new_line<W: ?Sized + Write>(&self, to: &mut W) -> io::Result<()> {
        to.write_all(b"\n")?;
        self.levels.iter().try_for_each(|_| to.write_all(b"  "))
    }

    /// Ends the innermost level, with a line break before its last character if its content has lines of its own.
    fn end<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let level = self.levels.pop();
        if !self.is_empty && level != Some(Level::Array(false)) {
            self.new_line(to)?;
        }
        self.is_empty = false;
        Ok(())
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.levels.push(Level::Array(false));
        self.is_empty = true;
        CompactFormatter.begin_array(to)
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to)?;
        CompactFormatter.end_array(to)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        let separator = if self.levels.last() == Some(&Level::Array(true)) { "," } else { ", " };
        if first { Ok(()) } else { to.write_all(separator.as_bytes()) }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_empty = false;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if let Some(Level::Array(holds_object)) = self.levels.last_mut() {
            *holds_object = true;
            self.new_line(to)?;
        }
        self.levels.push(Level::Object);
        self.is_empty = true;
        CompactFormatter.begin_object(to)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to)?;
        CompactFormatter.end_object(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        self.new_line(to)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_empty = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Serializer, json};

    use super::*;

    #[test]
    fn only_objects_take_lines() {
        let value = json!({"a": [[0, 1], [2, 3]], "b": [{"c": []}, {}], "d": ["x", null], "e": {}});
        let mut text = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut text, Layout::default())).expect("plain data");
        let expected = r#"{
  "a": [[0, 1], [2, 3]],
  "b": [
    {
      "c": []
    },
    {}
  ],
  "d": ["x", null],
  "e": {}
}"#;
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }
}

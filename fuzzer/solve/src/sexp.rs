//! Parses the text of SMT-LIB into expressions: symbols, literals, lists.

use penfuzz_error::Error;

/// Maximum nesting depth of lists.
const DEEPEST: usize = 20_000;

/// The index of an expression.
pub type Id = usize;

/// An expression.
#[derive(Debug)]
pub struct Expr<'a> {
    /// The line on which it begins, from 1.
    pub line: u32,
    /// Its kind and contents.
    pub kind: Kind<'a>,
}

/// The kinds of expressions.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// Everything except lists, strings and quoted symbols, as it is written.
    Atom(&'a str),
    /// A quoted symbol, without its bars.
    Quoted(&'a str),
    /// A string, without its quotes.
    Text(&'a str),
    /// A list.
    List(Vec<Id>),
}

/// All expressions of a text.
#[derive(Debug, Default)]
pub struct Exprs<'a> {
    all: Vec<Expr<'a>>,
    /// Expressions outside of lists.
    pub top: Vec<Id>,
}

/// An error with its line.
pub fn at(line: u32, message: impl core::fmt::Display) -> Error {
    Error::new(format!("line {line}: {message}"))
}

impl<'a> Exprs<'a> {
    /// Parses a text.
    ///
    /// # Errors
    /// When parentheses, bars or quotes do not match, or lists are nested too deeply.
    pub fn read(text: &'a str) -> Result<Self, Error> {
        let mut me = Self::default();
        let mut open: Vec<(u32, Vec<Id>)> = Vec::new();
        let mut tokens = Tokens { rest: text, line: 1 };
        while let Some((line, token)) = tokens.next()? {
            let kind = match token {
                Token::Open if open.len() == DEEPEST => {
                    return Err(at(line, format_args!("more than {DEEPEST} nested lists")));
                }
                Token::Open => {
                    open.push((line, Vec::new()));
                    continue;
                }
                Token::Close => {
                    let (begun, list) = open.pop().ok_or_else(|| at(line, "a `)` without its `(`"))?;
                    me.add(begun, Kind::List(list), &mut open);
                    continue;
                }
                Token::Other(kind) => kind,
            };
            me.add(line, kind, &mut open);
        }
        match open.last() {
            Some((line, _)) => Err(at(*line, "the `(` has no `)`")),
            None => Ok(me),
        }
    }

    fn add(&mut self, line: u32, kind: Kind<'a>, open: &mut [(u32, Vec<Id>)]) {
        let id = self.all.len();
        self.all.push(Expr { line, kind });
        open.last_mut().map_or(&mut self.top, |list| &mut list.1).push(id);
    }

    /// The number of expressions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if there are no expressions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The expression with this index.
    #[must_use]
    pub fn get(&self, id: Id) -> &Expr<'a> {
        &self.all[id]
    }

    /// The line on which the expression begins.
    #[must_use]
    pub fn line(&self, id: Id) -> u32 {
        self.all[id].line
    }

    /// The elements of a list; `None` for other expressions.
    #[must_use]
    pub fn list(&self, id: Id) -> Option<&[Id]> {
        if let Kind::List(list) = &self.all[id].kind { Some(list) } else { None }
    }

    /// The text of a symbol or literal; `None` for other expressions.
    #[must_use]
    pub fn atom(&self, id: Id) -> Option<&'a str> {
        match self.all[id].kind {
            Kind::Atom(text) | Kind::Quoted(text) => Some(text),
            _ => None,
        }
    }

    /// The expression for messages, shortened.
    #[must_use]
    pub fn shown(&self, id: Id) -> String {
        match &self.all[id].kind {
            Kind::Atom(text) => text.chars().take(60).collect(),
            Kind::Quoted(text) => format!("|{}|", text.chars().take(60).collect::<String>()),
            Kind::Text(_) => "a string".to_owned(),
            Kind::List(list) => {
                let part = |id: &Id| self.list(*id).map_or_else(|| self.shown(*id), |_| "(…)".to_owned());
                let parts: Vec<_> = list.iter().take(4).map(part).collect();
                format!("({}{})", parts.join(" "), if list.len() > 4 { " …" } else { "" })
            }
        }
    }
}

enum Token<'a> {
    Open,
    Close,
    Other(Kind<'a>),
}

struct Tokens<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Result<Option<(u32, Token<'a>)>, Error> {
        self.skip();
        let line = self.line;
        let Some(first) = self.rest.bytes().next() else { return Ok(None) };
        let token = match first {
            b'(' => Token::Open,
            b')' => Token::Close,
            b'|' => Token::Other(Kind::Quoted(self.until('|', line)?)),
            b'"' => Token::Other(Kind::Text(self.text(line)?)),
            _ => {
                let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ';' | '"' | '|');
                let end = self.rest.find(ends).unwrap_or(self.rest.len());
                Token::Other(Kind::Atom(self.take(end)))
            }
        };
        if matches!(token, Token::Open | Token::Close) {
            self.take(1);
        }
        Ok(Some((line, token)))
    }

    fn skip(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if !self.rest.starts_with(';') {
                return;
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(end);
        }
    }

    fn take(&mut self, n: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(n);
        self.line += taken.bytes().filter(|b| *b == b'\n').count() as u32;
        self.rest = rest;
        taken
    }

    /// Takes the text between this quote and the next.
    fn until(&mut self, quote: char, line: u32) -> Result<&'a str, Error> {
        let end = self.rest[1..].find(quote).ok_or_else(|| at(line, format_args!("the `{quote}` has no end")))?;
        let taken = self.take(end + 2);
        Ok(&taken[1..=end])
    }

    /// Takes a string. Within it, two quotes stand for one.
    fn text(&mut self, line: u32) -> Result<&'a str, Error> {
        let all = self.rest;
        self.until('"', line)?;
        while self.rest.starts_with('"') {
            self.until('"', line)?;
        }
        Ok(&all[1..all.len() - self.rest.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_strings_and_comments_are_read() {
        let read = Exprs::read("; (\n(set-info :source |a (\n b|) \"say \"\"no\"\" (\" x").unwrap();
        let list = read.list(read.top[0]).unwrap();
        assert_eq!(read.get(list[2]).kind, Kind::Quoted("a (\n b"));
        assert_eq!(read.get(read.top[1]).kind, Kind::Text("say \"\"no\"\" ("));
        assert_eq!((read.atom(read.top[2]), read.line(read.top[2])), (Some("x"), 3));
    }

    #[test]
    fn unbalanced_delimiters_are_reported_with_their_line() {
        for (text, message) in [
            ("(a\n(b", "line 2: the `(` has no `)`"),
            ("(a)\n)", "line 2: a `)` without its `(`"),
            ("\n|a", "line 2: the `|` has no end"),
            ("\"a", "line 1: the `\"` has no end"),
        ] {
            assert_eq!(Exprs::read(text).unwrap_err().to_string(), message);
        }
        let deep = "(".repeat(DEEPEST + 1);
        assert!(Exprs::read(&deep).unwrap_err().to_string().contains("nested lists"));
    }
}

//! The HTML pages in a real browser, headless Chromium: the script runs, links lead to their lines, and the page is not
//! blank.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Dir, skip};

/// Time limit for Chromium, in seconds.
const PATIENCE: &str = "60";

/// Returns the first of these programs that runs here; `None` if none does, and the test is skipped.
fn browser() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs);
    if found.is_none() {
        skip("the program chromium (package chromium)", "no such program");
    }
    found
}

/// A browser with its own directory for its files.
struct Browser<'a> {
    dir: &'a Dir,
    program: &'static str,
}

impl Browser<'_> {
    fn run(&self, page: &Path, fragment: &str, what: &str) -> String {
        let mut command = Command::new("timeout");
        command
            .args([
                PATIENCE,
                self.program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args(["--no-first-run", "--window-size=800,600", "--virtual-time-budget=3000"])
            .arg(format!("--user-data-dir={}", self.dir.path("profile").display()))
            .arg(what)
            .arg(format!("file://{}{fragment}", page.display()))
            .env("HOME", self.dir.path(""));
        self.dir.other(&mut command)
    }

    /// Returns the document after its scripts have run.
    fn document(&self, page: &Path, fragment: &str) -> String {
        self.run(page, fragment, "--dump-dom")
    }

    /// Returns the number of different bytes in the uncompressed picture of a page. Each byte is a colour or the
    /// difference between two neighbours, so a picture of one colour has only a few.
    fn colours(&self, page: &Path) -> usize {
        let picture = self.dir.path("picture.png");
        self.run(page, "", &format!("--screenshot={}", picture.display()));
        let count = self.dir.other(Command::new("python3").arg("-c").arg(COLOURS).arg(&picture));
        count.trim().parse().unwrap_or_else(|e| panic!("{e}: {count}"))
    }
}

/// Reads a PNG file as specified in ISO/IEC 15948: a signature, then chunks of length, type, data and checksum.
const COLOURS: &str = r#"
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
at, pixels = 8, b""
while at < len(data):
    size, = struct.unpack(">I", data[at:at + 4])
    kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + size]
    if kind == b"IHDR":
        assert struct.unpack(">II", body[:8]) == (800, 600), body
    if kind == b"IDAT":
        pixels += body
    at += 12 + size
assert kind == b"IEND", kind
print(len(set(zlib.decompress(pixels))))
"#;

/// Larger than the number for a page of one colour, which `a_blank_page_has_few_colours` measures, and smaller than the
/// number for a line of text.
const FEW: usize = 32;

/// Writes a copy of the page next to it, with a script at its end that simulates the user's actions.
fn with_script(dir: &Dir, page: &str, script: &str) -> PathBuf {
    let text = fs::read_to_string(dir.path(page)).expect("there is a page");
    let end = text.rfind("</body>").expect("the page has a body");
    let copy = Path::new(page).with_file_name("copy.html");
    dir.file(&copy.to_string_lossy(), format!("{}<script>{script}</script>{}", &text[..end], &text[end..]))
}

const SUITE: &str = r#"name = "pages"
sources = "sources"
[[target]]
name = "b"
file = "b.c"
function = "b"
[[target]]
name = "a"
file = "a.c"
function = "a"
[[target]]
name = "c"
file = "c.c"
function = "c"
"#;

/// Runs a suite of functions with 4, 2 and 6 branches.
fn suite() -> Dir {
    let dir = Dir::new();
    dir.file("sources/b.c", "int b(int x) { if (x > 3) return 1; if (x < -3) return 2; return 0; }\n");
    dir.file("sources/a.c", "int a(int x) { if (x > 3) return 1; return 0; }\n");
    dir.file(
        "sources/c.c",
        "int c(int x) { if (x > 3) return 1; if (x < -3) return 2; if (x == 0) return 3; return 0; }\n",
    );
    dir.file("suite.toml", SUITE);
    dir.penfuzz("suite suite.toml -o out --max-evals 5000 -q").exits(0);
    dir
}

/// Returns the functions of the rows in document order, and the column headers by which the table is sorted.
fn rows(document: &str) -> (Vec<&str>, Vec<&str>) {
    // The style sheet contains the same words, so only the body is searched.
    let document = document.split_once("<body").map_or("", |(_, body)| body);
    let behind = |text: &'static str| document.split(text).skip(1).filter_map(|rest| rest.split(['"', '/']).next());
    (behind("<a href=\"./").collect(), behind("aria-sort=\"").filter(|order| *order != "none").collect())
}

#[test]
fn the_rows_of_a_suite_are_sorted() {
    let Some(program) = browser() else { return };
    let dir = suite();
    let browser = Browser { dir: &dir, program };
    let page = dir.path("out/report.html");
    assert_eq!(rows(&browser.document(&page, "")), (vec!["b", "a", "c"], vec![]), "the order of the suite");
    // The page of a running suite keeps the sort order in the fragment when it reloads itself.
    assert_eq!(rows(&browser.document(&page, "#-1")), (vec!["c", "b", "a"], vec!["descending"]));
    let click = "document.querySelectorAll('th button')[COLUMN].click();";
    let clicked = with_script(&dir, "out/report.html", &click.replace("COLUMN", "1"));
    assert_eq!(rows(&browser.document(&clicked, "")), (vec!["a", "b", "c"], vec!["ascending"]));
    let clicked = with_script(&dir, "out/report.html", &click.replace("COLUMN", "0").repeat(2));
    assert_eq!(rows(&browser.document(&clicked, "")), (vec!["c", "b", "a"], vec!["descending"]));
    assert!(browser.colours(&page) > FEW, "something is drawn");
}

/// A click on the name of a function opens its page.
#[test]
fn a_row_of_a_suite_leads_to_its_function() {
    let Some(program) = browser() else { return };
    let dir = suite();
    let clicked = with_script(&dir, "out/report.html", "document.querySelectorAll('tbody a')[1].click();");
    let document = Browser { dir: &dir, program }.document(&clicked, "");
    assert!(document.contains("<title>a (") && document.contains("int a(int x)"), "the page of a: {document}");
}

/// Follows the first link of the open branches, and stores the position of the line on the screen.
const FOLLOW: &str = "
const seen = (row) => { const box = row.getBoundingClientRect(); \
    return box.top >= 0 ? box.bottom <= innerHeight : false; };
const link = document.querySelector('table.open a');
const before = seen(document.querySelector(link.getAttribute('href')));
addEventListener('hashchange', () => setTimeout(() => {
  const row = document.querySelector(':target');
  document.title = [before, seen(row), row.cells[0].textContent, row.cells[2].textContent].join('|');
}, 100));
link.click();
";

#[test]
fn a_link_leads_to_its_line() {
    let Some(program) = browser() else { return };
    let dir = Dir::new();
    // Enough lines to make the page longer than the screen.
    let lines: Vec<_> = (0..60).map(|i| format!("  if (x == {i}) return {i};\n")).collect();
    let lines = lines.concat();
    let hopeless = "  if (x * x == 7) return -1;\n";
    let target = dir.file("long.c", format!("int many(int x) {{\n{lines}{hopeless}  return 99;\n}}\n"));
    dir.fuzz(target, "--max-evals 50000").exits(0);
    let browser = Browser { dir: &dir, program };
    let clicked = with_script(&dir, "out/report.html", FOLLOW);
    let document = browser.document(&clicked, "");
    let title = document.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or_default();
    assert_eq!(title, format!("false|true|62|{}", hopeless.trim_end()), "{document}");
    assert!(browser.colours(&dir.path("out/report.html")) > FEW, "something is drawn");
}

#[test]
fn a_blank_page_has_few_colours() {
    let Some(program) = browser() else { return };
    let dir = Dir::new();
    let page = dir.file("blank.html", "<!DOCTYPE html><body style=\"background: #0072b2\"></body>");
    let n = Browser { dir: &dir, program }.colours(&page);
    assert!((1..=FEW).contains(&n), "{n} different bytes");
}

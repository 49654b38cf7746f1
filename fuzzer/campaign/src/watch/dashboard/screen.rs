//! Takes over the terminal on standard error, and restores it at the end.

use std::{
    io::{self, Stderr},
    mem::{ManuallyDrop, MaybeUninit},
};

use ratatui::{
    Frame, Terminal, TerminalOptions, Viewport,
    backend::CrosstermBackend,
    crossterm::{
        cursor::Show,
        execute,
        terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen},
    },
    layout::Rect,
};

/// The terminal while the dashboard uses it. Dropping it restores the terminal.
pub struct Screen {
    /// Never dropped: if the terminal no longer exists, ratatui's destructor prints that to standard error, which is
    /// this terminal, and `eprintln!` panics there. The buffers, about 100 KiB for each size that the terminal has had,
    /// stay until the process ends.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stderr>>>,
    size: (u16, u16),
    _no_echo: Option<NoEcho>,
}

impl Screen {
    /// Switches to the alternate screen, and disables the echo of keys.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn take() -> io::Result<Self> {
        let no_echo = NoEcho::new();
        execute!(io::stderr(), EnterAlternateScreen)?;
        let size = size();
        match terminal(size) {
            Ok(terminal) => Ok(Self { terminal: ManuallyDrop::new(terminal), size, _no_echo: no_echo }),
            Err(e) => {
                let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
                Err(e)
            }
        }
    }

    /// Draws a picture in the current size of the terminal.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame)) -> io::Result<()> {
        let size = size();
        if size != self.size {
            (self.terminal, self.size) = (ManuallyDrop::new(terminal(size)?), size);
        }
        self.terminal.draw(picture).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
    }
}

/// Creates a terminal of a fixed size. Otherwise ratatui would get the size from crossterm, which starts programs if
/// the terminal does not report it, and opens the terminal to read keys.
fn terminal((width, height): (u16, u16)) -> io::Result<Terminal<CrosstermBackend<Stderr>>> {
    execute!(io::stderr(), Clear(ClearType::All))?;
    let viewport = Viewport::Fixed(Rect::new(0, 0, width, height));
    Terminal::with_options(CrosstermBackend::new(io::stderr()), TerminalOptions { viewport })
}

/// Columns and rows of the terminal; 80 and 24 if it does not report them.
fn size() -> (u16, u16) {
    let mut size = MaybeUninit::<libc::winsize>::zeroed();
    // SAFETY: the call fills in the given structure, which is valid when all zero.
    let size = unsafe {
        libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, size.as_mut_ptr());
        size.assume_init()
    };
    if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) }
}

/// The mode of the terminal before its echo was disabled: echoed keys would spoil the picture. The terminal otherwise
/// stays in its ordinary mode, so that all keys keep their meaning. Dropping this restores the mode.
struct NoEcho(libc::termios);

impl NoEcho {
    /// Disables the echo. `None` if this process may not change the terminal: then keys may spoil the picture.
    fn new() -> Option<Self> {
        let mut old = MaybeUninit::<libc::termios>::zeroed();
        // SAFETY: the calls only read; the structure is used only after it was filled in.
        let old = unsafe {
            // A process in the background is stopped when it changes its terminal.
            if libc::tcgetpgrp(libc::STDERR_FILENO) != libc::getpgrp()
                || libc::tcgetattr(libc::STDERR_FILENO, old.as_mut_ptr()) != 0
            {
                return None;
            }
            old.assume_init()
        };
        let mut new = old;
        new.c_lflag &= !libc::ECHO;
        // SAFETY: the structure is valid.
        (unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, &raw const new) } == 0).then_some(Self(old))
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        // SAFETY: the structure is the previous mode of the terminal.
        unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, &raw const self.0) };
    }
}

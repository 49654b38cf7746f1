//! The reference that a function is compared with.

use std::path::{Path, PathBuf};

use penfuzz_error::{Error, at};
use penfuzz_target::program::Function;

use super::{
    fpcore::{self, Core},
    libm,
};

/// A reference, as the option `--reference` names it.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// A function of `<math.h>`, computed by MPFR.
    Mpfr(String),
    /// A C function in a file.
    Source {
        /// The file, absolute.
        file: PathBuf,
        /// The function.
        name: String,
    },
    /// An `FPCore` core, over the real numbers.
    Core {
        /// The file that it was read from.
        file: PathBuf,
        /// The core.
        core: Box<Core>,
    },
}

impl Reference {
    /// Parses `mpfr:NAME`, `auto`, `FILE.c:NAME` or `FILE.fpcore`.
    ///
    /// # Errors
    /// When it is none of these, there is no such file or function, or penfuzz has no MPFR.
    pub fn parse(text: &str, function: &Function) -> Result<Self, Error> {
        if text == "auto" {
            let name = libm::named(&function.name).ok_or_else(|| {
                Error::new(format!(
                    "--reference auto: `{}` is not the name of a function of <math.h>; write mpfr:NAME or FILE.c:NAME",
                    function.name
                ))
            })?;
            return Self::mpfr(name, function);
        }
        if let Some(name) = text.strip_prefix("mpfr:") {
            return Self::mpfr(name, function);
        }
        if fpcore::is_fpcore(Path::new(text)) {
            return Self::core(Path::new(text), None, function);
        }
        let wrong = || Error::new(format!("--reference {text}: write auto, mpfr:NAME (as mpfr:sin) or FILE.c:NAME"));
        let (file, name) = text.rsplit_once(':').ok_or_else(wrong)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) || file.is_empty() {
            return Err(wrong());
        }
        let path = PathBuf::from(file);
        if fpcore::is_fpcore(&path) {
            return Self::core(&path, Some(name), function);
        }
        let file = std::fs::canonicalize(&path).map_err(|e| at(&path, format!("cannot be read: {e}")))?;
        Ok(Self::Source { file, name: name.to_owned() })
    }

    fn core(path: &Path, name: Option<&str>, function: &Function) -> Result<Self, Error> {
        let core = fpcore::read(path, name)?;
        let kinds: Vec<_> = core.arguments.iter().map(|(_, p)| Some(p.kind())).collect();
        if function.inputs().map(|p| p.kind).ne(kinds) {
            let n = core.arguments.len();
            return Err(at(
                path,
                format!("has a core of {n} arguments, which are not those of `{}`", function.signature()),
            ));
        }
        Ok(Self::Core { file: path.to_path_buf(), core: Box::new(core) })
    }

    fn mpfr(name: &str, function: &Function) -> Result<Self, Error> {
        let known = libm::find(name).ok_or_else(|| {
            let all = libm::FUNCTIONS.map(|function| function.name);
            Error::new(format!("--reference mpfr:{name}: there is no such function; known are {}", all.join(", ")))
        })?;
        let (n, arity) = (function.inputs().count(), known.parameters.len());
        if n != arity {
            return Err(Error::new(format!(
                "--reference mpfr:{name} has {arity} argument{}, and `{}` has {n}",
                if arity == 1 { "" } else { "s" },
                function.signature()
            )));
        }
        Ok(Self::Mpfr(name.to_owned()))
    }

    /// The name of the reference in a report.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Mpfr(name) => format!("mpfr:{name}"),
            Self::Source { file, name } => format!("{}:{name}", file.display()),
            Self::Core { file, core } => {
                let what = if core.spec.is_some() { ":spec of " } else { "" };
                format!("{}: {what}\"{}\" over the real numbers", file.display(), core.name)
            }
        }
    }
}

//! A program in two builds: by pen-cc, and by the same clang without instrumentation.
//!
//! The plain program is called through thunks in C, which are generated from the function table. They decode an input
//! as `struct pen_function.call` specifies, but share no code with it.

use std::{
    ffi::CString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
    sync::{OnceLock, mpsc},
    thread,
};

use libafl_bolts::rands::StdRand;
use penfuzz_abi::{action, metric};
use penfuzz_cc::Compile;
use penfuzz_executor::{
    Evaluator,
    evaluator::{EvaluationLimits, RunStatus},
};
use penfuzz_mutators::{dictionary::Dictionary, structured};
use penfuzz_target::program::{Function, Target, function::Call};

type Job = Box<dyn FnOnce() + Send>;

/// Runs `job` on the one thread that may call targets: the guard's timer and signal stack belong to a thread.
///
/// # Panics
/// When the job does.
pub fn on_target_thread<R: Send + 'static>(job: impl FnOnce() -> R + Send + 'static) -> R {
    static JOBS: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Job>();
        thread::spawn(move || receiver.into_iter().for_each(|job| job()));
        sender
    });
    let (sender, receiver) = mpsc::channel();
    let job = Box::new(move || {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        sender.send(result).expect("the test waits");
    });
    jobs.send(job).expect("the thread of the targets lives");
    match receiver.recv().expect("the job answers") {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// What the hooks are armed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arming {
    /// Nothing.
    Unarmed,
    /// Every branch of a conditional is recorded, wanted and tracked, in this metric.
    Everything(u32),
    /// Additionally, every boundary value is wanted, in exact distances.
    Boundaries,
}

impl Arming {
    pub const ALL: [Self; 4] =
        [Self::Unarmed, Self::Everything(metric::ULP), Self::Everything(metric::SQUARED), Self::Boundaries];

    pub fn apply(self, evaluator: &mut Evaluator) {
        match self {
            Self::Unarmed => evaluator.arm(|_| 0),
            Self::Everything(metric) => {
                let target = Rc::clone(evaluator.target());
                let is_conditional = |b| target.sites[target.site_of(b)].is_conditional();
                evaluator.set_metric(metric, u64::MAX);
                evaluator.arm(|b| if is_conditional(b) { action::RECORD | action::WANT | action::TRACK } else { 0 });
            }
            Self::Boundaries => {
                evaluator.set_metric(metric::ULP, u64::MAX);
                evaluator.arm(|_| action::RECORD | action::WANT | action::TRACK);
            }
        }
    }
}

/// How a program is built.
#[derive(Debug, Clone, Default)]
pub struct Recipe {
    pub sources: Vec<PathBuf>,
    pub flags: Vec<String>,
    pub libraries: Vec<String>,
    /// Whether to compile like pen-cc, with SanCov; otherwise like penfuzz does by itself.
    pub san_cov: bool,
}

/// The two builds, loaded.
pub struct Twin {
    pub target: Rc<Target>,
    plain: *mut libc::c_void,
}

impl Twin {
    /// Builds both in `directory`.
    pub fn build(directory: &Path, recipe: &Recipe) -> Self {
        let instrumented = directory.join("instrumented.so");
        Compile { libraries: recipe.libraries.clone(), san_cov: recipe.san_cov, ..Compile::new(&instrumented) }
            .sources(&recipe.sources)
            .flags(&recipe.flags)
            .run()
            .unwrap_or_else(|e| panic!("pen-cc: {e}"));
        let target = Rc::new(Target::load(&instrumented).unwrap_or_else(|e| panic!("{e}")));
        let plain = load(&build_plain(directory, recipe, &target.functions));
        Self { target, plain }
    }

    /// Builds one C, C++ or LLVM assembly text, at an optimization level.
    pub fn of_text(directory: &Path, name: &str, text: &str, level: &str) -> Self {
        let source = directory.join(name);
        fs::write(&source, text).expect("the source is written");
        let flags = vec![level.to_owned(), "-w".to_owned(), "-g".to_owned()];
        let libraries = vec!["-lm".to_owned()];
        Self::build(directory, &Recipe { sources: vec![source], flags, libraries, san_cov: true })
    }

    pub fn index_of(&self, function: &str) -> usize {
        let found = self.target.functions.iter().position(|f| f.name == function || f.symbol == function);
        found.unwrap_or_else(|| panic!("the target has no function {function}"))
    }

    pub fn evaluator(&self, function: usize) -> Evaluator {
        Evaluator::new(Rc::clone(&self.target), function, EvaluationLimits::default()).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Returns the thunk of the plain build.
    pub fn plain(&self, function: usize) -> Call {
        let symbol = &self.target.functions[function].symbol;
        let address = symbol_of(self.plain, &format!("plain_{symbol}"));
        // SAFETY: the thunks are written with this type.
        unsafe { core::mem::transmute::<*mut libc::c_void, Call>(address) }
    }

    /// Returns the address of the plain function itself.
    pub fn plain_address(&self, function: usize) -> *const libc::c_void {
        symbol_of(self.plain, &self.target.functions[function].symbol)
    }

    /// Calls both with `n` structured inputs and compares what they leave in the output area.
    pub fn compare(&self, function: usize, armings: &[Arming], n: usize, seed: u64) -> Compared {
        let f = &self.target.functions[function];
        let (layout, dictionary) = (f.layout(), Dictionary::new(&f.floats, &f.integers));
        let mut rng = StdRand::with_seed(seed);
        let mut pair = Pair::new(self, function);
        let mut x = vec![0; layout.size()];
        for arming in armings {
            arming.apply(&mut pair.evaluator);
            for _ in 0..n / armings.len() {
                structured::fill(&mut rng, &layout, &dictionary, &mut x);
                pair.compare(&x, *arming);
            }
        }
        pair.compared
    }
}

/// Number of inputs that were compared.
#[derive(Debug, Default, Clone, Copy)]
pub struct Compared {
    pub equal: usize,
    /// Number of calls that the instrumented function did not return from: out of fuel, or a fault that the plain
    /// function would have too.
    pub ended: usize,
}

/// Both builds of one function.
struct Pair {
    name: String,
    evaluator: Evaluator,
    plain: Call,
    output: Vec<u128>,
    compared: Compared,
}

impl Pair {
    fn new(twin: &Twin, function: usize) -> Self {
        let f = &twin.target.functions[function];
        let evaluator = twin.evaluator(function);
        Self {
            name: f.name.clone(),
            plain: twin.plain(function),
            output: vec![0; evaluator.output().len()],
            evaluator,
            compared: Compared::default(),
        }
    }

    fn compare(&mut self, x: &[u8], arming: Arming) {
        if self.evaluator.run(x) == RunStatus::Faulted {
            self.compared.ended += 1;
            return;
        }
        // SAFETY: the input and the output area are as large as the function table says.
        unsafe { (self.plain)(x.as_ptr(), self.output.as_mut_ptr().cast()) };
        assert_eq!(
            self.evaluator.output(),
            self.output,
            "{} at {x:02x?}, {arming:?}: left instrumented, right plain",
            self.name
        );
        self.compared.equal += 1;
    }
}

/// The clang that pen-cc runs.
pub fn clang() -> PathBuf {
    std::env::var_os("PEN_CC_CLANG").map_or_else(|| format!("clang-{}", penfuzz_cc::LLVM_MAJOR).into(), PathBuf::from)
}

fn build_plain(directory: &Path, recipe: &Recipe, functions: &[Function]) -> PathBuf {
    let thunks = directory.join("thunks.c");
    fs::write(&thunks, thunks_of(functions)).expect("the thunks are written");
    let (object, plain) = (directory.join("thunks.o"), directory.join("plain.so"));
    run(Command::new(clang()).args(["-O2", "-w", "-fno-builtin", "-fPIC", "-c", "-o"]).arg(&object).arg(&thunks));
    let is_cxx = recipe.sources.iter().any(|s| s.extension().is_some_and(|e| e == "cc"));
    let mut command = Command::new(clang());
    let flags = penfuzz_cc::for_other_compilers(&recipe.flags);
    command.args(is_cxx.then_some("--driver-mode=g++")).args(flags);
    command.args(["-fPIC", "-shared", "-Wl,-Bsymbolic", "-o"]).arg(&plain);
    run(command.args(&recipe.sources).arg(&object).args(&recipe.libraries));
    plain
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

fn thunks_of(functions: &[Function]) -> String {
    let mut text = String::new();
    // Instances of the C++ library's templates, which the plain build may have inlined everywhere.
    let is_instance = |f: &Function| f.file.contains("/c++/");
    for f in functions.iter().filter(|f| !f.is_static && f.name != "main" && f.entry().is_some() && !is_instance(f)) {
        writeln!(text, "{}", thunk_of(f)).expect("a String takes it");
    }
    text
}

fn thunk_of(f: &Function) -> String {
    let (mut body, mut types, mut arguments) = (String::new(), Vec::new(), Vec::new());
    for (i, p) in f.parameters.iter().enumerate() {
        let (value, offset, cell) = (p.value_type(), p.offset, p.cell);
        if p.is_output() {
            writeln!(body, "  __builtin_memset(out + {cell}, 0, {});", p.output_size).expect("a String takes it");
            types.push("void *".to_owned());
            arguments.push(format!("out + {cell}"));
            continue;
        }
        // The value of a bool is the lowest bit of its byte.
        let is_bool = value == "_Bool" || value == "bool";
        let of_c = if is_bool { "unsigned char" } else { value };
        types.push(p.type_name.replace("_Bool", "bool").replace("bool", "_Bool"));
        let place = if p.pointer { format!("out + {cell}") } else { format!("&a{i}") };
        write!(body, "  {of_c} a{i}; __builtin_memcpy(&a{i}, in + {offset}, sizeof a{i});").expect("a String takes it");
        if is_bool {
            write!(body, " a{i} &= 1;").expect("a String takes it");
        }
        if p.pointer {
            write!(body, " __builtin_memset({place}, 0, 16); __builtin_memcpy({place}, &a{i}, sizeof a{i});")
                .expect("a String takes it");
            arguments.push(format!("(void *)({place})"));
        } else {
            arguments.push(format!("a{i}"));
        }
        body.push('\n');
    }
    let (result, symbol) = (&f.result_type, &f.symbol);
    let result = if result == "bool" { "_Bool" } else { result };
    let call = format!("{symbol}({})", arguments.join(", "));
    let call = if result == "void" {
        format!("  {call};\n")
    } else {
        format!("  {result} r = {call}; __builtin_memcpy(out, &r, sizeof r);\n")
    };
    let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
    format!(
        "{result} {symbol}({types});\nvoid plain_{symbol}(const unsigned char *in, unsigned char *out) {{\n\
         {body}{call}}}"
    )
}

fn load(path: &Path) -> *mut libc::c_void {
    let name = CString::new(path.to_str().expect("a plain path")).expect("no zero byte");
    // SAFETY: the name is a C string; the file is our own.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null(), "{} does not load", path.display());
    handle
}

fn symbol_of(handle: *mut libc::c_void, name: &str) -> *mut libc::c_void {
    let c = CString::new(name).expect("no zero byte");
    // SAFETY: the handle is open; the name is a C string.
    let address = unsafe { libc::dlsym(handle, c.as_ptr()) };
    assert!(!address.is_null(), "the plain build has no {name}");
    address
}

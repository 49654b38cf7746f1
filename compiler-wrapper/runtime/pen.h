/* The pen ABI: what the pass emits, what the runtime keeps and what the fuzzer reads and writes.
 *
 * Mirrored by src/abi.rs; a change of any layout or meaning here raises PEN_ABI_VERSION.
 * All pointers are to memory of the target file. Sizes are those of a 64-bit little-endian platform.
 */
#ifndef PEN_H
#define PEN_H

#include <stdint.h>

#define PEN_ABI_VERSION 3u

/* One action byte per branch, written by the fuzzer (the objective), obeyed by the hook.
 * The hook looks at the first byte of its site only: it must have PEN_ARMED set when any byte of the site is not zero.
 * A site whose first byte is zero costs one load and one branch that is not taken. */
enum pen_action {
  PEN_RECORD = 0x01, /* taking this branch sets its outcome byte and raises `hits` */
  PEN_WANT = 0x02,   /* this branch is wanted: r becomes its branch distance, which is 0 when it is taken */
  PEN_TRACK = 0x04,  /* best[] of this branch keeps the smallest branch distance seen */
  PEN_NEAR = 0x08,   /* a sibling of this branch is wanted or tracked: taking this branch computes the sibling's distance */
  PEN_STEP = 0x10,   /* on every branch of a site: its passes are compared with `path`, and r says how far the run is from
                        taking it (path reachability: ME, Sect. 4.4.1) */
  PEN_MIN = 0x20,    /* with WANT: r = min(r, d): the closest of all passes of the site in one evaluation */
  PEN_LEAD = 0x40,   /* this branch leads to the wanted one: r = min(r, lead[branch] + d') when it is missed, d' being d
                        squeezed into PEN_LEAD_BITS; metric PEN_ULP only */
  PEN_ARMED = 0x80   /* first byte of a site: some byte of the site is not zero */
};

/* The bits of r below the level of a LEAD branch. Distances to a branch with WANT and MIN stay below all of lead[], that
 * is below 2^63, so that an input which reaches the wanted site is always closer than one that does not. */
#define PEN_LEAD_BITS 54

/* How branch distances are measured (`metric`). Both are compared as unsigned 64-bit integers. */
enum pen_metric {
  PEN_ULP = 0,    /* exact: integer difference; for floats the number of floats between */
  PEN_BOUNDARY = 2, /* as PEN_ULP; armed sites look at the comparison sites behind them too (boundary values: ME, Sect. 4.4.2) */
  PEN_SQUARED = 1 /* CoverMe, Def. 4.1: (a - b)^2 and epsilon, in double precision; values are the bits of a double >= 0 */
};

enum pen_kind {
  PEN_UNSUPPORTED = 0,
  PEN_F32, PEN_F64,
  PEN_I8, PEN_I16, PEN_I32, PEN_I64,
  PEN_U8, PEN_U16, PEN_U32, PEN_U64,
  PEN_BOOL, /* one byte in the input, its lowest bit is the value */
  PEN_VOID, /* results only */
  PEN_OUTPUT /* parameters only: a pointer to a structure without pointers, which the callee fills in; nothing of it is in the input */
};

/* The comparison behind a site: the numbers of llvm::CmpInst::Predicate, which the pass checks. The predicates of floats are
 * sums of PEN_FCMP_EQUAL, PEN_FCMP_GREATER, PEN_FCMP_LESS and PEN_FCMP_UNORDERED: the cases in which they hold. */
enum pen_predicate {
  PEN_FCMP_FALSE = 0,
  PEN_FCMP_OEQ = 1, /* O...: ordered, false when an operand is NaN */
  PEN_FCMP_OGT = 2,
  PEN_FCMP_OGE = 3,
  PEN_FCMP_OLT = 4,
  PEN_FCMP_OLE = 5,
  PEN_FCMP_ONE = 6,
  PEN_FCMP_ORD = 7, /* no operand is NaN */
  PEN_FCMP_UNO = 8, /* an operand is NaN */
  PEN_FCMP_UEQ = 9, /* U...: unordered, true when an operand is NaN */
  PEN_FCMP_UGT = 10,
  PEN_FCMP_UGE = 11,
  PEN_FCMP_ULT = 12,
  PEN_FCMP_ULE = 13,
  PEN_FCMP_UNE = 14,
  PEN_FCMP_TRUE = 15,
  PEN_ICMP_EQ = 32,
  PEN_ICMP_NE = 33,
  PEN_ICMP_UGT = 34, /* U...: unsigned */
  PEN_ICMP_UGE = 35,
  PEN_ICMP_ULT = 36,
  PEN_ICMP_ULE = 37,
  PEN_ICMP_SGT = 38, /* S...: signed */
  PEN_ICMP_SGE = 39,
  PEN_ICMP_SLT = 40,
  PEN_ICMP_SLE = 41,
  PEN_NO_PREDICATE = 255 /* there is not just one comparison */
};

enum pen_predicate_bit {
  PEN_FCMP_EQUAL = 1,
  PEN_FCMP_GREATER = 2,
  PEN_FCMP_LESS = 4,
  PEN_FCMP_UNORDERED = 8,
  PEN_ICMP_OR_EQUAL = 1 /* of the orders of integers: set in >= and <=, clear in > and < */
};

/* The bits in which the four orders of one signedness differ from each other. */
#define PEN_ICMP_ORDER 3

/* Classes of floats: the bits of llvm::FPClassTest, which llvm.is.fpclass tests; the pass checks them. */
enum pen_class {
  PEN_SIGNALING_NAN = 0x001,
  PEN_QUIET_NAN = 0x002,
  PEN_NEGATIVE_INFINITY = 0x004,
  PEN_NEGATIVE_NORMAL = 0x008,
  PEN_NEGATIVE_SUBNORMAL = 0x010,
  PEN_NEGATIVE_ZERO = 0x020,
  PEN_POSITIVE_ZERO = 0x040,
  PEN_POSITIVE_SUBNORMAL = 0x080,
  PEN_POSITIVE_NORMAL = 0x100,
  PEN_POSITIVE_INFINITY = 0x200
};

enum pen_site_kind {
  PEN_BRANCH = 0,
  PEN_SWITCH = 1,
  PEN_SELECT = 2,
  PEN_COMPARISON = 3, /* the comparison a op b of the two-way site directly before it; branches as in enum pen_side */
  PEN_OPERATION = 4   /* a floating-point operation; branches as in enum pen_exception. Only with -fpen-exceptions */
};

/* Branches of a comparison: where `a` lies beside `b`, on the line of its type. */
enum pen_side {
  PEN_BELOW = 0, /* a is the number next below b */
  PEN_EQUAL = 1, /* a == b */
  PEN_ABOVE = 2, /* a is the number next above b */
  PEN_SIDES = 3
};

/* What is added to the distance to PEN_BELOW or PEN_ABOVE where `a` does not lie on that side: so the closest input is one that
 * does, if there is any. */
#define PEN_OTHER_SIDE (UINT64_C(1) << 62)

/* Branches of an operation: the exceptions that it raises for operands which are finite. */
enum pen_exception {
  PEN_OVERFLOW = 0,
  PEN_UNDERFLOW = 1, /* the result is subnormal or zero, and inexact */
  PEN_DIVIDE_BY_ZERO = 2,
  PEN_INVALID = 3,
  PEN_INEXACT = 4,
  PEN_EXCEPTIONS = 5
};

/* What an operation computes. The functions of <math.h> are described in functions.h. */
enum pen_operation {
  PEN_NO_OPERATION = 0,
  PEN_ADD = 1, /* a + b */
  PEN_SUBTRACT = 2, /* a - b */
  PEN_MULTIPLY = 3, /* a * b */
  PEN_DIVIDE = 4, /* a / b */
  PEN_FMOD = 5, /* fmod(a, b) */
  PEN_FMA = 6, /* a * b + c, rounded once */
  PEN_SQRT = 7, /* sqrt(a) */
  PEN_NARROW = 8, /* (float)a of a double */
  PEN_NEGATE = 9, /* -a */
  PEN_ABS = 10, /* fabs(a) */
  PEN_TO_SIGNED = 11, /* (int)a and the like, lround(a) and lrint(a) too */
  PEN_TO_UNSIGNED = 12, /* (unsigned)a and the like */
  PEN_FROM_SIGNED = 13, /* (double)a of an int and the like */
  PEN_FROM_UNSIGNED = 14, /* (double)a of an unsigned and the like */
  PEN_LOG = 15,
  PEN_LOG2 = 16,
  PEN_LOG10 = 17,
  PEN_LOG1P = 18,
  PEN_LOGB = 19,
  PEN_EXP = 20,
  PEN_EXP2 = 21,
  PEN_EXP10 = 22,
  PEN_EXPM1 = 23,
  PEN_SINH = 24,
  PEN_COSH = 25,
  PEN_POW = 26,
  PEN_ASIN = 27,
  PEN_ACOS = 28,
  PEN_ATANH = 29,
  PEN_ACOSH = 30,
  PEN_REMAINDER = 31,
  PEN_TGAMMA = 32,
  PEN_LGAMMA = 33,
  PEN_Y0 = 34,
  PEN_Y1 = 35,
  PEN_YN = 36,
  PEN_LDEXP = 37,
  PEN_SCALBN = 38,
  PEN_SCALBLN = 39,
  PEN_HYPOT = 40,
  PEN_ERFC = 41,
  PEN_NEXTAFTER = 42,
  PEN_SIN = 43,
  PEN_COS = 44,
  PEN_TAN = 45,
  PEN_ATAN = 46,
  PEN_ATAN2 = 47,
  PEN_TANH = 48,
  PEN_ASINH = 49,
  PEN_CBRT = 50,
  PEN_ERF = 51,
  PEN_FLOOR = 52,
  PEN_CEIL = 53,
  PEN_ROUND_TO_ZERO = 54,
  PEN_ROUND = 55,
  PEN_RINT = 56,
  PEN_OPERATIONS = 57
};

/* The word that the hook gives beside the operands: enum pen_operation in the lowest 8 bits, then these; 8 bits from
 * PEN_INTEGER_SHIFT on are the width of the integer that is converted to or from, those from PEN_POSSIBLE_SHIFT on the site's
 * `possible`. */
enum pen_operation_flag {
  PEN_SINGLE = 0x100,    /* of float: operands and result; the operand of TO_..., the result of FROM_... */
  PEN_CONSTANT = 0x200   /* the first operand is a constant; shifted by 1 the second, by 2 the third */
};
#define PEN_OPERATION_MASK 0xffu
#define PEN_INTEGER_SHIFT 16
#define PEN_INTEGER_MASK 0xffu /* after the shift */
#define PEN_POSSIBLE_SHIFT 24

/* The truth value that the hook gives for a condition with nothing behind it. */
enum pen_opaque_flag {
  PEN_OPAQUE_TRUE = 1,   /* it holds */
  PEN_OPAQUE_DECIDED = 2 /* it was decided on the way to the site, by comparisons that are sites of their own */
};

/* The distances of a condition to being true and to being false. Exactly one of them is 0. */
struct pen_pair {
  uint64_t to_true, to_false;
};

/* What stands behind the condition of a site. */
enum pen_operand {
  PEN_OP_NONE = 0, /* no comparison found: outcomes, but no distance */
  PEN_OP_F32, PEN_OP_F64, PEN_OP_INT, PEN_OP_POINTER,
  PEN_OP_MANY /* and, or, phi of several comparisons */
};

/* Size and alignment of the cells that the output area of a call is made of: the result has the first, and what a parameter
 * points to the following ones. */
#define PEN_CELL_BYTES 16

/* A parameter. Values lie in the input at `offset`, little-endian, without padding, in parameter order. */
struct pen_param {
  const char *name;  /* "" when the source gives none */
  const char *type;  /* as C writes it, for example "const double *" */
  uint32_t kind;     /* enum pen_kind, of the value or of what is pointed to */
  uint32_t pointer;  /* 1: the callee gets the address of one such value and may write to it */
  uint32_t offset;   /* bytes from the start of the input */
  uint32_t size;     /* bytes; of an output those of the structure */
  uint32_t cell;     /* bytes from the start of `out` to what the pointer points to, a multiple of PEN_CELL_BYTES; 0 if it is none */
  uint32_t unused;
};

struct pen_site;
struct pen_function;

/* What follows a branch (or a function's entry) before any other site is passed. */
struct pen_edges {
  const uint32_t *next;                    /* sites reached, as indices into the function's own sites; comparisons and operations
                                              are passed, and stand here beside the sites that end the way */
  const struct pen_function *const *calls; /* functions called on the way; null for one that is not instrumented */
  const uint32_t *lines;                   /* lines of the function's own file with code on the way, ascending */
  uint32_t n_next;
  uint32_t n_calls;
  uint32_t n_lines;
  uint32_t unused;
};

struct pen_case {
  int64_t value;   /* sign-extended */
  uint32_t branch; /* index among the branches of the site */
  uint32_t unused;
};

/* One per site, in section "pen_sites"; the sites of one function are consecutive and in source order of the IR. */
struct pen_site {
  const struct pen_function *function;
  const char *file;                /* as the debug information has it: directory and name joined unless absolute */
  uint8_t *actions;                /* n_branches bytes in section "pen_actions": [0] true, [1] false; or one per destination */
  const struct pen_edges *edges;   /* n_branches */
  const struct pen_case *cases;    /* n_cases, switch only; branch 0 is the default destination */
  const char *name;                /* of an operation, as C writes it: "*", "log", "(int)"; else "" */
  uint32_t line;
  uint32_t column;
  uint32_t n_branches;
  uint32_t n_cases;
  uint8_t kind;      /* enum pen_site_kind */
  uint8_t predicate; /* enum pen_predicate */
  uint8_t operand;   /* enum pen_operand */
  uint8_t width;     /* bits of an integer operand; of an operation those of its floats */
  uint32_t possible; /* bit per branch: 0 when it is known at compile time that it cannot be taken */
  uint32_t operation; /* enum pen_operation */
  uint32_t unused;
};

/* One floating-point operation of a run, for those who compute it again. */
struct pen_traced {
  const uint8_t *actions; /* of its site */
  uint64_t operands[3];   /* bits of doubles, also of floats; of an integer its value */
  uint64_t result;
  uint32_t what;          /* enum pen_operation and enum pen_operation_flag */
  uint32_t unused;
};

/* One per defined function, in section "pen_functions". */
struct pen_function {
  const char *name;   /* as in the source */
  const char *symbol; /* as the linker sees it */
  const char *file;
  void *address;
  /* Calls the function with the arguments at `in` (input_size bytes). `out` is output_size bytes, aligned to 16: the result
   * goes to out[0..8], what a parameter points to lives at out + cell during and after the call, in a whole number of cells
   * of PEN_CELL_BYTES. Before the call a cell is zero but for the value from the input. Null when a parameter is not supported
   * (kind PEN_UNSUPPORTED). */
  void (*call)(const uint8_t *in, uint8_t *out);
  const struct pen_param *params;
  const struct pen_site *sites;
  const struct pen_edges *entry; /* one */
  const uint64_t *floats;        /* floating-point constants in the body, as bits of doubles, without repetition */
  const int64_t *integers;       /* integer constants in comparisons, switches and arithmetic, sign-extended, without repetition */
  const char *result_type;       /* as C writes it */
  uint32_t n_params;
  uint32_t n_sites;
  uint32_t n_floats;
  uint32_t n_integers;
  uint32_t result_kind; /* enum pen_kind; PEN_UNSUPPORTED when the result is not a scalar */
  uint32_t input_size;  /* bytes */
  uint32_t line;
  uint32_t is_static;
  uint32_t output_size; /* bytes, a multiple of PEN_CELL_BYTES */
  uint32_t unused;
};

/* Mutable state, one per target file. */
struct pen_state {
  uint64_t r;        /* value of the representing function, in the metric's representation */
  int64_t fuel;      /* back edges and non-leaf calls left; at zero `stop` is called */
  uint32_t metric;   /* enum pen_metric */
  uint32_t hits;     /* RECORDed branches taken since the fuzzer last cleared it */
  uint32_t n_improved; /* entries in improved[] since the fuzzer last cleared it */
  uint32_t last_branch; /* the branch that last changed r */
  uint8_t *outcomes; /* one per branch; null: nothing is recorded */
  uint64_t *best;    /* one per branch; null: nothing is tracked */
  uint32_t *improved; /* branches whose best[] shrank; room for one per branch, an entry may repeat only after clearing */
  uint8_t *coverage; /* SanCov map, one saturating counter per guard, guard 0 unused; null: off */
  /* Ends the evaluation, does not return; null outside the fuzzer. */
  void (*stop)(uint32_t reason, void *place);
  int64_t exit_status; /* what the target gave to exit(), set before `stop` is called with PEN_STOP_EXIT */
  const uint64_t *lead; /* one per branch: value of r where a branch with LEAD is missed by nothing; null: no LEAD */
  /* The path: n_path branches of sites with STEP in the order of their passes, contiguous within a segment; the last may be
   * PEN_END. `back[i]` is how many steps still match when step i does not (KMP's failure function within the segment, of whose
   * first step it is that step itself): any passes may lie before a segment. In a first segment that begins with the first
   * pass it is PEN_STRAYED: the run is off the path for good. */
  const uint32_t *path;
  const uint32_t *back;
  uint32_t n_path;
  uint32_t path_at;   /* steps matched so far, or PEN_STRAYED and more; the fuzzer clears it before a run */
  uint32_t path_bits; /* bits of r below the number of steps that are missing, 16 to 54 */
  uint32_t watch;     /* a branch of a comparison or an operation: `seen` gets its operands when it is first taken */
  uint64_t seen[4];   /* operands and result; of floats as bits of doubles; the result of a comparison is whether the condition holds */
  uint64_t n_seen;    /* times that `watch` was taken since the fuzzer last cleared it */
  struct pen_traced *trace; /* armed operations are written here; null: they are not */
  uint32_t n_trace;
  uint32_t trace_room;
  uint32_t *passes; /* branches that passes of sites with STEP took, in order, as far as there is room; null: not noted */
  uint32_t n_passes;
  uint32_t passes_room;
};

/* The last step of a path after which no pass of a site with STEP may follow. */
#define PEN_END UINT32_MAX

/* See `back`. `path_at` counts on from here; at UINT32_MAX the run is ended (PEN_STOP_STRAYED). */
#define PEN_STRAYED (UINT32_MAX - 32)

enum pen_stop { PEN_STOP_FUEL = 1, PEN_STOP_EXIT = 2, PEN_STOP_STRAYED = 3 };

/* What dlsym(handle, "__pen_tables") returns. */
struct pen_tables {
  uint32_t version; /* PEN_ABI_VERSION; first member for ever */
  uint32_t n_guards; /* SanCov guards; the map needs one more */
  struct pen_state *state;
  const struct pen_site *sites, *sites_end;
  const struct pen_function *functions, *functions_end;
  uint8_t *actions, *actions_end; /* a branch's number is the offset of its byte from `actions` */
  uint64_t *sancov_gate;          /* 0: SanCov callbacks are skipped; without effect if this clang cannot gate them */
};

#endif

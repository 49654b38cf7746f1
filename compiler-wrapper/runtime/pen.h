/* The pen ABI: what the pass emits, what the runtime keeps and what the fuzzer reads and writes.
 *
 * Mirrored by src/abi.rs; a change of any layout or meaning here raises PEN_ABI_VERSION.
 * All pointers are to memory of the target file. Sizes are those of a 64-bit little-endian platform.
 */
#ifndef PEN_H
#define PEN_H

#include <stdint.h>

#define PEN_ABI_VERSION 2u

/* One action byte per branch, written by the fuzzer (the objective), obeyed by the hook.
 * The hook looks at the first byte of its site only: it must have PEN_ARMED set when any byte of the site is not zero.
 * A site whose first byte is zero costs one load and one branch that is not taken. */
enum pen_action {
  PEN_RECORD = 0x01, /* taking this branch sets its outcome byte and raises `hits` */
  PEN_WANT = 0x02,   /* this branch is wanted: r becomes its branch distance, which is 0 when it is taken */
  PEN_TRACK = 0x04,  /* best[] of this branch keeps the smallest branch distance seen */
  PEN_NEAR = 0x08,   /* a sibling of this branch is wanted or tracked: taking this branch computes the sibling's distance */
  PEN_ADD = 0x10,    /* with WANT: r = r + d (ME, Sect. 4.4.1) instead of r = d (CoverMe, Def. 4.2) */
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

enum pen_site_kind { PEN_BRANCH = 0, PEN_SWITCH = 1, PEN_SELECT = 2 };

/* What stands behind the condition of a site. */
enum pen_operand {
  PEN_OP_NONE = 0, /* no comparison found: outcomes, but no distance */
  PEN_OP_F32, PEN_OP_F64, PEN_OP_INT, PEN_OP_POINTER,
  PEN_OP_MANY /* and, or, phi of several comparisons */
};

/* A parameter. Values lie in the input at `offset`, little-endian, without padding, in parameter order. */
struct pen_param {
  const char *name;  /* "" when the source gives none */
  const char *type;  /* as C writes it, for example "const double *" */
  uint32_t kind;     /* enum pen_kind, of the value or of what is pointed to */
  uint32_t pointer;  /* 1: the callee gets the address of one such value and may write to it */
  uint32_t offset;   /* bytes from the start of the input */
  uint32_t size;     /* bytes; of an output those of the structure */
  uint32_t cell;     /* bytes from the start of `out` to what the pointer points to, a multiple of 16; 0 if it is none */
  uint32_t unused;
};

struct pen_site;
struct pen_function;

/* What follows a branch (or a function's entry) before any other site is passed. */
struct pen_edges {
  const uint32_t *next;                    /* sites reached, as indices into the function's own sites */
  const struct pen_function *const *calls; /* functions called on the way; null for one that is not instrumented */
  uint32_t n_next;
  uint32_t n_calls;
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
  uint32_t line;
  uint32_t column;
  uint32_t n_branches;
  uint32_t n_cases;
  uint8_t kind;      /* enum pen_site_kind */
  uint8_t predicate; /* llvm::CmpInst::Predicate of the comparison (fcmp 0..15, icmp 32..41), 255 if there is not just one */
  uint8_t operand;   /* enum pen_operand */
  uint8_t width;     /* bits of an integer operand */
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
   * of 16 bytes. Before the call a cell is zero but for the value from the input. Null when a parameter is not supported
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
  uint32_t output_size; /* bytes, a multiple of 16 */
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
};

enum pen_stop { PEN_STOP_FUEL = 1, PEN_STOP_EXIT = 2 };

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

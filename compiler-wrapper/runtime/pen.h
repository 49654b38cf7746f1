/* The pen ABI: the tables that the pass emits, the state that the runtime keeps, and the numbers that the fuzzer reads
 * and writes in both.
 *
 * This file is the only definition of these numbers. The pass and the runtime include it, and a test compares the
 * mirror in abi/src with it. Every change of a layout or a meaning raises PEN_ABI_VERSION. All pointers are to memory
 * of the target file. Sizes are those of a 64-bit little-endian platform. */
#ifndef PEN_H
#define PEN_H

#include <stdint.h>

#define PEN_ABI_VERSION 16u

/* The bits of an action byte. There is one byte per branch. The fuzzer writes it, the hook reads it.
 *
 * The hook loads only the first byte of its site. PEN_ARMED must be set there if any byte of the site is not zero. A
 * site whose first byte is zero costs one load and one branch that is not taken. */
enum pen_action {
  PEN_RECORD = 0x01, /* taking this branch sets its outcome byte, and appends the branch to `taken` unless the byte was
                        set */
  PEN_WANT = 0x02,   /* this branch is wanted: r becomes its branch distance, 0 if it is taken */
  PEN_TRACK = 0x04,  /* best[] of this branch keeps the smallest branch distance of all evaluations; of a switch, see
                        PEN_NEAR */
  PEN_NEAR = 0x08,   /* a sibling of this branch is wanted or tracked: taking this branch computes the sibling's
                        distance. Of a switch, in its first byte only: some branch is tracked, and the cases next to the
                        operand note it in near[]. So a pass costs the same with one case as with thousands */
  PEN_STEP = 0x10,   /* on every branch of a site: each pass of the site is compared with the next step of `path`, and r
                        is the distance to the rest of the path (path reachability: ME, Sect. 4.4.1) */
  PEN_MIN = 0x20, /* with PEN_WANT: r = min(r, d), the smallest distance of all passes of the site in one evaluation */
  PEN_LEAD = 0x40,   /* this branch leads to the wanted one: if it is not taken, r = min(r, lead[branch] + d'), where d'
                        is the distance d compressed into PEN_LEAD_BITS; in the metric PEN_ULP only */
  PEN_ARMED = 0x80   /* in the first byte of a site: some byte of the site is not zero */
};

/* Bits of r below the level of a branch with PEN_LEAD. All of lead[] is 2^63 or more, and distances to a branch with
 * PEN_WANT and PEN_MIN are below 2^63. So an input that reaches the wanted site is always closer than one that does
 * not. */
#define PEN_LEAD_BITS 54

/* The measure of branch distances. In each metric they are compared as unsigned 64-bit integers. */
enum pen_metric {
  PEN_ULP = 0,     /* exact: the difference of integers; of floats the number of floats between them */
  PEN_SQUARED = 1, /* CoverMe, Def. 4.1: (a - b)^2 and epsilon in double precision, as the bits of a double >= 0 */
  PEN_BOUNDARY = 2 /* as PEN_ULP, and an armed two-way site evaluates its comparison site, too (boundary values: ME,
                      Sect. 4.4.2) */
};

/* The type of a parameter, of what it points to, or of a result. */
enum pen_kind {
  PEN_UNSUPPORTED = 0, /* no supported scalar */
  PEN_F32, PEN_F64,
  PEN_I8, PEN_I16, PEN_I32, PEN_I64,
  PEN_U8, PEN_U16, PEN_U32, PEN_U64,
  PEN_BOOL,  /* one byte in the input, whose lowest bit is the value */
  PEN_VOID,  /* results only */
  PEN_OUTPUT, /* parameters only: a pointer to a structure without pointers, which the callee writes; it takes no input
                 bytes */
  /* In a frame and in memory only: */
  PEN_F16,  /* _Float16 */
  PEN_F80,  /* long double: 80 bits in 16 bytes */
  PEN_F128, /* __float128 */
  PEN_I128, PEN_U128
};

/* The predicate of a comparison: the numbers of llvm::CmpInst::Predicate, which pass/tables/agreement.cc checks. A
 * predicate of floats is the sum of the cases in which it holds: see enum pen_predicate_bit. */
enum pen_predicate {
  PEN_FCMP_FALSE = 0,
  PEN_FCMP_OEQ = 1, /* FCMP_O...: ordered, false if an operand is NaN */
  PEN_FCMP_OGT = 2,
  PEN_FCMP_OGE = 3,
  PEN_FCMP_OLT = 4,
  PEN_FCMP_OLE = 5,
  PEN_FCMP_ONE = 6,
  PEN_FCMP_ORD = 7, /* no operand is NaN */
  PEN_FCMP_UNO = 8, /* an operand is NaN */
  PEN_FCMP_UEQ = 9, /* FCMP_U...: unordered, true if an operand is NaN */
  PEN_FCMP_UGT = 10,
  PEN_FCMP_UGE = 11,
  PEN_FCMP_ULT = 12,
  PEN_FCMP_ULE = 13,
  PEN_FCMP_UNE = 14,
  PEN_FCMP_TRUE = 15,
  PEN_ICMP_EQ = 32,
  PEN_ICMP_NE = 33,
  PEN_ICMP_UGT = 34, /* ICMP_U...: unsigned */
  PEN_ICMP_UGE = 35,
  PEN_ICMP_ULT = 36,
  PEN_ICMP_ULE = 37,
  PEN_ICMP_SGT = 38, /* ICMP_S...: signed */
  PEN_ICMP_SGE = 39,
  PEN_ICMP_SLT = 40,
  PEN_ICMP_SLE = 41,
  PEN_NO_PREDICATE = 255 /* the condition is none or more than one comparison */
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

/* The class of a float: the bits of llvm::FPClassTest, which llvm.is.fpclass tests. pass/tables/agreement.cc checks
 * them. */
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
  PEN_COMPARISON = 3, /* the comparison `a op b` of the two-way site before it; its branches are enum pen_side */
  PEN_OPERATION = 4,  /* a floating-point operation; its branches are enum pen_exception. Only with -fpen-exceptions */
  PEN_DECISION = 5,   /* an expression of && and ||; its branches are the ways through it (struct pen_decision). Only
                         with -fpen-decisions */
  PEN_MUTATION = 6    /* a mutation point: branch k is taken by a run in which mutant k would compute another value
                         here. The name of the site has a line per mutant: operator, tab, change. If the mutant's
                         optimized code is that of the original, a tab and "=" follow; if it is that of the mutant n
                         branches before it, a tab, "=" and n. Only with -fpen-mutants */
};

/* The branches of a comparison: the position of `a` relative to `b` among the numbers of their type. */
enum pen_side {
  PEN_BELOW = 0, /* a is the number next below b */
  PEN_EQUAL = 1, /* a == b */
  PEN_ABOVE = 2, /* a is the number next above b */
  PEN_SIDES = 3
};

/* Added to the distance to PEN_BELOW or PEN_ABOVE while `a` is not on that side of `b`. So the closest input is one
 * whose `a` is on that side, if there is any. */
#define PEN_OTHER_SIDE (UINT64_C(1) << 62)

/* The branches of an operation: the exceptions that it raises for finite operands. */
enum pen_exception {
  PEN_OVERFLOW = 0,
  PEN_UNDERFLOW = 1, /* the result is subnormal or zero, and inexact; of a sum or difference: subnormal, which is
                        always exact and raises no flag */
  PEN_DIVIDE_BY_ZERO = 2,
  PEN_INVALID = 3,
  PEN_INEXACT = 4,
  PEN_EXCEPTIONS = 5
};

/* What an operation computes. functions.h describes the functions of <math.h>. */
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
  PEN_TO_SIGNED = 11, /* (int)a and similar, also lround(a) and lrint(a) */
  PEN_TO_UNSIGNED = 12, /* (unsigned)a and similar */
  PEN_FROM_SIGNED = 13, /* (double)a of an int and similar */
  PEN_FROM_UNSIGNED = 14, /* (double)a of an unsigned and similar */
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

/* Other entries of the trace, in place of enum pen_operation. Only with -fpen-moves. The values of a function have
 * names: the name is an address that is unique for each parameter and each instruction with a float as its result.
 * Arguments and results of functions move through places with small addresses, as if one function stored them there
 * and the other loaded them. */
enum pen_move {
  PEN_OPERANDS = 252, /* of the next operation: `operands` and `result` are names, 0 of constants */
  PEN_VALUE = 253,    /* of a name, `operands[1]`; it is the value with the name `operands[0]`, if that is known, else
                         that is 0 */
  PEN_LOAD = 254,     /* from the address `operands[0]`; it gets the name `operands[1]` */
  PEN_STORE = 255     /* of the value with the name `operands[1]`, to the address `operands[0]` */
};
enum pen_place {
  PEN_CONSTANT_NAME = 1, /* the name of all constants that move */
  PEN_RETURNED = 2,      /* the address of a function's result */
  PEN_PASSED = 3         /* the address of its first parameter; those of the others follow */
};

/* The hook passes the operands of an operation and one word that describes it: from the lowest bit on 8 bits of enum
 * pen_operation, these flags, 8 bits for the width of the integer that is converted to or from (0 if there is none),
 * and the site's `possible`. */
enum pen_operation_flag {
  PEN_SINGLE = 0x100,  /* operands and result are float; of TO_... the operand, of FROM_... the result */
  PEN_CONSTANT = 0x200 /* the first operand is a constant; shifted by 1 the second, by 2 the third */
};
#define PEN_OPERATION_MASK 0xffu
#define PEN_INTEGER_SHIFT 16
#define PEN_INTEGER_MASK 0xffu /* after the shift */
#define PEN_POSSIBLE_SHIFT 24

/* The hook passes these bits for a condition that is no comparison. */
enum pen_opaque_flag {
  PEN_OPAQUE_TRUE = 1,   /* the condition holds */
  PEN_OPAQUE_DECIDED = 2 /* its value is a constant on the path that control took, and the comparisons that chose the
                            path are sites themselves */
};

/* How a function such as strcmp compares its operands, and the result of the comparison. */
enum pen_bytes_flag {
  PEN_BYTES_ENDED = 1,    /* the operands are strings: they end at a 0 byte */
  PEN_BYTES_FOLDED = 2,   /* upper and lower case letters are equal */
  PEN_BYTES_CONSTANT = 4, /* the second operand is a constant: only the first one can become longer or shorter */
  PEN_BYTES_DIFFER = 8    /* the result is not 0 */
};

/* The distances of a condition to being true and to being false. Exactly one of them is 0. */
struct pen_pair {
  uint64_t to_true, to_false;
};

/* The operands of the comparison that is the condition of a site. */
enum pen_operand {
  PEN_OP_NONE = 0, /* there is no comparison: the site has outcomes, but no distances */
  PEN_OP_F32, PEN_OP_F64, PEN_OP_INT, PEN_OP_POINTER,
  PEN_OP_MANY /* the condition is an and, or, or phi of several comparisons */
};

/* Alignment of a call's output area, and size of its first cell, which contains the result. The block of a pointer to a
 * number also has this size and alignment; the block of a pointer to a structure has those of the structure. */
#define PEN_CELL_BYTES 16

/* The block of the nth pointer, counted from 1, ends n * PEN_STRIDE_BYTES bytes after the start of the output area. So
 * each block can have its own pages, separated by pages without access, whatever the size of a page is. */
#define PEN_STRIDE_BYTES 0x100000

/* The kind of a type of the program, see struct pen_type. */
enum pen_type_kind {
  PEN_TYPE_OTHER = 0,      /* it cannot be made from numbers: a class with virtual functions, a variable number of
                              arguments */
  PEN_TYPE_NUMBER = 1,
  PEN_TYPE_POINTER = 2,    /* a reference, too */
  PEN_TYPE_ARRAY = 3,
  PEN_TYPE_STRUCT = 4,     /* a class, too */
  PEN_TYPE_UNION = 5,
  PEN_TYPE_FUNCTION = 6,
  PEN_TYPE_VOID = 7,
  PEN_TYPE_INCOMPLETE = 8  /* declared and not defined in this translation unit */
};

enum pen_type_flag {
  PEN_TYPE_CONST = 1,      /* of a pointer: the callee must not write what it points to */
  PEN_TYPE_REFERENCE = 2,  /* of a pointer: a reference of C++ */
  PEN_TYPE_COMPLEX = 4,    /* of an array of two numbers: a complex number */
  PEN_TYPE_ENUM = 8,       /* of a number: the members are its enumerators */
  PEN_TYPE_CLASS = 16,     /* of a structure: only C++ has it (base classes, access control, constructors) */
  PEN_TYPE_CHAR = 32,      /* of a number: plain `char` */
  PEN_TYPE_AGGREGATE = 64, /* of a structure of C++: no constructors, no base classes, and all members are public */
  PEN_TYPE_ABSTRACT = 128, /* of a class: there is no object of it, only of classes that derive from it */
  PEN_TYPE_PROTOTYPE = 256 /* of a function: the members are all its parameters, which are numbers and pointers */
};

/* A type as the debug information describes it, without typedefs and qualifiers. The records of two translation units
 * may describe the same type. */
struct pen_type {
  const char *name; /* in C notation: "struct point", "double", "ns::color"; "" if the type has no name */
  const struct pen_type *target;    /* element, pointee, or the result of a function; else null */
  /* n_members: of a structure or union; the enumerators of an enumeration; the parameters of a function */
  const struct pen_member *members;
  uint64_t size;                    /* bytes */
  uint64_t count;                   /* of an array: elements; 0 if the declaration has no size */
  uint32_t kind;                    /* enum pen_type_kind */
  uint32_t number;                  /* enum pen_kind of a number */
  uint32_t flags;                   /* enum pen_type_flag */
  uint32_t n_members;
};

struct pen_member {
  const char *name; /* "" of an unnamed member and of a base class */
  const struct pen_type *type; /* null of an enumerator, and of a parameter that is a pointer */
  uint64_t offset;  /* bits from the start of the structure; of an enumerator its value */
  uint32_t bits;    /* of a bit-field; else 0 */
  uint32_t nullable; /* 1: some function of the translation unit compares this pointer with null */
};

/* A call that passes a pointer parameter on to a function that neither this translation unit nor the C library defines,
 * as one of its arguments. */
struct pen_passed {
  const struct pen_function *function; /* null if it is not instrumented */
  uint32_t argument;                   /* as pen_param.argument */
  uint32_t is_first;                   /* 1: if that function reads the memory, it is read before it is written */
};

/* A parameter. The values of an input are little-endian, without padding, in the order of the parameters. */
struct pen_param {
  const char *name;  /* "" if it has no name in the source */
  const char *type;  /* in C notation, for example "const double *" */
  const struct pen_type *shape;
  const struct pen_passed *passed; /* n_passed */
  uint32_t kind;     /* enum pen_kind of the value, or of the value that the parameter points to */
  uint32_t pointer;  /* 1: the callee gets the address of one such value and may write to it */
  uint32_t offset;   /* bytes from the start of the input */
  uint32_t size;     /* bytes; of PEN_OUTPUT those of the structure */
  uint32_t cell;     /* of a pointer: bytes from the start of the output area to its block; else 0 */
  uint32_t frame;    /* bytes from the start of the frame, see pen_function.call_frame */
  uint32_t nullable; /* 1: the function compares this pointer with null */
  uint32_t reads; /* 1: of a pointer: as far as the translation unit shows, the memory is read before it is written */
  uint32_t indexes;  /* bits, of a pointer: 1: it may point to an array; 2: its address is converted to a number */
  uint32_t promised; /* of a pointer: bytes that the declaration guarantees (a reference, `[static 10]`); else 0 */
  uint32_t names_file; /* 1: of a pointer: a file is opened by this name */
  /* Of a pointer: the loops of the function access up to reach_times * n * m + reach_plus bytes, where n is the
   * parameter with the number reach_first and m that with the number reach_second, from 1. 0: there is no m, or
   * (reach_first) the extent is unknown. */
  uint32_t reach_first;
  uint32_t reach_second;
  uint32_t reach_times;
  int32_t reach_plus;
  uint32_t argument; /* number of its first argument in the compiled code, from 0; a result in memory counts */
  uint32_t n_passed;
  uint32_t unused;
};

struct pen_site;
struct pen_function;
struct pen_variable;

/* The references of a function, or of the initial value of a variable: functions, and variables except constants of the
 * same translation unit. A record is null if the function or variable is not instrumented. */
struct pen_references {
  const struct pen_function *const *functions;
  const char *const *function_names;           /* as in the object file; n_functions */
  const struct pen_variable *const *variables;
  const char *const *variable_names;           /* likewise; n_variables */
  const uint32_t *variable_uses;               /* bits of enum pen_variable_use; n_variables */
  uint32_t n_functions;
  uint32_t n_variables;
};

enum pen_variable_flag {
  PEN_VARIABLE_CONSTANT = 1,    /* never written; it may contain addresses of others */
  PEN_VARIABLE_THREAD_LOCAL = 2, /* its address is null: it has one in each thread */
  PEN_VARIABLE_STATIC = 4,       /* not visible to other translation units */
  PEN_VARIABLE_LOCAL = 8         /* declared in a function: only that can name it */
};

/* How a function uses a variable; both bits are set if that is unknown. */
enum pen_variable_use {
  PEN_USE_READ = 1, /* it may read it before it writes it */
  PEN_USE_WRITE = 2 /* it may write it */
};

/* One per defined variable with static storage duration that is written, is visible to other translation units or has a
 * name in the source, in section "pen_variables". */
struct pen_variable {
  const char *name; /* as in the source */
  const char *file;
  const char *unit; /* the source of its translation unit */
  const char *scope; /* namespaces and classes around it: "ns::"; empty if there is none */
  const struct pen_type *type; /* null without debug information */
  void *address;
  const struct pen_references *references; /* one: those of the initial value */
  uint64_t size;                           /* bytes */
  uint32_t line;
  uint32_t flags;                          /* enum pen_variable_flag */
};

/* The conditionals that control can reach from a branch, or from the entry of a function, before it passes another
 * conditional. */
struct pen_edges {
  const uint32_t *next;                    /* sites, as indices into the function's own sites: the conditionals reached,
                                              and the comparisons and operations before them */
  const struct pen_function *const *calls; /* functions called; null for one that is not instrumented */
  const uint32_t *lines;                   /* lines with code, of the function's own file, ascending */
  const uint32_t *starts;                  /* pairs of line and column where basic blocks begin, in that file,
                                              ascending */
  uint32_t n_next;
  uint32_t n_calls;
  uint32_t n_lines;
  uint32_t n_starts; /* pairs */
};

/* One label of a switch. */
struct pen_case {
  int64_t value;       /* sign-extended */
  uint32_t branch;     /* index among the branches of the site */
  uint32_t to_default; /* from `value` to the nearest value that leads to the default destination; 0 if this one does */
};

/* The cases of a switch, in two orders. The cases with branch b are by_branch[first[b]] to by_branch[first[b + 1] - 1].
 * A value v between those of the first and the last case is searched in cases[bucket[i]] to cases[bucket[i + 1]], where
 * i is the distance from the first value to v, shifted right by `shift`. There are about as many buckets as cases. */
struct pen_switch {
  const struct pen_case *cases;     /* by rising value, in section "pen_cases" */
  const struct pen_case *by_branch; /* by rising branch, then by rising value */
  const uint32_t *first;            /* n_branches + 1 */
  const uint32_t *bucket;
  uint32_t n_cases;
  uint32_t n_branches;
  uint32_t shift;
  uint32_t unused;
};

/* The operand of a switch that came closest to a case. */
struct pen_near {
  uint64_t gap;    /* numbers from the operand to the value of the case; UINT64_MAX: there was none */
  int64_t operand; /* sign-extended */
};

/* A condition of a decision. */
struct pen_node {
  const uint8_t *actions; /* of its two-way site */
  uint32_t next_true;     /* the condition that is evaluated next if this one holds, or an outcome of the decision */
  uint32_t next_false;
  uint32_t on_true;       /* ways through the decision from here if this condition holds */
  uint32_t unused;
};

/* An expression of `&&` and `||` with several conditions, in the order of the source. A way through it is the vector of
 * the evaluated conditions with their values. The number of a way is the sum of on_true over the conditions that do not
 * hold. */
struct pen_decision {
  const uint8_t *actions; /* of its site: one byte per vector */
  const struct pen_node *nodes;
  uint32_t n_nodes;
  uint32_t n_vectors;
};

/* In pen_node.next_true: the whole expression is decided. */
enum pen_outcome { PEN_OUTCOME_FALSE = 0xfffffffe, PEN_OUTCOME_TRUE = 0xffffffff };

/* One per site, in section "pen_sites". The sites of one function are consecutive, in the order of the IR. */
struct pen_site {
  const struct pen_function *function;
  const char *file; /* as in the debug information; directory and name joined unless the name is absolute */
  uint8_t *actions; /* n_branches bytes in section "pen_actions": [0] true, [1] false; or one per destination */
  const struct pen_edges *edges;   /* n_branches */
  const struct pen_case *cases;    /* n_cases, of a switch only, by rising value; branch 0 is the default destination */
  const char *name; /* of an operation, in C notation: "*", "log", "(int)"; of a mutation point its mutants; else "" */
  uint32_t line;                   /* from 1 */
  uint32_t column;                 /* from 1 */
  uint32_t n_branches;
  uint32_t n_cases;
  uint8_t kind;       /* enum pen_site_kind */
  uint8_t predicate;  /* enum pen_predicate */
  uint8_t operand;    /* enum pen_operand */
  uint8_t width;      /* bits of an integer operand; of an operation those of its floats */
  uint32_t possible;  /* one bit per branch: 0 if the compiler can exclude the branch, or only
                          the compiler made it */
  uint32_t operation; /* enum pen_operation */
  uint32_t assumption; /* of a conditional of PEN_ASSUME: PEN_ASSUMED, and a bit for each branch to the rejection; else
                          0 */
  const struct pen_decision *decision; /* of a decision; else null */
};

/* One executed floating-point operation, or one move. The fuzzer repeats the computation in higher precision. */
struct pen_traced {
  const uint8_t *actions; /* of its site; null of a move */
  uint64_t operands[3];   /* of double and float the bits of a double; of an integer its value; of a move see enum
                             pen_move */
  uint64_t result;        /* likewise */
  uint32_t what;          /* enum pen_operation and enum pen_operation_flag */
  uint32_t unused;
};

/* One pass of an armed two-way site. */
struct pen_compared {
  const uint8_t *actions; /* of the site */
  uint64_t a, b; /* operands: of double and float the bits of a double; of an integer its value, extended to 64 bits */
  uint32_t predicate;     /* enum pen_predicate; with PEN_NO_PREDICATE `a` is the distance to the other branch */
  uint32_t taken;         /* 0: the true branch, 1: the false one */
};

/* Bytes that the program compares with, without the 0 byte at the end of a string. */
struct pen_token {
  const uint8_t *bytes;
  uint32_t length;
  uint32_t unused;
};

/* The type of the memory of a `void *`, as the code of a function uses it. */
struct pen_cast {
  const struct pen_type *of; /* the structure of the member; null: it is a parameter */
  const struct pen_type *to; /* the pointer type that replaces `void *`; null: the function uses contradictory types */
  uint64_t at;               /* bytes from the start of the structure, or the number of the parameter, from 0 */
};

enum pen_buffer_flag {
  PEN_BUFFER_INCLUSIVE = 1, /* the second pointer leads to the last element at most, not to the end */
  PEN_BUFFER_LIMIT = 2,     /* the function accesses no memory through the second pointer, and does not change it */
  PEN_BUFFER_WEAK = 4       /* they are only compared for equality: this counts if another pair has one of them */
};

/* Two pointers that the code of a function compares as places in one buffer, the one with the lower address first. */
struct pen_buffer_pair {
  const char *first_of;      /* the structure that the pointer is a member of, as LLVM names it: "ns::color"; "": the
                                pointer lies where the parameter points to; null: it is the parameter itself */
  const char *second_of;
  uint64_t first_at;         /* of a member: bytes from the start of its structure */
  uint64_t second_at;
  uint32_t first_parameter;  /* the parameter, or that from which the member is reached, from 1; 0: unknown */
  uint32_t second_parameter;
  uint32_t votes;            /* how clearly comparisons show the order; 0: they do not */
  uint32_t flags;            /* bits of enum pen_buffer_flag */
};

/* One per defined function, in section "pen_functions". */
struct pen_function {
  const char *name;   /* as in the source */
  const char *symbol; /* as in the object file */
  const char *file;
  const char *unit; /* the source of its translation unit; differs from `file` if that is a header */
  void *address;
  /* Calls the function with the arguments at `in` (input_size bytes). `out` has output_size bytes and is aligned to
   * PEN_CELL_BYTES; only its first cell and its blocks are used. The result is in out[0..8] after the call. A pointer
   * parameter points to the block at out + cell, of PEN_CELL_BYTES or the size of the structure. At the call, the block
   * contains the value from the input, followed by zeros. Null if a parameter is not supported (PEN_UNSUPPORTED). */
  void (*call)(const uint8_t *in, uint8_t *out);
  /* Calls the function with the arguments in memory at `frame` (frame_size bytes, aligned to PEN_CELL_BYTES), each at
   * its pen_param.frame: numbers, structures, and addresses. A result that is a structure is written after the
   * arguments, at result_frame; any other result to out[0..8]. Null if a parameter cannot be passed in this way, or if
   * all parameters are numbers. */
  void (*call_frame)(uint8_t *frame, uint8_t *out);
  const struct pen_param *params;
  const struct pen_site *sites;
  const struct pen_edges *entry; /* one: the edges from the function's entry */
  const uint64_t *floats;        /* floating-point constants in the body, as bits of doubles, each once */
  const int64_t *integers; /* integer constants in comparisons, switches and arithmetic, sign-extended, each once */
  const struct pen_token *tokens; /* constant strings and characters that the body compares with, each once */
  const char *result_type;       /* in C notation */
  const struct pen_references *references; /* one */
  const struct pen_type *result_shape;
  const struct pen_cast *casts;  /* n_casts: the types of `void *` parameters and members */
  const struct pen_buffer_pair *buffers; /* n_buffers: pointers into one buffer */
  uint32_t n_params;
  uint32_t n_sites;
  uint32_t n_floats;
  uint32_t n_integers;
  uint32_t n_tokens;
  uint32_t result_kind; /* enum pen_kind; PEN_UNSUPPORTED if the result is not a scalar */
  uint32_t input_size;  /* bytes */
  uint32_t line;
  uint32_t is_static;   /* 1: not visible to other translation units */
  uint32_t output_size; /* bytes, a multiple of PEN_CELL_BYTES */
  uint32_t is_constructor; /* 1: runs when the file is loaded */
  uint32_t frame_size;     /* bytes, a multiple of PEN_CELL_BYTES, with the result */
  uint32_t result_frame;   /* of a result that is a structure; else 0 */
  uint32_t n_casts;
  uint32_t n_buffers;
  uint32_t unused;
};

/* The progress of an evaluation of a decision. */
struct pen_walk {
  uint32_t node;   /* the next condition; 0: no evaluation has begun */
  uint32_t vector; /* the sum so far, see struct pen_decision */
};

/* Memory that the fuzzer passes to the function. */
struct pen_block {
  void *at;
  uint64_t size; /* bytes */
  uint64_t use;  /* enum pen_block_use */
};

/* The mutable state, one per target file. */
struct pen_state {
  uint64_t r;           /* value of the representing function, in the metric's representation */
  int64_t fuel;         /* back edges and entries of non-leaf functions left; at zero `stop` is called */
  uint32_t metric;      /* enum pen_metric */
  uint32_t hits;        /* entries in taken[] since the fuzzer last cleared it */
  uint32_t n_improved;  /* entries in improved[] since the fuzzer last cleared it */
  uint32_t last_branch; /* the branch that last changed r */
  uint8_t *outcomes;    /* one per branch; null: nothing is recorded */
  uint64_t *best;       /* one per branch; null: nothing is tracked */
  uint32_t *improved;   /* branches whose best[] became smaller since then, and cases whose near[] did (their numbers
                           plus the number of branches), each once; needs room for one entry for each */
  uint8_t *coverage;    /* SanCov map, one saturating counter per guard, guard 0 unused; null: off */
  /* Ends the evaluation and does not return. Null outside the fuzzer. `reason` is enum pen_stop, `place` a code
   * address. */
  void (*stop)(uint32_t reason, void *place);
  int64_t exit_status;  /* the argument of exit(), set before `stop` is called with PEN_STOP_EXIT; with PEN_STOP_THROW
                           the address of the name of the type that was thrown, or 0; with PEN_STOP_CHECK that of the
                           text; before an abort of __pen_not_allocated that of the memory */
  const uint64_t *lead; /* one per branch: r at distance 0 from the branch, see PEN_LEAD; null: there is none */
  /* The path: n_path branches of sites with PEN_STEP, in the order of their passes. Within a segment the passes are
   * contiguous; before a segment there may be any others. The last step may be PEN_END.
   *
   * back[i] is the number of steps that still match when step i does not: the failure function of Knuth, Morris and
   * Pratt within the segment. For the first step of a segment it is that step itself. In a first segment that begins
   * with the first pass of the run it is PEN_STRAYED: the run cannot take the path any more. */
  const uint32_t *path;
  const uint32_t *back;
  uint32_t n_path;
  uint32_t path_at;   /* steps matched so far, or PEN_STRAYED and above; the fuzzer clears it before a run */
  uint32_t path_bits; /* bits of r below the number of missing steps, 16 to 54 */
  uint32_t watch;     /* a branch of a comparison or an operation: `seen` gets its operands when it is first taken */
  uint64_t seen[4];   /* operands and result, floats as bits of doubles; the result of a comparison, in seen[2], is
                         whether the condition holds */
  uint64_t n_seen;    /* times that `watch` was taken since the fuzzer last cleared it */
  struct pen_traced *trace; /* gets armed operations in order, and armed mutation points, with `result`, and in `what`
                               the bits of a float, 0 for an integer; null: off */
  uint32_t n_trace;         /* number of operations since the fuzzer last cleared it; may exceed trace_room */
  uint32_t trace_room;      /* entries that fit in `trace` */
  uint32_t *passes;     /* the branches taken by the passes of sites with PEN_STEP, in order; null: off */
  uint32_t n_passes;    /* number of passes since the fuzzer last cleared it; may exceed passes_room */
  uint32_t passes_room; /* entries that fit in `passes` */
  uint32_t *taken;      /* branches with PEN_RECORD whose outcome byte was set since the fuzzer cleared `hits` and that
                           byte; needs room for one entry per branch; null: they are not listed */
  uint8_t *is_improved; /* one per branch and one per case: whether it is in improved[]; the fuzzer clears it with the
                           list */
  struct pen_near *near; /* one per case; null: nothing is tracked at switches */
  const uint32_t *measured; /* the branches of switches with PEN_WANT or PEN_LEAD, ascending; null: the hook searches
                               them */
  uint32_t n_measured;
  uint32_t n_allocated; /* other than 0: code of the target has allocated memory since the last release */
  struct pen_compared *compared; /* in the metric PEN_BOUNDARY: a ring of the latest passes of armed two-way sites;
                                    null: off */
  uint32_t n_compared;    /* number of these passes since the fuzzer last cleared it, overwritten ones included */
  uint32_t compared_room; /* entries of the ring, a power of two */
  struct pen_walk *walks; /* one per branch; each decision uses that of its first vector; null: decisions are skipped */
  uint32_t n_walks; /* evaluations of decisions interrupted by recursive ones; the fuzzer clears it before a run */
  uint32_t reach_infects; /* other than 0: a run that passes a mutation point takes the branches of all its mutants */
  const uint8_t *mutant; /* the action byte of the active mutant, whose site must be armed; null: the original runs */
  double epsilon; /* in the metric PEN_SQUARED, the distance of a strict comparison whose operands are equal; finite and
                     at least 0 */
  struct pen_block *blocks; /* the memory of the current run */
  uint64_t n_blocks;
};

/* The last step of a path if no site with PEN_STEP may be passed after it. */
#define PEN_END UINT32_MAX

/* A value of `back`: the run has left the path for good. From here on, `path_at` counts the passes; at UINT32_MAX the
 * run ends with PEN_STOP_STRAYED. */
#define PEN_STRAYED (UINT32_MAX - 32)

/* Why the runtime calls `stop`. */
enum pen_stop {
  PEN_STOP_FUEL = 1,
  PEN_STOP_EXIT = 2,
  PEN_STOP_STRAYED = 3,
  PEN_STOP_THROW = 4,
  PEN_STOP_REJECTED = 5,
  PEN_STOP_CHECK = 6
};

/* How the memory that evaluations allocate is treated. */
enum pen_heap {
  PEN_HEAP_FREE = 0,  /* it is freed */
  PEN_HEAP_LOSE = 1,  /* it is not freed: it is in use, or a fault may have corrupted the heap. An arena is cleared */
  PEN_HEAP_ARENA = 2, /* it is allocated from an arena from now on, which the two values above clear */
  PEN_HEAP_SYSTEM = 3 /* it is allocated by the C library from now on (the initial state) */
};

enum pen_block_use {
  PEN_BLOCK_FIXED = 0, /* free() must not get it, as if it were a variable */
  PEN_BLOCK_HEAP = 1,  /* as if malloc() had returned it */
  PEN_BLOCK_FREED = 2, /* the run has freed or reallocated it */
  PEN_BLOCK_KEPT = 3   /* the run has tried to reallocate it, but there was not enough memory */
};

enum pen_assumption { PEN_ASSUMED = 1 << 30 };

/* The results of a function that a verification task leaves to its environment (`__VERIFIER_nondet_int`). The fuzzer
 * sets `values` and `n` before a call. */
struct pen_stream {
  const char *name;   /* of the function */
  const void *values; /* `n` numbers of the kind; null outside the fuzzer */
  uint32_t kind;      /* enum pen_kind */
  uint32_t n;
  uint32_t taken;     /* number of calls so far; from the nth on they return 0 */
  uint32_t unused;
};

enum { PEN_FILL_VALUES = 8 };

/* The values of memory that is read before it is written: of local variables, and of blocks from malloc and its like.
 * Variables that become registers always begin with one, all others if `on` is not 0. Numbers that follow each other
 * have different places in the arrays. */
struct pen_fill {
  uint64_t on;
  uint64_t integer[PEN_FILL_VALUES]; /* of integers of at most 64 bits, and of pointers */
  double real[PEN_FILL_VALUES];
  float real32[PEN_FILL_VALUES];
  uint8_t bytes[64]; /* of all other types, and of large objects; all are equal */
};

/* The tables of a target file, at the exported symbol __pen_tables. */
struct pen_tables {
  uint32_t version;  /* PEN_ABI_VERSION; the first member in every version */
  uint32_t n_guards; /* SanCov guards; the map needs one byte more */
  struct pen_state *state;
  const struct pen_site *sites, *sites_end;
  const struct pen_function *functions, *functions_end;
  uint8_t *actions, *actions_end; /* the number of a branch is the offset of its byte from `actions` */
  const struct pen_case *cases, *cases_end; /* the number of a case is its offset from `cases` */
  const struct pen_variable *variables, *variables_end;
  uint64_t *sancov_gate; /* 0: SanCov callbacks are skipped; without effect if the target's clang cannot gate them */
  struct pen_stream *streams, *streams_end;
  void (*release)(uint32_t how); /* releases the allocations of evaluations; `how` is enum pen_heap */
  struct pen_fill *fill;
  const uint8_t *fills, *fills_end; /* one byte for each module whose code reads `fill` */
};

#endif

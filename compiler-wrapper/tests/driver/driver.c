/* Loads a target and prints the results of its functions and the distances of their branches, for inputs that are the
 * same on every machine. It checks what must hold on one machine by itself; the test compares the output of two
 * machines.
 *
 * usage: driver TARGET          every function, one line for each input
 *        driver TARGET flags    every function NAME with one operation, against flags_NAME, which reads the CPU's flags
 *
 * Exit status: 1 if a check failed. */
#include "../../runtime/pen.h"

#include <dlfcn.h>
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS 32
#define FLAG_INPUTS 2000
#define FUEL 2000 /* loop iterations and calls */
#define MAX_BYTES 1024
#define MAX_POINTERS 16

static const struct pen_tables *tables;
static int failures;

static void fail(const struct pen_function *f, int input, const char *what) {
  if (failures++ < 20) printf("FAIL %s, input %d: %s\n", f->name, input, what);
}

/* ---- inputs -------------------------------------------------------------------------------------------------- */

static uint64_t seed;

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t next(void) {
  uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static double special(void) {
  static const double values[] = {
      0, -0.0, 1, -1, 0.5, 1.5, 2, 3, 7, -6, 0.1, 1e10, -1e10, 0x1p53, 0x1p62, HUGE_VAL, -HUGE_VAL, NAN, -NAN,
      0x1p-1074, -0x1.8p-1050, 0x1p-1022, 0x1.fffffffffffffp1023, /* ends of double */
      0x1p-149, 0x1.fffffep127,                                   /* and of float */
  };
  return values[next() % (sizeof values / sizeof *values)];
}

static double number(const struct pen_function *f) {
  double x;
  uint64_t bits = next();
  switch (next() % 5) {
    case 0: return special();
    case 1: memcpy(&x, &bits, sizeof x); return x; /* of any class */
    case 2: return (double)(int64_t)(bits % 40) - 20;
    default: break;
  }
  if (!f->n_floats) return special() * (1 + (double)(bits % 3));
  bits = f->floats[bits % f->n_floats] + next() % 3 - 1;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t integer(const struct pen_function *f) {
  uint64_t bits = next();
  switch (next() % 4) {
    case 0: return bits % 21 - 10;
    case 1: return bits;
    default: return (f->n_integers ? (uint64_t)f->integers[bits % f->n_integers] : bits & 0xff) + next() % 3 - 1;
  }
}

/* Near a limit of double, float or an integer type, or such that the product or quotient with `first` is. */
static double near_limit(double first) {
  static const int limits[] = {-1075, -1074, -1023, -1022, 1023, 1024, -150, -149, -127, -126, 127, 128, 31, 63};
  int exponent = isfinite(first) && first != 0 ? ilogb(first) : 0;
  int limit = limits[next() % (sizeof limits / sizeof *limits)] + (int)(next() % 3) - 1;
  double significands[] = {1, 1 + (double)(next() % 8) / 8, 2 - 0x1p-52 * (double)(next() % 4),
                           1 + (double)(next() >> 12) * 0x1p-52};
  double x = significands[next() % 4] * (next() % 2 ? 1 : -1);
  switch (next() % 3) {
    case 0: return ldexp(x, limit - exponent);
    case 1: return ldexp(x, exponent - limit);
    default: return ldexp(x, limit);
  }
}

static void fill(const struct pen_function *f, uint8_t *in, int near_limits) {
  double first = 1;
  for (uint32_t i = 0; i < f->n_params; i++) {
    const struct pen_param *p = &f->params[i];
    if (p->kind == PEN_OUTPUT) continue;
    double x = near_limits && next() % 4 ? near_limit(first) : number(f);
    first = x;
    float single = (float)x;
    uint64_t bits = integer(f);
    const void *value = p->kind == PEN_F64 ? (void *)&x : p->kind == PEN_F32 ? (void *)&single : (void *)&bits;
    memcpy(in + p->offset, value, p->size); /* little-endian */
  }
}

/* ---- arming, as the fuzzer does it --------------------------------------------------------------------------- */

static void arm_site(const struct pen_site *site, uint32_t wanted, uint8_t action) {
  for (uint32_t i = 0; i < site->n_branches; i++) site->actions[i] = i == wanted ? action : PEN_NEAR;
  site->actions[0] |= PEN_ARMED;
  if (site->kind != PEN_COMPARISON) return;
  site->actions[-2] |= PEN_NEAR | PEN_ARMED; /* the two-way site before it, whose hook evaluates the comparison */
  site->actions[-1] |= PEN_NEAR;
}

static void disarm_all(void) { memset(tables->actions, 0, (size_t)(tables->actions_end - tables->actions)); }

static jmp_buf stopped;

static void stop(uint32_t reason, void *place) {
  (void)place;
  longjmp(stopped, (int)reason);
}

static uint32_t block_bytes(const struct pen_param *p) { return p->kind == PEN_OUTPUT ? p->size : PEN_CELL_BYTES; }

/* Bytes of the result and of all blocks. */
static uint32_t all_output_bytes(const struct pen_function *f) {
  uint32_t bytes = PEN_CELL_BYTES;
  for (uint32_t i = 0; i < f->n_params; i++)
    if (f->params[i].pointer)
      bytes += (block_bytes(&f->params[i]) + PEN_CELL_BYTES - 1) / PEN_CELL_BYTES * PEN_CELL_BYTES;
  return bytes;
}

/* One call, which ends if FUEL is used up. `out` gets all_output_bytes: the result, and behind it the blocks of the
 * parameters. Returns the value of the representing function, which is UINT64_MAX before the call. */
static uint64_t run(const struct pen_function *f, const uint8_t *in, uint8_t *out, uint32_t metric) {
  static uint8_t *area;
  uint32_t at = PEN_CELL_BYTES;
  if (!area) area = aligned_alloc(PEN_CELL_BYTES, MAX_POINTERS * (size_t)PEN_STRIDE_BYTES);
  memset(area, 0, PEN_CELL_BYTES);
  memset(out, 0, all_output_bytes(f));
  memset(tables->state->outcomes, 0, (size_t)(tables->actions_end - tables->actions));
  tables->state->metric = metric;
  tables->state->r = UINT64_MAX;
  tables->state->fuel = FUEL;
  if (!setjmp(stopped)) f->call(in, area);
  memcpy(out, area, PEN_CELL_BYTES);
  for (uint32_t i = 0; i < f->n_params; i++) {
    const struct pen_param *p = &f->params[i];
    if (!p->pointer) continue;
    memcpy(out + at, area + p->cell, block_bytes(p));
    at += (block_bytes(p) + PEN_CELL_BYTES - 1) / PEN_CELL_BYTES * PEN_CELL_BYTES;
  }
  return tables->state->r;
}

/* ---- every branch of a function ------------------------------------------------------------------------------ */

static int is_nan_result(const struct pen_function *f, const uint8_t *out) {
  double x;
  float single;
  memcpy(&x, out, sizeof x);
  memcpy(&single, out, sizeof single);
  return f->result_kind == PEN_F64 ? isnan(x) : f->result_kind == PEN_F32 && isnan(single);
}

/* NaN counts as one value: the bits of the NaN of an invalid operation depend on the machine. */
static void print_output(const struct pen_function *f, const uint8_t *out) {
  uint32_t from = is_nan_result(f, out) ? PEN_CELL_BYTES : 0;
  if (from) printf(" nan");
  for (uint32_t i = from, end = all_output_bytes(f); i < end; i++) printf(i % 8 ? "%02x" : " %02x", out[i]);
}

/* Arms a branch with PEN_WANT in this metric. Then r is 0 if and only if the branch is taken, and the result is that of
 * unarmed hooks. */
static void want(const struct pen_function *f, int input, const struct pen_site *site, uint32_t branch, uint32_t metric,
                 const uint8_t *in, const uint8_t *expected) {
  uint8_t out[MAX_BYTES] __attribute__((aligned(16)));
  disarm_all();
  arm_site(site, branch, PEN_WANT | PEN_MIN | PEN_RECORD);
  uint64_t r = run(f, in, out, metric);
  int taken = tables->state->outcomes[site->actions + branch - tables->actions];
  if ((r == 0) != taken) fail(f, input, "r is 0 for a branch that is not taken, or not 0 for one that is");
  if (memcmp(out, expected, all_output_bytes(f)) != 0) fail(f, input, "an armed hook changed the result");
  printf(" %" PRIx64, r);
}

static uint64_t *leads; /* one per branch */

/* Arms a branch of a two-way site with PEN_LEAD, and its sibling not at all. Then r lies between its level and the next
 * one if and only if the site is passed and the branch is missed. */
static void lead(const struct pen_function *f, int input, const struct pen_site *site, uint32_t branch,
                 const uint8_t *in) {
  const uint64_t level = UINT64_C(1) << 63;
  uint8_t out[MAX_BYTES] __attribute__((aligned(16)));
  disarm_all();
  for (uint32_t i = 0; i < 2; i++) site->actions[i] = PEN_RECORD;
  site->actions[0] |= PEN_ARMED;
  run(f, in, out, PEN_ULP);
  int missed = tables->state->outcomes[site->actions + 1 - branch - tables->actions];
  disarm_all();
  arm_site(site, branch, PEN_LEAD);
  leads[site->actions + branch - tables->actions] = level;
  uint64_t r = run(f, in, out, PEN_ULP);
  int is_led = r >= level && r - level < UINT64_C(1) << PEN_LEAD_BITS;
  if (is_led != missed) fail(f, input, "r has no level of a branch that is missed, or the level of another one");
}

static void all_branches(const struct pen_function *f) {
  uint8_t in[MAX_BYTES] = {0}, out[MAX_BYTES] __attribute__((aligned(16)));
  for (int input = 0; input < INPUTS; input++) {
    seed = (uint64_t)input;
    fill(f, in, 0);
    disarm_all();
    run(f, in, out, PEN_ULP);
    printf("%s %d", f->name, input);
    print_output(f, out);
    for (uint32_t s = 0; s < f->n_sites; s++) {
      const struct pen_site *site = &f->sites[s];
      printf(" | %u:", site->line);
      for (uint32_t branch = 0; branch < site->n_branches; branch++) {
        if (!(site->possible >> branch & 1)) continue;
        want(f, input, site, branch, site->kind == PEN_COMPARISON ? PEN_BOUNDARY : PEN_ULP, in, out);
        want(f, input, site, branch, PEN_SQUARED, in, out);
        if (site->kind == PEN_BRANCH || site->kind == PEN_SELECT) lead(f, input, site, branch, in);
      }
    }
    printf("\n");
  }
}

/* ---- operations and the flags of the hardware ---------------------------------------------------------------- */

static const struct pen_function *function_named(const char *prefix, const char *name) {
  char full[64];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  for (const struct pen_function *f = tables->functions; f < tables->functions_end; f++)
    if (strcmp(f->name, full) == 0) return f;
  return NULL;
}

static int operands_are_finite(const struct pen_function *f, const uint8_t *in) {
  for (uint32_t i = 0; i < f->n_params; i++) {
    double x = 0;
    float single = 0;
    if (f->params[i].kind == PEN_F64) memcpy(&x, in + f->params[i].offset, sizeof x);
    if (f->params[i].kind == PEN_F32) memcpy(&single, in + f->params[i].offset, sizeof single);
    if (!isfinite(x) || !isfinite(single)) return 0;
  }
  return 1;
}

/* Whether the operation is a sum or difference with this subnormal result: the hook takes the branch of an underflow,
 * and the hardware raises nothing, because the result is exact. */
static int is_subnormal_sum(const struct pen_site *site, const uint8_t *out) {
  double x = 0;
  float single = 0;
  if (site->operation != PEN_ADD && site->operation != PEN_SUBTRACT) return 0;
  if (site->width == 32) memcpy(&single, out, sizeof single);
  else memcpy(&x, out, sizeof x);
  return fpclassify(x) == FP_SUBNORMAL || fpclassify(single) == FP_SUBNORMAL;
}

/* The hook takes the branches of the exceptions that the hardware raises. */
static void compare_with_flags(const struct pen_function *f, const struct pen_function *flags) {
  uint8_t in[MAX_BYTES] = {0}, out[MAX_BYTES] __attribute__((aligned(16)));
  const struct pen_site *site = f->sites;
  while (site->kind != PEN_OPERATION) site++;
  int to_integer = site->operation == PEN_TO_SIGNED || site->operation == PEN_TO_UNSIGNED;
  for (int input = 0; input < FLAG_INPUTS; input++) {
    seed = (uint64_t)input;
    fill(f, in, 1);
    disarm_all();
    run(flags, in, out, PEN_ULP);
    uint32_t raised = out[0] & (to_integer ? 1u << PEN_INVALID : site->possible), taken = 0;
    if (!to_integer && !operands_are_finite(f, in)) raised = 0;
    for (uint32_t i = 0; i < PEN_EXCEPTIONS; i++) site->actions[i] = PEN_RECORD;
    site->actions[0] |= PEN_ARMED;
    run(f, in, out, PEN_ULP);
    if (operands_are_finite(f, in) && is_subnormal_sum(site, out)) raised |= 1u << PEN_UNDERFLOW;
    for (uint32_t i = 0; i < PEN_EXCEPTIONS; i++)
      taken |= (uint32_t)tables->state->outcomes[site->actions + i - tables->actions] << i;
    /* glibc's pow raises underflow for results that are exact, too. */
    if (site->operation == PEN_POW && !(taken >> PEN_UNDERFLOW & 1)) raised &= ~(1u << PEN_UNDERFLOW);
    if (taken == raised) continue;
    char text[64];
    snprintf(text, sizeof text, "the hook takes %02x, the hardware raises %02x", taken, raised);
    fail(f, input, text);
  }
  printf("%s: %s agrees with the hardware in %d inputs\n", f->name, site->name, FLAG_INPUTS);
}

int main(int argc, char **argv) {
  void *target = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  tables = target ? dlsym(target, "__pen_tables") : NULL;
  if (!tables || tables->version != PEN_ABI_VERSION) {
    fprintf(stderr, "driver: no target of ABI version %u: %s\n", PEN_ABI_VERSION, dlerror());
    return 2;
  }
  tables->state->stop = stop;
  size_t n = (size_t)(tables->actions_end - tables->actions) + 1;
  tables->state->outcomes = calloc(n, 1);
  leads = calloc(n, sizeof *leads);
  tables->state->lead = leads;
  for (const struct pen_function *f = tables->functions; f < tables->functions_end; f++) {
    if (!f->call || f->is_static || f->input_size > MAX_BYTES || all_output_bytes(f) > MAX_BYTES ||
        f->output_size > MAX_POINTERS * (size_t)PEN_STRIDE_BYTES)
      continue;
    const struct pen_function *flags = argc > 2 ? function_named("flags_", f->name) : NULL;
    if (flags) compare_with_flags(f, flags);
    else if (argc == 2 && !strstr(f->name, "flags_")) all_branches(f); /* PEN_SQUARED raises inexact */
  }
  return failures != 0;
}

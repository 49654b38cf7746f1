/* Boundary values of the comparison of a two-way site (ME, Sect. 4.4.2, for each comparison by itself): a == b and the two
 * numbers next to it. Part of pen.c.
 *
 * Everything in integers, so that no exception is raised. In the metric PEN_SQUARED the distances are squared, too. */

/* Action bytes of a two-way site; those of its comparison follow. */
#define TWO_WAY 2

/* The operands are those of the branch that is watched. */
static void note_seen(uint32_t branch, uint64_t a, uint64_t b, uint32_t taken) {
  if (branch != __pen_state.watch) return;
  if (__pen_state.n_seen++) return;
  __pen_state.seen[0] = a;
  __pen_state.seen[1] = b;
  __pen_state.seen[2] = !taken;
}

/* Where `a` lies: `gap` numbers below b, or above it. `beyond` is how far the operands are from being numbers, 0 if both are;
 * `to_equal` is the distance to a == b, the gap itself unless something leads there better. */
struct lie {
  int is_below;
  uint64_t gap, beyond, to_equal;
};

static uint64_t to_side(const struct lie *at, enum pen_side side) {
  if (side == PEN_EQUAL) return at->to_equal;
  if (at->gap && at->is_below == (side == PEN_BELOW)) return at->gap - 1;
  return add_sat(at->gap, PEN_OTHER_SIDE);
}

/* `seen` of a and b as pen_state has it. */
static void on_sides(const uint8_t *sides, uint32_t taken, const struct lie *at, uint64_t a, uint64_t b) {
  for (uint32_t side = PEN_BELOW; side < PEN_SIDES; side++) {
    const uint8_t *action = sides + side;
    if (!(*action & ~PEN_ARMED)) continue;
    uint64_t d = add_sat(to_side(at, side), at->beyond);
    if (d) {
      miss(action, in_metric(d));
    } else {
      take(action);
      note_seen(number_of(action), a, b, taken);
    }
  }
}

static int is_less(uint32_t predicate, uint64_t a, uint64_t b) {
  return IS_UNSIGNED(predicate) ? a < b : (int64_t)a < (int64_t)b;
}

/* The site of `actions` has its comparison in the bytes behind; `predicate` and operands as for __pen_icmp. */
static void sides_of_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  int less = is_less(predicate, a, b);
  uint64_t gap = less ? b - a : a - b;
  struct lie at = {less, gap, 0, gap};
  on_sides(actions + TWO_WAY, taken, &at, a, b);
}

static struct lie lie_of(struct place a, struct place b) {
  int64_t ka = clamped(a), kb = clamped(b);
  uint64_t gap = ka < kb ? (uint64_t)kb - (uint64_t)ka : (uint64_t)ka - (uint64_t)kb;
  return (struct lie){ka < kb, gap, add_sat(excess(a), excess(b)), gap};
}

static void sides_of_fcmp64(const uint8_t *actions, uint32_t taken, double a, double b) {
  struct lie at = lie_of(place_of_double(a), place_of_double(b));
  on_sides(actions + TWO_WAY, taken, &at, as_bits(a), as_bits(b));
}

static uint64_t widened_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return widened(format_of(1), bits);
}

static void sides_of_fcmp32(const uint8_t *actions, uint32_t taken, float a, float b) {
  struct lie at = lie_of(place_of_float(a), place_of_float(b));
  on_sides(actions + TWO_WAY, taken, &at, widened_float(a), widened_float(b));
}

/* Like __pen_on_icmp, for a site whose comparison `a op b` is not the one that leads to the other outcome; __pen_sides tells
 * of that one. */
SLOW void on_other_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  struct pen_pair p = icmp(predicate, a, b);
  __pen_take(actions, taken, taken ? p.to_true : p.to_false);
}

KEEPS_REGISTERS void __pen_on_other_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  if (!only_near(actions[taken])) {
    on_other_icmp(actions, taken, predicate, a, b);
    return;
  }
  near(actions, taken, exact_icmp(predicate, a, b, !taken));
}

/* The comparison with the bytes `sides`, operands as for __pen_icmp; `to_equal` is the distance to a == b that the condition
 * has by what is behind it, 0 where that is the operands. Other distances are those of the operands. */
KEEPS_REGISTERS void __pen_sides(const uint8_t *sides, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b,
                                 uint64_t to_equal) {
  if (__pen_state.metric == PEN_ULP) return;
  int less = is_less(predicate, a, b);
  uint64_t gap = less ? b - a : a - b;
  struct lie at = {less, gap, 0, a == b ? 0 : to_equal ? to_equal : gap};
  on_sides(sides, taken, &at, a, b);
}

/* A float of 80 bits: its fraction, and in 16 bits exponent and sign. */
struct wide {
  uint64_t fraction;
  uint32_t upper;
};

/* Its place on the line of its floats, both zeros at 0; the bit before the fraction's point follows from the exponent. */
static __int128 place_of_80(struct wide x) {
  __int128 size = (__int128)(x.upper & 0x7fff) << 63 | (x.fraction & INT64_MAX);
  return x.upper & 0x8000 ? -size : size;
}

static uint64_t saturated(unsigned __int128 n) { return n > FAR ? FAR : (uint64_t)n; }

/* How many floats beyond infinity. */
static uint64_t excess_of_80(__int128 place) {
  const __int128 infinity = (__int128)0x7fff << 63;
  __int128 size = place < 0 ? -place : place;
  return size > infinity ? saturated((unsigned __int128)(size - infinity)) : 0;
}

static uint64_t seen_of_80(struct wide x) {
  return as_bits(place_of_wide((uint64_t)x.upper << 48 | x.fraction >> 16, 80).value);
}

/* A comparison of floats of 80 bits. */
KEEPS_REGISTERS void __pen_sides80(const uint8_t *sides, uint32_t taken, uint64_t fraction_a, uint32_t upper_a,
                                   uint64_t fraction_b, uint32_t upper_b) {
  if (__pen_state.metric == PEN_ULP) return;
  struct wide a = {fraction_a, upper_a}, b = {fraction_b, upper_b};
  __int128 ka = place_of_80(a), kb = place_of_80(b);
  uint64_t gap = saturated((unsigned __int128)(ka < kb ? kb - ka : ka - kb));
  struct lie at = {ka < kb, gap, add_sat(excess_of_80(ka), excess_of_80(kb)), gap};
  on_sides(sides, taken, &at, seen_of_80(a), seen_of_80(b));
}

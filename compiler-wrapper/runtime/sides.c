/* Boundary values of the comparison of a two-way site (ME, Sect. 4.4.2, for each comparison by itself): a == b, and a
 * one number below and above b. Part of pen.c.
 *
 * Integer arithmetic only, so that no exception is raised. In the metric PEN_SQUARED the distances are squared at the
 * end. */

/* The number of action bytes of a two-way site. Those of its comparison follow. */
#define TWO_WAY 2

/* Stores the operands in `seen` if `branch` is watched and is taken for the first time. */
static void record_operands(uint32_t branch, uint64_t a, uint64_t b, uint32_t taken) {
  if (branch != __pen_state.watch) return;
  if (__pen_state.n_seen++) return;
  __pen_state.seen[0] = a;
  __pen_state.seen[1] = b;
  __pen_state.seen[2] = !taken;
}

/* The position of `a` relative to `b`. */
struct offset {
  int is_below;      /* a < b */
  uint64_t gap;      /* the number of numbers between them */
  uint64_t beyond;   /* the distance of the operands to being numbers, 0 if both are */
  uint64_t to_equal; /* the distance to a == b: the gap, unless the condition has a better one */
};

/* The distance to one side of b. */
static uint64_t to_side(const struct offset *offset, enum pen_side side) {
  if (side == PEN_EQUAL) return offset->to_equal;
  if (offset->gap && offset->is_below == (side == PEN_BELOW)) return offset->gap - 1;
  return add_sat(offset->gap, PEN_OTHER_SIDE);
}

/* Handles all sides of a comparison; a and b are the operands in the form of pen_state.seen. */
static void on_sides(const uint8_t *sides, uint32_t taken, const struct offset *offset, uint64_t a, uint64_t b) {
  for (uint32_t side = PEN_BELOW; side < PEN_SIDES; side++) {
    const uint8_t *action = sides + side;
    if (!(*action & ~PEN_ARMED)) continue;
    uint64_t d = add_sat(to_side(offset, side), offset->beyond);
    if (d) {
      branch_missed(action, distance_in_metric(d));
    } else {
      branch_taken(action);
      record_operands(branch_of(action), a, b, taken);
    }
  }
}

static int is_less(uint32_t predicate, uint64_t a, uint64_t b) {
  return IS_UNSIGNED(predicate) ? a < b : (int64_t)a < (int64_t)b;
}

/* Handles the comparison of the two-way site with these action bytes. Predicate and operands as for __pen_icmp. */
static void sides_of_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  int less = is_less(predicate, a, b);
  uint64_t gap = less ? b - a : a - b;
  struct offset offset = {less, gap, 0, gap};
  on_sides(actions + TWO_WAY, taken, &offset, a, b);
}

static struct offset offset_of_floats(struct ulp_point a, struct ulp_point b) {
  int64_t position_a = clamped(a), position_b = clamped(b);
  uint64_t gap = ulps_between(position_a, position_b);
  return (struct offset){position_a < position_b, gap, add_sat(beyond_infinity(a), beyond_infinity(b)), gap};
}

static void sides_of_fcmp64(const uint8_t *actions, uint32_t taken, double a, double b) {
  struct offset offset = offset_of_floats(point_of_double(a), point_of_double(b));
  on_sides(actions + TWO_WAY, taken, &offset, as_bits(a), as_bits(b));
}

static void sides_of_fcmp32(const uint8_t *actions, uint32_t taken, float a, float b) {
  struct offset offset = offset_of_floats(point_of_float(a), point_of_float(b));
  on_sides(actions + TWO_WAY, taken, &offset, widened_float(a), widened_float(b));
}

/* Like __pen_on_icmp, for a site whose comparison in the source has other operands than the one that leads to the other
 * outcome. __pen_sides handles the comparison of the source. */
SLOW void on_other_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  struct pen_pair p = icmp(predicate, a, b);
  note_compared(actions, taken, predicate, a, b);
  take(actions, taken, taken ? p.to_true : p.to_false);
}

KEEPS_REGISTERS void __pen_on_other_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a,
                                         uint64_t b) {
  if (!only_near(actions[taken])) {
    on_other_icmp(actions, taken, predicate, a, b);
    return;
  }
  other_branch_missed(actions, taken, exact_icmp(predicate, a, b, !taken));
}

/* Handles the comparison with the action bytes `sides`; predicate and operands as for __pen_icmp. `to_equal` is the
 * distance to a == b by the comparisons from which the operands derive, or 0 if there are none; the other distances are
 * those of the operands. */
KEEPS_REGISTERS void __pen_sides(const uint8_t *sides, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b,
                                 uint64_t to_equal) {
  if (__pen_state.metric == PEN_ULP) return;
  int less = is_less(predicate, a, b);
  uint64_t gap = less ? b - a : a - b;
  struct offset offset = {less, gap, 0, a == b ? 0 : to_equal ? to_equal : gap};
  on_sides(sides, taken, &offset, a, b);
}

/* A float of 80 bits. */
struct float80 {
  uint64_t fraction;
  uint32_t upper; /* 16 bits: sign and exponent */
};

/* The position on the ULP line, both zeros at 0. The leading bit of the significand is omitted, because the exponent
 * determines it. */
static __int128 position_of_80(struct float80 x) {
  __int128 magnitude = (__int128)(x.upper & 0x7fff) << 63 | (x.fraction & INT64_MAX);
  return x.upper & 0x8000 ? -magnitude : magnitude;
}

/* At most MAX_DISTANCE. */
static uint64_t clamped_distance(unsigned __int128 n) { return n > MAX_DISTANCE ? MAX_DISTANCE : (uint64_t)n; }

/* The number of floats from infinity to this NaN; 0 for a number. */
static uint64_t beyond_infinity_of_80(__int128 position) {
  const __int128 infinity = (__int128)0x7fff << 63;
  __int128 magnitude = position < 0 ? -position : position;
  return magnitude > infinity ? clamped_distance((unsigned __int128)(magnitude - infinity)) : 0;
}

static uint64_t double_bits_of_80(struct float80 x) {
  return as_bits(point_of_wide((uint64_t)x.upper << 48 | x.fraction >> 16, 80).value);
}

/* Like __pen_sides, for floats of 80 bits. */
KEEPS_REGISTERS void __pen_sides80(const uint8_t *sides, uint32_t taken, uint64_t fraction_a, uint32_t upper_a,
                                   uint64_t fraction_b, uint32_t upper_b) {
  if (__pen_state.metric == PEN_ULP) return;
  struct float80 a = {fraction_a, upper_a}, b = {fraction_b, upper_b};
  __int128 position_a = position_of_80(a), position_b = position_of_80(b);
  int is_below = position_a < position_b;
  uint64_t gap = clamped_distance((unsigned __int128)(is_below ? position_b - position_a : position_a - position_b));
  uint64_t beyond = add_sat(beyond_infinity_of_80(position_a), beyond_infinity_of_80(position_b));
  struct offset offset = {is_below, gap, beyond, gap};
  on_sides(sides, taken, &offset, double_bits_of_80(a), double_bits_of_80(b));
}

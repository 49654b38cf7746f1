/* Switches: the case that an operand takes, its distances to others, and the cases to which it is closest. Part of
 * pen.c.
 *
 * The cost of a pass does not grow with the number of cases: the hook searches the operand in a bucket of the sorted
 * cases, and notes it only at the case below it and the case above it. For a case further away, the fuzzer uses the
 * operand that was noted at the nearest case that has one. */

/* The number of the first case whose value is not below `value`; n_cases if there is none. */
static uint32_t case_at(const struct pen_switch *s, int64_t value) {
  if (value <= s->cases[0].value) return 0;
  if (value > s->cases[s->n_cases - 1].value) return s->n_cases;
  uint64_t bucket = ((uint64_t)value - (uint64_t)s->cases[0].value) >> s->shift;
  uint32_t low = s->bucket[bucket], high = s->bucket[bucket + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->cases[middle].value < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The numbers between two integers. */
static uint64_t gap_of(int64_t a, int64_t b) { return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b; }

/* The distance to the nearest value that leads to `branch`, which the operand does not take. If `branch` is the default
 * destination, the operand takes a case, because it takes another branch. */
static uint64_t to_branch(const struct pen_switch *s, uint32_t branch, int64_t value) {
  if (branch == 0) {
    uint64_t step = s->cases[case_at(s, value)].to_default;
    return __pen_state.metric == PEN_SQUARED ? squared((double)step, 0) : step;
  }
  uint32_t low = s->first[branch], end = s->first[branch + 1], high = end;
  const struct pen_case *own = s->by_branch;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (own[middle].value < value) low = middle + 1;
    else high = middle;
  }
  uint64_t best = MAX_DISTANCE;
  if (low < end) best = integers(EQUAL, (uint64_t)value, (uint64_t)own[low].value, 1).to_true;
  if (low > s->first[branch])
    best = smaller(best, integers(EQUAL, (uint64_t)value, (uint64_t)own[low - 1].value, 1).to_true);
  return best;
}

static void note_near(const struct pen_case *c, int64_t value) {
  uint64_t number = (uint64_t)(c - __start_pen_cases), gap = gap_of(value, c->value);
  struct pen_near *near = &__pen_state.near[number];
  if (gap >= near->gap) return;
  *near = (struct pen_near){gap, value};
  list_improved((uint32_t)(__stop_pen_actions - __start_pen_actions + number));
}

/* Notes an operand that equals the case `at`, or is between the case before it and this one. */
static void note_neighbours(const struct pen_switch *s, uint32_t at, int64_t value) {
  if (at < s->n_cases) note_near(&s->cases[at], value);
  if (at > 0 && (at == s->n_cases || s->cases[at].value != value)) note_near(&s->cases[at - 1], value);
}

static void measure_branch(const uint8_t *actions, uint32_t branch, const struct pen_switch *s, int64_t value) {
  branch_missed(actions + branch, to_branch(s, branch, value));
}

/* Computes the distances of all branches with PEN_WANT or PEN_LEAD that are not taken. */
static void measure_branches(const uint8_t *actions, uint32_t taken, const struct pen_switch *s, int64_t value) {
  const uint32_t *measured = __pen_state.measured;
  if (!measured) {
    for (uint32_t branch = 0; branch < s->n_branches; branch++)
      if (branch != taken && actions[branch] & (PEN_WANT | PEN_LEAD)) measure_branch(actions, branch, s, value);
    return;
  }
  uint32_t first = branch_of(actions), low = 0, high = __pen_state.n_measured;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (measured[middle] < first) low = middle + 1;
    else high = middle;
  }
  for (; low < __pen_state.n_measured && measured[low] - first < s->n_branches; low++)
    if (measured[low] - first != taken) measure_branch(actions, measured[low] - first, s, value);
}

/* Handles a switch: one action byte per destination, the first for the default. */
KEEPS_REGISTERS void __pen_switch(const uint8_t *actions, int64_t value, const struct pen_switch *s) {
  uint32_t at = case_at(s, value), taken = 0;
  if (at < s->n_cases && s->cases[at].value == value) taken = s->cases[at].branch;
  branch_taken(actions + taken);
  if (actions[taken] & PEN_STEP) step_switch(actions, taken, value, s);
  if (__pen_state.n_measured || !__pen_state.measured) measure_branches(actions, taken, s, value);
  if (actions[0] & PEN_NEAR && __pen_state.near && __pen_state.best) note_neighbours(s, at, value);
}

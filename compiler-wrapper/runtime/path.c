/* Paths (path reachability: ME, Sect. 4.4.1): each pass of a site with PEN_STEP is compared with the next step. Included by
 * pen.c.
 *
 * r orders runs first by the number of steps that are missing, then by the distance to the branch of the next one, so that a
 * run which gets farther is always closer. */

/* Keeps the order within `bits`: exact where it is small, in steps of 2^(65 - bits) where it is large. */
static uint64_t compressed(uint64_t d, uint32_t bits) {
  const uint64_t exact = UINT64_C(1) << (bits - 4);
  return d <= exact ? d : exact + ((d - exact) >> (65 - bits));
}

/* Bits of a distance below a level of the approach, whose levels share the topmost quarter of what is below a step. */
#define PATH_LEAD_BITS 8

/* Passes off the path after which the rest of the run is spared: nothing more is to be learnt from it. To leave it costs more
 * than a few passes do. */
SLOW void stop_strayed_run(void) {
  if (__pen_state.stop) __pen_state.stop(PEN_STOP_STRAYED, __builtin_return_address(0));
}

/* A pass when no step is left (`at` >= n_path): the path is taken, or none is set, or the run has strayed. */
INLINE void pass_without_step(uint32_t at) {
  if (at < PEN_STRAYED) return;
  if (at == UINT32_MAX) stop_strayed_run();
  else __pen_state.path_at = at + 1;
}

static uint64_t path_mask(void) { return (UINT64_C(1) << __pen_state.path_bits) - 1; }

static void note_pass(uint32_t branch) {
  if (!__pen_state.passes) return;
  if (__pen_state.n_passes < __pen_state.passes_room) __pen_state.passes[__pen_state.n_passes] = branch;
  if (__pen_state.n_passes < UINT32_MAX) __pen_state.n_passes++;
}

static void set_path_r(uint64_t r, uint32_t branch) {
  __pen_state.r = r;
  __pen_state.last_branch = branch;
}

/* `at` steps match. */
static void set_matched_steps(uint32_t at, uint32_t branch) {
  __pen_state.path_at = at;
  if (at == PEN_STRAYED) return;
  uint64_t missing = __pen_state.n_path - at;
  uint64_t r = missing == 0 || __pen_state.path[at] == PEN_END ? 0 : missing << __pen_state.path_bits | path_mask();
  if (r < __pen_state.r) set_path_r(r, branch);
}

/* How many steps match when step `at` does not, but `branch` was taken. */
static uint32_t fall_back(uint32_t at, uint32_t branch) {
  for (;;) {
    uint32_t back = __pen_state.back[at];
    if (back == PEN_STRAYED) return PEN_STRAYED;
    if (__pen_state.path[back] == branch) return back + 1;
    if (back == at) return at;
    at = back;
  }
}

/* A pass that takes `branch` while a step is left, when the branch of the next step is `d` away: squeezed, or path_mask(). */
static void match_pass(uint32_t branch, uint64_t d) {
  uint32_t at = __pen_state.path_at;
  if (__pen_state.path[at] == branch) {
    set_matched_steps(at + 1, branch);
    return;
  }
  uint64_t r = (uint64_t)(__pen_state.n_path - at) << __pen_state.path_bits | d;
  /* Behind the end of a path that must end, r was 0. */
  if (r < __pen_state.r || __pen_state.path[at] == PEN_END) set_path_r(r, branch);
  set_matched_steps(fall_back(at, branch), branch);
}

/* How far a branch that leads to the next step's site is away, above its level; only in the segment that the leads are for. */
static uint64_t lead_distance(const uint8_t *action, uint64_t d) {
  if (!(*action & PEN_LEAD) || !__pen_state.lead) return path_mask();
  uint64_t base = __pen_state.lead[branch_of(action)];
  if (base >> __pen_state.path_bits != __pen_state.n_path - __pen_state.path_at) return path_mask();
  return (base & path_mask()) + compressed(d, __pen_state.path_bits - PATH_LEAD_BITS);
}

/* A two-way site, `d` being the distance to the branch that is not taken. */
SLOW void step_two_way(const uint8_t *actions, uint32_t taken, uint64_t d) {
  uint32_t branch = branch_of(actions + taken), at = __pen_state.path_at;
  note_pass(branch);
  if (at >= __pen_state.n_path) {
    pass_without_step(at);
    return;
  }
  const uint8_t *other = actions + (1 - taken);
  if (d == 0) d = 1; /* not taken, so not at distance 0 */
  match_pass(branch, __pen_state.path[at] == branch_of(other) ? compressed(d, __pen_state.path_bits) : lead_distance(other, d));
}

/* Whether nothing is to be done at a two-way site but to go on along the path, or off it; then it is done. In integer
 * registers, since on a path nearly all passes are such. */
INLINE int follows_path(const uint8_t *actions, uint32_t taken) {
  if ((actions[taken] & ~PEN_ARMED) != PEN_STEP || __pen_state.passes) return 0;
  uint32_t at = __pen_state.path_at;
  if (at >= __pen_state.n_path) {
    pass_without_step(at);
    return 1;
  }
  if (__pen_state.path[at] != branch_of(actions + taken)) return 0;
  set_matched_steps(at + 1, branch_of(actions + taken));
  return 1;
}

/* As `branch_missed` in pen.c measures it. */
static uint64_t to_branch(const struct pen_case *cases, uint32_t n_cases, uint32_t branch, int64_t value);

SLOW void step_switch(const uint8_t *actions, uint32_t taken, int64_t value, const struct pen_case *cases, uint32_t n_cases,
                      uint32_t n_branches) {
  uint32_t first = branch_of(actions), at = __pen_state.path_at;
  note_pass(first + taken);
  if (at >= __pen_state.n_path) {
    pass_without_step(at);
    return;
  }
  uint32_t wanted = __pen_state.path[at];
  uint64_t d = path_mask();
  if (wanted >= first && wanted < first + n_branches && wanted != first + taken)
    d = compressed(to_branch(cases, n_cases, wanted - first, value), __pen_state.path_bits);
  else if (wanted != first + taken)
    for (uint32_t branch = 0; branch < n_branches; branch++)
      if (branch != taken && actions[branch] & PEN_LEAD)
        d = smaller(d, lead_distance(actions + branch, to_branch(cases, n_cases, branch, value)));
  match_pass(first + taken, d);
}

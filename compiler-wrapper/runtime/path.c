/* Path reachability (ME, Sect. 4.4.1): each pass of a site with PEN_STEP is compared with the next step of the path.
 * Part of pen.c.
 *
 * The value of r orders runs first by the number of missing steps, then by the distance to the branch of the next step.
 * So a run that takes more steps is always closer. */

/* Compresses a distance to `bits` bits and keeps the order: exact if it is small, in steps of 2^(65 - bits) if it is
 * large. */
static uint64_t compressed(uint64_t d, uint32_t bits) {
  const uint64_t exact = UINT64_C(1) << (bits - 4);
  return d <= exact ? d : exact + ((d - exact) >> (65 - bits));
}

/* The bits below the number of missing steps for the levels of the branches that lead to the next step's site. The
 * levels share the topmost quarter of the values below a step. */
#define PATH_LEAD_BITS 8

/* Ends a run that has left the path, because it yields no further information. It is called only after some further
 * passes, because ending a run costs more than a few passes. */
SLOW void stop_strayed_run(void) {
  if (__pen_state.stop) __pen_state.stop(PEN_STOP_STRAYED, __builtin_return_address(0));
}

/* A pass without a next step (`at` >= n_path): the path was taken, or there is none, or the run has left it. */
INLINE void pass_without_step(uint32_t at) {
  if (at < PEN_STRAYED) return;
  if (at == UINT32_MAX) stop_strayed_run();
  else __pen_state.path_at = at + 1;
}

/* The largest distance below the number of missing steps. */
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

/* Sets the number of matching steps to `at`. */
static void set_matched_steps(uint32_t at, uint32_t branch) {
  __pen_state.path_at = at;
  if (at == PEN_STRAYED) return;
  uint64_t missing = __pen_state.n_path - at;
  uint64_t r = missing == 0 || __pen_state.path[at] == PEN_END ? 0 : missing << __pen_state.path_bits | path_mask();
  if (r < __pen_state.r) set_path_r(r, branch);
}

/* The number of steps that match after `branch` was taken and is not the branch of the next step `at`. */
static uint32_t fall_back(uint32_t at, uint32_t branch) {
  for (;;) {
    uint32_t back = __pen_state.back[at];
    if (back == PEN_STRAYED) return PEN_STRAYED;
    if (__pen_state.path[back] == branch) return back + 1;
    if (back == at) return at;
    at = back;
  }
}

/* A pass that takes `branch` while there is a next step. `d` is the distance to the branch of that step, compressed, or
 * path_mask() if it is unknown. */
static void match_pass(uint32_t branch, uint64_t d) {
  uint32_t at = __pen_state.path_at;
  if (__pen_state.path[at] == branch) {
    set_matched_steps(at + 1, branch);
    return;
  }
  uint64_t r = (uint64_t)(__pen_state.n_path - at) << __pen_state.path_bits | d;
  /* After the last step r is 0. If no pass may follow, this one makes r positive again. */
  if (r < __pen_state.r || __pen_state.path[at] == PEN_END) set_path_r(r, branch);
  set_matched_steps(fall_back(at, branch), branch);
}

/* The level and the distance of a branch that leads to the next step's site. path_mask() if the branch has no level for
 * this step. */
static uint64_t lead_distance(const uint8_t *action, uint64_t d) {
  if (!(*action & PEN_LEAD) || !__pen_state.lead) return path_mask();
  uint64_t base = __pen_state.lead[branch_of(action)];
  if (base >> __pen_state.path_bits != __pen_state.n_path - __pen_state.path_at) return path_mask();
  return (base & path_mask()) + compressed(d, __pen_state.path_bits - PATH_LEAD_BITS);
}

/* A pass of a two-way site; `d` is the distance to the branch that is not taken. */
SLOW void step_two_way(const uint8_t *actions, uint32_t taken, uint64_t d) {
  uint32_t branch = branch_of(actions + taken), at = __pen_state.path_at;
  note_pass(branch);
  if (at >= __pen_state.n_path) {
    pass_without_step(at);
    return;
  }
  const uint8_t *other = actions + (1 - taken);
  if (d == 0) d = 1; /* a branch that is not taken is not at distance 0 */
  match_pass(branch,
             __pen_state.path[at] == branch_of(other) ? compressed(d, __pen_state.path_bits) : lead_distance(other, d));
}

/* Handles a pass of a two-way site that takes the next step or has no next step, and has no other action: on a path,
 * nearly all passes. Returns 0 for any other pass. Needs neither calls nor floating-point registers. */
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

/* Defined in switch.c. */
static uint64_t to_branch(const struct pen_switch *s, uint32_t branch, int64_t value);

/* A pass of a switch. */
SLOW void step_switch(const uint8_t *actions, uint32_t taken, int64_t value, const struct pen_switch *s) {
  uint32_t first = branch_of(actions), at = __pen_state.path_at;
  note_pass(first + taken);
  if (at >= __pen_state.n_path) {
    pass_without_step(at);
    return;
  }
  uint32_t wanted = __pen_state.path[at];
  uint64_t d = path_mask();
  if (wanted >= first && wanted < first + s->n_branches && wanted != first + taken)
    d = compressed(to_branch(s, wanted - first, value), __pen_state.path_bits);
  else if (wanted != first + taken)
    for (uint32_t branch = 0; branch < s->n_branches; branch++)
      if (branch != taken && actions[branch] & PEN_LEAD)
        d = smaller(d, lead_distance(actions + branch, to_branch(s, branch, value)));
  match_pass(first + taken, d);
}

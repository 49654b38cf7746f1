/* The operands of the comparisons at armed sites, for a search that measures how they depend on the arguments. Part of
 * pen.c.
 *
 * Integer arithmetic only, so that no exception is raised. */

/* The bits of the same number as a double. */
static uint64_t widened_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return widened(format_of(1), bits);
}

/* Writes a pass of a two-way site to the ring, if there is one. */
INLINE void note_compared(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  if (__pen_state.metric != PEN_BOUNDARY || !__pen_state.compared) return;
  uint32_t at = __pen_state.n_compared++ & (__pen_state.compared_room - 1);
  __pen_state.compared[at] = (struct pen_compared){actions, a, b, predicate, taken};
}

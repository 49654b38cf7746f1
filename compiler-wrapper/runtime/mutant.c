/* Mutation points: the active mutant, and the mutants that infect the original run. */

KEEPS_REGISTERS void __pen_mutant(struct pen_pair *result, const uint8_t *actions, uint32_t n) {
  uintptr_t at = (uintptr_t)__pen_state.mutant - (uintptr_t)actions;
  result->to_true = at < n ? at : n + (__pen_state.trace != 0);
}

KEEPS_REGISTERS void __pen_on_mutant(const uint8_t *action, uint64_t d) {
  if (d == 0 || __pen_state.reach_infects) branch_taken(action);
  else branch_missed(action, d);
}

static int is_nan(uint64_t bits, uint32_t floats) {
  if (floats == 64) return bits << 1 > UINT64_C(0x7ff) << 53;
  return floats == 32 && (uint32_t)bits << 1 > 0xffu << 24;
}

/* For values other than truth values, no distance between the operands and a difference of the values is known. */
KEEPS_REGISTERS void __pen_on_mutated(const uint8_t *action, uint64_t original, uint64_t mutated, uint32_t floats) {
  int same = original == mutated || (is_nan(original, floats) && is_nan(mutated, floats));
  __pen_on_mutant(action, same);
}

KEEPS_REGISTERS void __pen_on_value(const uint8_t *actions, uint64_t value, uint32_t floats) {
  if (!__pen_state.trace) return;
  write_trace(&(struct pen_traced){.actions = actions, .result = value, .what = floats});
}

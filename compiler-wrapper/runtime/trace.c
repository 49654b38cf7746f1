/* The trace: entries that the fuzzer reads after a run, in order. */

static void write_trace(const struct pen_traced *entry) {
  uint32_t n = __pen_state.n_trace;
  /* Counts also the entries without room, so that the fuzzer sees how many are missing. */
  if (n < UINT32_MAX) __pen_state.n_trace = n + 1;
  if (n < __pen_state.trace_room) __pen_state.trace[n] = *entry;
}

KEEPS_REGISTERS void __pen_on_move(const void *address, const void *name, uint32_t what, uint64_t bits) {
  if (!__pen_state.trace) return;
  uint64_t number = widened(format_of(!!(what & PEN_SINGLE)), bits);
  write_trace(&(struct pen_traced){.operands = {(uintptr_t)address, (uintptr_t)name}, .result = number, .what = what});
}

KEEPS_REGISTERS void __pen_on_operands(const void *a, const void *b, const void *c, const void *result) {
  if (!__pen_state.trace) return;
  write_trace(&(struct pen_traced){
      .operands = {(uintptr_t)a, (uintptr_t)b, (uintptr_t)c}, .result = (uintptr_t)result, .what = PEN_OPERANDS});
}

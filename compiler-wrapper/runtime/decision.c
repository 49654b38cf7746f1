/* Vectors of decisions: the conditions of an expression of `&&` and `||` that an evaluation of it has found true and
 * false. Part of pen.c.
 *
 * Each evaluation of the expression within a run counts. A vector that is wanted or tracked has the distance of the
 * first condition that differs from it: first by the number of missing conditions after it, then by its branch
 * distance. */

/* The bits of a distance below 2^63 for the condition that differs; the number of missing conditions is above them. */
#define VECTOR_BITS 56

/* The maximum number of evaluations of decisions that are interrupted by recursion at the same time. Further ones are
 * not recorded. */
#define MOST_SAVED 64

static struct saved_walk {
  struct pen_walk *place, walk;
} saved_walks[MOST_SAVED];

/* A recursive evaluation of the same decision may end before the outer one continues. */
static void begin_walk(struct pen_walk *walk) {
  if (walk->node && __pen_state.n_walks < MOST_SAVED)
    saved_walks[__pen_state.n_walks++] = (struct saved_walk){walk, *walk};
  *walk = (struct pen_walk){0, 0};
}

static void end_walk(struct pen_walk *walk) {
  *walk = (struct pen_walk){0, 0};
  if (!__pen_state.n_walks || saved_walks[__pen_state.n_walks - 1].place != walk) return;
  *walk = saved_walks[--__pen_state.n_walks].walk;
}

/* The number of conditions of the vector from this one on; `vector` is its number among the ways from there. */
static uint64_t conditions_from(const struct pen_decision *decision, uint32_t number, uint32_t vector) {
  uint64_t n = 0;
  for (; number < decision->n_nodes; n++) {
    const struct pen_node *node = decision->nodes + number;
    int is_true = vector < node->on_true;
    vector -= is_true ? 0 : node->on_true;
    number = is_true ? node->next_true : node->next_false;
  }
  return n;
}

/* The number of ways from a condition on. */
static uint32_t ways_from(const struct pen_decision *decision, uint32_t number) {
  uint32_t n = 1;
  for (; number < decision->n_nodes; number = decision->nodes[number].next_false) n += decision->nodes[number].on_true;
  return n;
}

/* Updates the vectors that agree with the evaluation up to this condition and differ in it; d is the distance to its
 * other outcome. */
static void miss_vectors(const struct pen_decision *decision, uint32_t first, uint32_t number, uint64_t d) {
  const uint8_t need_distance = PEN_WANT | PEN_TRACK;
  d = compressed(d + (d == 0), VECTOR_BITS);
  for (uint32_t i = 0, n = ways_from(decision, number); i < n; i++) {
    const uint8_t *action = decision->actions + first + i;
    if (*action & need_distance) branch_missed(action, conditions_from(decision, number, i) << VECTOR_BITS | d);
  }
}

/* A condition of an armed decision: `taken` is 0 if it holds and 1 if not, `d` the distance to the other outcome. */
KEEPS_REGISTERS void __pen_condition(const struct pen_decision *decision, uint32_t number, uint32_t taken, uint64_t d) {
  if (!__pen_state.walks) return;
  struct pen_walk *walk = __pen_state.walks + branch_of(decision->actions);
  const struct pen_node *node = decision->nodes + number;
  if (number == 0) begin_walk(walk);
  else if (walk->node != number) return; /* begun before the decision was armed, or left by an exception */
  if (taken) miss_vectors(decision, walk->vector, node->next_true, d);
  else miss_vectors(decision, walk->vector + node->on_true, node->next_false, d);
  uint32_t vector = walk->vector + (taken ? node->on_true : 0);
  uint32_t next = taken ? node->next_false : node->next_true;
  if (next < decision->n_nodes) {
    *walk = (struct pen_walk){next, vector};
    return;
  }
  end_walk(walk);
  branch_taken(decision->actions + vector);
}

/* Distances of strcmp, memcmp and functions like them to "equal". Part of pen.c.
 *
 * At each position the distance is the difference of the two bytes. A position that only one operand has counts
 * MISSING_BYTE, more than any difference. So each byte that becomes right reduces the distance, and so does each byte
 * by which an operand that is too short grows.
 *
 * Reading never faults. The call that compared the operands has read both up to their first difference, and memory is
 * protected by pages. So reading continues to the end of the page of the first difference, and in a constant to its
 * end. */

#define LEAST_PAGE_BYTES 4096
#define MISSING_BYTE 256
/* The maximum number of missing positions: a length may be any number. */
#define MAX_MISSING (UINT64_C(1) << 32)
/* The distance of a null pointer, which g_strcmp0 accepts, to another pointer. */
#define NULL_DISTANCE (UINT64_C(1) << 16)

INLINE uint8_t case_folded(uint8_t c, uint32_t how) {
  return how & PEN_BYTES_FOLDED && c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* The position of the first difference, or the one where both strings end, or `n`. */
static uint64_t first_difference(const uint8_t *a, const uint8_t *b, uint64_t n, uint32_t how) {
  uint64_t i = 0;
  while (i < n && a[i] == b[i] && (a[i] || !(how & PEN_BYTES_ENDED))) i++;
  return i;
}

/* The number of positions of an operand that can be read, the 0 byte at the end of a string included. The positions
 * before `at` contain no end and can be read, and so can `readable` bytes. */
static uint64_t positions_of(const uint8_t *p, uint64_t at, uint64_t n, uint64_t readable, uint32_t how) {
  uint64_t to_end_of_page = at + LEAST_PAGE_BYTES - (uintptr_t)(p + at) % LEAST_PAGE_BYTES;
  if (readable < to_end_of_page) readable = to_end_of_page;
  uint64_t end = smaller(n, readable);
  if (!(how & PEN_BYTES_ENDED)) return end;
  for (uint64_t i = at; i < end; i++)
    if (!p[i]) return i + 1;
  return end;
}

/* The bounds of the file's parts with contents: code, constants, initialized variables. */
extern WEAK_HIDDEN const uint8_t __ehdr_start[], _edata[];

static int has_contents_in_file(const uint8_t *p) {
  return (uintptr_t)p >= (uintptr_t)__ehdr_start && (uintptr_t)p < (uintptr_t)_edata;
}

/* The distance of operands that differ. */
static uint64_t bytes_gap(const uint8_t *a, const uint8_t *b, uint64_t n, uint64_t known, uint32_t how) {
  if (!a || !b) return NULL_DISTANCE;
  /* The constant may be passed through a variable or a parameter. */
  int is_a_constant = has_contents_in_file(a), is_b_constant = has_contents_in_file(b);
  if (!(how & PEN_BYTES_CONSTANT) && is_a_constant != is_b_constant) {
    const uint8_t *variable = is_a_constant ? b : a, *constant = is_a_constant ? a : b;
    return bytes_gap(variable, constant, n, 0, how | PEN_BYTES_CONSTANT);
  }
  uint64_t at = first_difference(a, b, n, how), d = 0;
  uint64_t in_a = positions_of(a, at, n, 0, how), in_b = positions_of(b, at, n, known, how), both = smaller(in_a, in_b);
  uint64_t wanted = n; /* memory */
  if (how & PEN_BYTES_ENDED) wanted = how & PEN_BYTES_CONSTANT || in_a < in_b ? in_b : in_a;
  if (wanted < both) both = wanted;
/* Strings are short, and vector registers would have to be saved. */
#pragma clang loop vectorize(disable) unroll(disable)
  for (uint64_t i = at; i < both; i++) {
    uint8_t x = case_folded(a[i], how), y = case_folded(b[i], how);
    d += x < y ? y - x : x - y;
  }
  d += smaller(wanted - both, MAX_MISSING) * MISSING_BYTE;
  return d ? d : 1; /* by the rules of the program's locale they differ */
}

KEEPS_REGISTERS void __pen_bytes(struct pen_pair *result, const uint8_t *a, const uint8_t *b, uint64_t n,
                                 uint64_t known, uint32_t how) {
  if (how & PEN_BYTES_DIFFER) *result = (struct pen_pair){0, distance_in_metric(bytes_gap(a, b, n, known, how))};
  else *result = (struct pen_pair){least_distance(), 0};
}

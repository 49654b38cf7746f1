/* Memory that an evaluation allocates and does not free. A function that makes an object returns it, and a process makes millions of
 * evaluations. So their addresses are listed, and the fuzzer has them freed before the next evaluation.
 *
 * Only calls from the code of the target file count (`--wrap`, src/link.rs): what the C library allocates for itself it may still need in
 * later evaluations. What the C library frees, moves or keeps of the target's memory is taken off the list.
 *
 * The list is a set: open addressing with linear probing (Knuth, TAOCP 3, Sect. 6.4, Algorithms L and R). */
#include <errno.h>
#include <stdio.h>

/* The fuzzer restores other sections (engine/src/program/state.rs). */
#define KEPT __attribute__((section("pen_allocations")))

enum { FEWEST_SLOTS = 64 };

struct slots {
  void **at;
  size_t n; /* a power of two, or 0 */
};
static struct slots slots KEPT = {NULL, 0};

/* Threads of the target may allocate, too. An evaluation that is ended within these functions leaves it locked; see release. */
static int locked KEPT = 0;

extern void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t);
extern void *__real_aligned_alloc(size_t, size_t);
extern int __real_posix_memalign(void **, size_t, size_t);
extern void __real_free(void *);
extern char *__real_strdup(const char *), *__real_strndup(const char *, size_t);
extern ssize_t __real_getdelim(char **, size_t *, int, FILE *);
extern int __real_putenv(char *), __real_setvbuf(FILE *, char *, int, size_t);
extern void __real_setbuf(FILE *, char *);

static void lock(void) {
  while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE)) continue;
}

static void unlock(void) { __atomic_store_n(&locked, 0, __ATOMIC_RELEASE); }

static size_t home_of(const void *p, struct slots s) { return ((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (s.n - 1); }

/* The slot that holds `p`, or the free one where it belongs. There is a free one. */
static size_t slot_of(const void *p, struct slots s) {
  size_t i = home_of(p, s);
  while (s.at[i] && s.at[i] != p) i = (i + 1) & (s.n - 1);
  return i;
}

/* Has the set room for one more? It is at most half full. */
static int has_room(void) {
  if (__pen_state.n_allocated < slots.n / 2) return 1;
  struct slots more = {NULL, slots.n ? 2 * slots.n : FEWEST_SLOTS};
  more.at = __real_calloc(more.n, sizeof *more.at);
  if (!more.at) return 0;
  for (size_t i = 0; i < slots.n; i++)
    if (slots.at[i]) more.at[slot_of(slots.at[i], more)] = slots.at[i];
  __real_free(slots.at);
  slots = more;
  return 1;
}

static void *listed(void *p) {
  if (!p || !__pen_state.stop) return p;
  lock();
  if (has_room()) {
    size_t i = slot_of(p, slots);
    if (!slots.at[i]) __pen_state.n_allocated++;
    slots.at[i] = p;
  }
  unlock();
  return p;
}

/* Moves what lies behind the free slot `hole` to where a search finds it. */
static void close_hole(size_t hole) {
  size_t mask = slots.n - 1;
  for (size_t i = (hole + 1) & mask; slots.at[i]; i = (i + 1) & mask) {
    if (((i - home_of(slots.at[i], slots)) & mask) < ((i - hole) & mask)) continue;
    slots.at[hole] = slots.at[i];
    slots.at[i] = NULL;
    hole = i;
  }
}

/* Was it on the list? */
static int unlisted(const void *p) {
  if (!p || !__pen_state.n_allocated) return 0;
  lock();
  size_t i = slot_of(p, slots);
  int was = slots.at[i] != NULL;
  if (was) {
    slots.at[i] = NULL;
    __pen_state.n_allocated--;
    close_hole(i);
  }
  unlock();
  return was;
}

/* Frees what is on the list; with `lost`, only forgets it: a fault may have left the heap inconsistent or locked. */
static void release(uint32_t lost) {
  if (lost) {
    slots = (struct slots){NULL, 0};
  } else {
    for (size_t i = 0; i < slots.n; i++) __real_free(slots.at[i]);
    if (__pen_state.n_allocated < slots.n / 8 && slots.n > FEWEST_SLOTS) {
      __real_free(slots.at);
      slots = (struct slots){NULL, 0};
    } else if (slots.n) {
      memset(slots.at, 0, slots.n * sizeof *slots.at);
    }
  }
  __pen_state.n_allocated = 0;
  unlock();
}

HIDDEN void *__wrap_malloc(size_t size) { return listed(__real_malloc(size)); }

HIDDEN void *__wrap_calloc(size_t n, size_t size) { return listed(__real_calloc(n, size)); }

HIDDEN void *__wrap_aligned_alloc(size_t alignment, size_t size) { return listed(__real_aligned_alloc(alignment, size)); }

HIDDEN int __wrap_posix_memalign(void **p, size_t alignment, size_t size) {
  int error = __real_posix_memalign(p, alignment, size);
  if (!error) listed(*p);
  return error;
}

HIDDEN void *__wrap_realloc(void *p, size_t size) {
  int was = unlisted(p);
  void *moved = __real_realloc(p, size);
  /* Without room for it, the old one stays. */
  if (moved) return listed(moved);
  if (was && size) listed(p);
  return NULL;
}

HIDDEN void *__wrap_reallocarray(void *p, size_t n, size_t size) {
  size_t bytes;
  if (!__builtin_mul_overflow(n, size, &bytes)) return __wrap_realloc(p, bytes);
  errno = ENOMEM;
  return NULL;
}

HIDDEN void __wrap_free(void *p) {
  unlisted(p);
  __real_free(p);
}

HIDDEN char *__wrap_strdup(const char *text) { return listed(__real_strdup(text)); }

HIDDEN char *__wrap_strndup(const char *text, size_t n) { return listed(__real_strndup(text, n)); }

HIDDEN ssize_t __wrap_getdelim(char **line, size_t *size, int end, FILE *from) {
  unlisted(*line);
  ssize_t n = __real_getdelim(line, size, end, from);
  listed(*line);
  return n;
}

HIDDEN ssize_t __wrap_getline(char **line, size_t *size, FILE *from) { return __wrap_getdelim(line, size, '\n', from); }

/* The C library keeps these. */
HIDDEN int __wrap_putenv(char *text) {
  unlisted(text);
  return __real_putenv(text);
}

HIDDEN int __wrap_setvbuf(FILE *file, char *buffer, int mode, size_t size) {
  unlisted(buffer);
  return __real_setvbuf(file, buffer, mode, size);
}

HIDDEN void __wrap_setbuf(FILE *file, char *buffer) {
  unlisted(buffer);
  __real_setbuf(file, buffer);
}

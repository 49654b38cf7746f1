/* Frees the memory that an evaluation allocates and does not free. A function that creates an object returns it, and a
 * process makes millions of evaluations. So the memory comes from an arena (arena.c), which the fuzzer clears before
 * the next evaluation. If variables keep addresses from one evaluation to the next there is no arena, and the
 * allocations of the C library are listed instead.
 *
 * Only calls from the code of the target file count (`--wrap`, src/link.rs): later evaluations may still need what the
 * C library allocates for itself. If the C library frees, moves or keeps memory of the target, the memory is removed
 * from the list, and memory of the arena is replaced by memory of the C library.
 *
 * The list is a set: open addressing with linear probing (Knuth, TAOCP 3, Sect. 6.4, Algorithms L and R). */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A section that the fuzzer does not restore, unlike other sections (target/src/program/state.rs). */
#define KEPT __attribute__((section("pen_allocations")))

enum { FEWEST_SLOTS = 64 };

struct slots {
  void **at;
  size_t n; /* a power of two, or 0 */
};
static struct slots slots KEPT = {NULL, 0};
static size_t n_listed KEPT = 0;

#include "arena.c"

/* Threads of the target may allocate, too. An evaluation that ends within these functions leaves it locked; see
 * release. */
static int locked KEPT = 0;

extern void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t);
extern void *__real_aligned_alloc(size_t, size_t);
extern int __real_posix_memalign(void **, size_t, size_t);
extern void __real_free(void *);
extern size_t __real_malloc_usable_size(void *);
extern ssize_t __real_getdelim(char **, size_t *, int, FILE *);
extern int __real_putenv(char *), __real_setvbuf(FILE *, char *, int, size_t);

static void lock(void) {
  while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE)) continue;
}

static void unlock(void) { __atomic_store_n(&locked, 0, __ATOMIC_RELEASE); }

static size_t home_of(const void *p, struct slots s) {
  return ((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (s.n - 1);
}

/* The slot that holds `p`, or the free one where it belongs. There must be a free slot. */
static size_t slot_of(const void *p, struct slots s) {
  size_t i = home_of(p, s);
  while (s.at[i] && s.at[i] != p) i = (i + 1) & (s.n - 1);
  return i;
}

/* Whether the set has room for one more. It is at most half full. */
static int has_room(void) {
  if (n_listed < slots.n / 2) return 1;
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
    if (!slots.at[i]) n_listed++;
    slots.at[i] = p;
    __pen_state.n_allocated = 1;
  }
  unlock();
  return p;
}

/* Moves the entries after the free slot `hole` to where a search finds them. */
static void close_hole(size_t hole) {
  size_t mask = slots.n - 1;
  for (size_t i = (hole + 1) & mask; slots.at[i]; i = (i + 1) & mask) {
    if (((i - home_of(slots.at[i], slots)) & mask) < ((i - hole) & mask)) continue;
    slots.at[hole] = slots.at[i];
    slots.at[i] = NULL;
    hole = i;
  }
}

/* Removes `p` from the list. Returns whether it was on the list. */
static int unlisted(const void *p) {
  if (!p || !n_listed) return 0;
  lock();
  size_t i = slot_of(p, slots);
  int was = slots.at[i] != NULL;
  if (was) {
    slots.at[i] = NULL;
    n_listed--;
    close_hole(i);
  }
  unlock();
  return was;
}

static void free_list(void) {
  for (size_t i = 0; i < slots.n; i++) __real_free(slots.at[i]);
  if (n_listed < slots.n / 8 && slots.n > FEWEST_SLOTS) {
    __real_free(slots.at);
    slots = (struct slots){NULL, 0};
  } else if (slots.n) {
    memset(slots.at, 0, slots.n * sizeof *slots.at);
  }
}

static void release(uint32_t how) {
  if (how == PEN_HEAP_ARENA) {
    arena_begin();
    return;
  }
  arena_clear();
  if (how == PEN_HEAP_FREE) {
    free_list();
  } else {
    slots = (struct slots){NULL, 0};
  }
  if (how == PEN_HEAP_SYSTEM) arena.at = NULL;
  n_listed = __pen_state.n_allocated = 0;
  unlock();
}

/* Memory of the arena; null if there is no arena. */
static void *taken(size_t size) {
  if (!arena.at || !__pen_state.stop) return NULL;
  lock();
  void *p = arena_take(size);
  unlock();
  return p;
}

static void given(void *p) {
  lock();
  arena_give(p);
  unlock();
}

/* Gives a new block the value of uninitialized memory. */
static void *filled(void *p, size_t size) {
  return p && __pen_fill.on ? memset(p, __pen_fill.bytes[0], size) : p;
}

HIDDEN void *__wrap_malloc(size_t size) {
  void *p = taken(size);
  return filled(p ? p : listed(__real_malloc(size)), size);
}

HIDDEN void *__wrap_calloc(size_t n, size_t size) {
  size_t bytes;
  void *p = __builtin_mul_overflow(n, size, &bytes) ? NULL : taken(bytes);
  return p ? memset(p, 0, bytes) : listed(__real_calloc(n, size));
}

HIDDEN void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  void *p = alignment <= ALIGNMENT ? taken(size) : NULL;
  return filled(p ? p : listed(__real_aligned_alloc(alignment, size)), size);
}

HIDDEN int __wrap_posix_memalign(void **p, size_t alignment, size_t size) {
  int error = __real_posix_memalign(p, alignment, size);
  if (!error) filled(listed(*p), size);
  return error;
}

/* Ends the evaluation as the C library does if it has not allocated the memory that it is to free. The fuzzer knows
 * this function by its name (fuzzer/executor/src/fault.rs). */
HIDDEN __attribute__((noinline, noreturn)) void __pen_not_allocated(const void *p);
void __pen_not_allocated(const void *p) {
  __pen_state.exit_status = (int64_t)(intptr_t)p;
  abort();
}

/* The same for memory that it has freed before. */
HIDDEN __attribute__((noinline, noreturn)) void __pen_freed_twice(void);
void __pen_freed_twice(void) { abort(); }

/* The memory of arguments; the arena is in the same range of addresses. */
static int is_argument(const void *p) { return is_owned(p) && !in_arena(p); }

/* The memory of an argument, which counts as allocated by malloc until it is freed. */
static struct pen_block *argument(const void *p) {
  for (uint64_t i = 0; i < __pen_state.n_blocks; i++) {
    struct pen_block *block = &__pen_state.blocks[i];
    if (block->at != p || block->use == PEN_BLOCK_FIXED) continue;
    if (block->use == PEN_BLOCK_FREED) __pen_freed_twice();
    return block;
  }
  __pen_not_allocated(p);
}

/* A later use of the freed memory gets numbers that are no addresses. */
static void free_argument(struct pen_block *block) {
  memset(block->at, 0xa5, block->size);
  block->use = PEN_BLOCK_FREED;
}

HIDDEN void __wrap_free(void *p) {
  if (in_arena(p)) {
    given(p);
  } else if (is_argument(p)) {
    free_argument(argument(p));
  } else {
    unlisted(p);
    __real_free(p);
  }
}

static void *realloc_argument(void *p, size_t size) {
  struct pen_block *block = argument(p);
  void *moved = size ? __wrap_malloc(size) : NULL;
  if (moved) memcpy(moved, p, size < block->size ? size : block->size);
  if (moved || !size) {
    free_argument(block);
  } else {
    block->use = PEN_BLOCK_KEPT;
  }
  return moved;
}

HIDDEN void *__wrap_realloc(void *p, size_t size) {
  if (!p) return __wrap_malloc(size);
  if (in_arena(p)) {
    size_t room = arena_room(p);
    if (size > 0 && size <= room && size > room / 2) return p;
    void *moved = size ? __wrap_malloc(size) : NULL;
    if (moved) memcpy(moved, p, size < room ? size : room);
    if (moved || !size) given(p);
    return moved;
  }
  if (is_argument(p)) return realloc_argument(p, size);
  int was = unlisted(p);
  size_t room = __pen_fill.on ? __real_malloc_usable_size(p) : SIZE_MAX;
  void *moved = __real_realloc(p, size);
  if (moved && size > room) filled((char *)moved + room, size - room);
  /* If the list has no room for it, the old one stays. */
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

HIDDEN size_t __wrap_malloc_usable_size(void *p) {
  if (is_argument(p)) return argument(p)->size;
  return in_arena(p) ? arena_room(p) : __real_malloc_usable_size(p);
}

HIDDEN char *__wrap_strndup(const char *text, size_t n) {
  size_t length = strnlen(text, n);
  char *copy = __wrap_malloc(length + 1);
  if (!copy) return NULL;
  copy[length] = 0;
  return memcpy(copy, text, length);
}

HIDDEN char *__wrap_strdup(const char *text) { return __wrap_strndup(text, SIZE_MAX); }

/* Copies a block to memory of the C library. */
static void *moved_out(void *p) {
  struct pen_block *block = is_argument(p) ? argument(p) : NULL;
  size_t room = block ? block->size : arena_room(p);
  void *moved = __real_malloc(room);
  if (moved) memcpy(moved, p, room);
  if (block) {
    free_argument(block);
  } else {
    given(p);
  }
  return moved;
}

HIDDEN ssize_t __wrap_getdelim(char **line, size_t *size, int end, FILE *from) {
  if ((in_arena(*line) || is_argument(*line)) && !(*line = moved_out(*line))) *size = 0;
  unlisted(*line);
  ssize_t n = __real_getdelim(line, size, end, from);
  listed(*line);
  return n;
}

/* The name by which <stdio.h> calls getdelim. */
HIDDEN ssize_t __wrap___getdelim(char **line, size_t *size, int end, FILE *from) {
  return __wrap_getdelim(line, size, end, from);
}

HIDDEN ssize_t __wrap_getline(char **line, size_t *size, FILE *from) { return __wrap_getdelim(line, size, '\n', from); }

/* The C library keeps these addresses. Memory of the arena must outlive it: the C library gets a copy of a text, and a
 * buffer of its own. */
HIDDEN int __wrap_putenv(char *text) {
  if (in_arena(text)) text = moved_out(text);
  unlisted(text);
  return __real_putenv(text);
}

HIDDEN int __wrap_setvbuf(FILE *file, char *buffer, int mode, size_t size) {
  unlisted(buffer);
  return __real_setvbuf(file, in_arena(buffer) ? NULL : buffer, mode, size);
}

HIDDEN void __wrap_setbuf(FILE *file, char *buffer) { __wrap_setvbuf(file, buffer, buffer ? _IOFBF : _IONBF, BUFSIZ); }

/* `operator new` and `operator delete` of the target's own code. Allocations of the C++ library itself are not listed.
 */
extern __attribute__((weak)) void *__real__Znwm(size_t), *__real__Znam(size_t);
extern __attribute__((weak)) void __real__ZdlPv(void *), __real__ZdlPvm(void *, size_t), __real__ZdaPv(void *),
    __real__ZdaPvm(void *, size_t);
extern WEAK_HIDDEN const uint8_t __ehdr_start[], _edata[];

/* Whether the program defines its own operator, which it keeps. */
static int is_own(void *(*operator_new)(size_t)) {
  return (uintptr_t)operator_new - (uintptr_t)__ehdr_start < (uintptr_t)_edata - (uintptr_t)__ehdr_start;
}

HIDDEN void *__wrap__Znwm(size_t size) {
  void *p = is_own(__real__Znwm) ? NULL : taken(size);
  return filled(p ? p : __real__Znwm(size), size);
}

HIDDEN void *__wrap__Znam(size_t size) {
  void *p = is_own(__real__Znam) ? NULL : taken(size);
  return filled(p ? p : __real__Znam(size), size);
}

/* Frees memory of the arena and of an argument. Returns 0 for any other, and for the elements of a container: its own
 * `operator delete` ignores them. */
static int deleted(void *p) {
  if (in_arena(p)) {
    given(p);
    return 1;
  }
  for (uint64_t i = 0; is_argument(p) && i < __pen_state.n_blocks; i++) {
    struct pen_block *block = &__pen_state.blocks[i];
    if (block->at != p || block->use == PEN_BLOCK_FIXED) continue;
    if (block->use == PEN_BLOCK_FREED) __pen_freed_twice();
    free_argument(block);
    return 1;
  }
  return 0;
}

HIDDEN void __wrap__ZdlPv(void *p) {
  if (!deleted(p)) __real__ZdlPv(p);
}

HIDDEN void __wrap__ZdlPvm(void *p, size_t size) {
  if (!deleted(p)) __real__ZdlPvm(p, size);
}

HIDDEN void __wrap__ZdaPv(void *p) {
  if (!deleted(p)) __real__ZdaPv(p);
}

HIDDEN void __wrap__ZdaPvm(void *p, size_t size) {
  if (!deleted(p)) __real__ZdaPvm(p, size);
}

/* The memory of one evaluation, separate from that of the process. Code under test writes beyond its blocks and frees
 * memory that it does not own. With separate blocks, this does not damage the fuzzer's heap, and the memory of the next
 * evaluation is that of a new process: zeros, at the same addresses.
 *
 * Blocks are taken from the front of the arena; freed ones go to a list of their size (segregated fits: Wilson et al.,
 * IWMM 1995). Each has a header that is checked when the block or the block before it is freed. A damaged header ends
 * the evaluation by abort(), as in the C library. The fuzzer resets the arena before the next evaluation. If the arena
 * is full, the C library allocates. */

#define ARENA_BYTES ((size_t)32 << 20)
/* The C library allocates larger blocks, in memory that faults beyond its end. */
#define LARGEST_BLOCK ((size_t)256 << 10)
/* If more was used, the pages are returned to the system instead of being cleared. */
#define MOST_CLEARED ((size_t)1 << 20)
#define ALIGNMENT 16u
/* In the range that `operator delete` ignores (owned.c), after the memory that the fuzzer maps there first. */
#define FIRST_ARENA (FIRST_OWNED + OWNED_BYTES / 2)
#define MOST_ARENAS 64u

enum { N_FINE = 64, N_COARSE = 9 }; /* multiples of 16 bytes up to 1 KiB, powers of two up to LARGEST_BLOCK */

struct header {
  size_t room;  /* bytes that follow */
  size_t state; /* IN_USE or FREED, and the address */
};
#define IN_USE UINT64_C(0xa3c59ac2f1d6e4b7)
#define FREED UINT64_C(0x5f356495c32d1e0b)

static struct {
  unsigned char *at; /* null: off */
  unsigned char *mapped;
  size_t used;
  void *freed[N_FINE + N_COARSE];
} arena KEPT;

/* The list for a size, and the capacity of its blocks. */
static unsigned list_of(size_t size, size_t *room) {
  if (size <= N_FINE * ALIGNMENT) {
    unsigned n = size ? (unsigned)((size - 1) / ALIGNMENT) : 0;
    *room = (n + 1) * ALIGNMENT;
    return n;
  }
  unsigned bits = 64 - (unsigned)__builtin_clzll(size - 1);
  *room = (size_t)1 << bits;
  return N_FINE + bits - 11;
}

static int in_arena(const void *p) { return arena.at && (uintptr_t)p - (uintptr_t)arena.at < ARENA_BYTES; }

static int has_state(const struct header *h, uint64_t state) { return h->state == (state ^ (uintptr_t)h); }

/* The header of a block in this state; ends the evaluation if there is none. */
static struct header *checked(void *p, uint64_t state) {
  struct header *h = (struct header *)p - 1;
  size_t place = (uintptr_t)p - (uintptr_t)arena.at;
  if (place % ALIGNMENT || place < sizeof *h || place > arena.used || !has_state(h, state)) abort();
  return h;
}

/* Allocates memory; not cleared if it was used before in the same evaluation. Null if the arena is full. */
static void *arena_take(size_t size) {
  size_t room;
  if (size > LARGEST_BLOCK) return NULL;
  unsigned list = list_of(size, &room);
  void *p = arena.freed[list];
  struct header *h;
  if (p) {
    if (!in_arena(p)) abort();
    h = checked(p, FREED);
    arena.freed[list] = *(void **)p;
  } else {
    if (room + sizeof *h > ARENA_BYTES - arena.used) return NULL;
    h = (struct header *)(void *)(arena.at + arena.used);
    arena.used += sizeof *h + room;
    h->room = room;
  }
  h->state = IN_USE ^ (uintptr_t)h;
  __pen_state.n_allocated = 1;
  return h + 1;
}

static void arena_give(void *p) {
  struct header *h = checked(p, IN_USE);
  size_t room;
  unsigned list = list_of(h->room, &room);
  unsigned char *end = (unsigned char *)p + h->room;
  if (room != h->room || h->room > LARGEST_BLOCK) abort();
  struct header *next = (struct header *)(void *)end;
  if (end < arena.at + arena.used && !has_state(next, IN_USE) && !has_state(next, FREED)) abort();
  h->state = FREED ^ (uintptr_t)h;
  *(void **)p = arena.freed[list];
  arena.freed[list] = p;
}

static size_t arena_room(void *p) { return checked(p, IN_USE)->room; }

/* Frees and clears the whole arena. */
static void arena_clear(void) {
  if (!arena.used) return;
  if (arena.used > MOST_CLEARED) {
    madvise(arena.at, arena.used, MADV_DONTNEED);
  } else {
    memset(arena.at, 0, arena.used);
  }
  arena.used = 0;
  memset(arena.freed, 0, sizeof arena.freed);
}

/* Maps the arena. Each target of a process has its own. If that fails, the C library allocates. */
static void arena_begin(void) {
  for (unsigned i = 0; i < MOST_ARENAS && !arena.mapped; i++) {
    void *wish = (void *)(uintptr_t)(FIRST_ARENA + i * (ARENA_BYTES + 4096)); /* an access beyond the end faults */
    void *p = mmap(wish, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == wish) {
      arena.mapped = p;
    } else if (p != MAP_FAILED) {
      munmap(p, ARENA_BYTES);
    }
  }
  arena.at = arena.mapped;
}

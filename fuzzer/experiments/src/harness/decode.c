/* Decodes the bytes of an input into the arguments of a function, as penfuzz does, and calls it. The tables before this
 * text describe the layout; PENFUZZ_ROUNDING is 1 if the last byte is a rounding mode. This file is compiled without
 * instrumentation.
 *
 * Blocks of memory have the same addresses as in penfuzz. Each ends at memory that cannot be accessed. If the size of a
 * block was inferred by penfuzz, an access outside of it proves nothing: the call is left, and the input rejected (-1,
 * as libFuzzer and AFL++ expect it). An input that violates an assumption is rejected, too. An access outside of any
 * other block is a crash. */
#define _GNU_SOURCE
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Calls the function with the arguments of a frame. */
void penfuzz_call(unsigned char *frame);
void penfuzz_reject(void) __attribute__((noreturn));

/* Set if the call was left: then the branches of the last input do not count. The referee reads it. */
volatile int penfuzz_was_rejected;

/* Defined by honggfuzz's runtime, which takes any result other than 0 for an error. */
extern const char *const LIBHFUZZ_module_instrument __attribute__((weak));

enum { BLOCKS = sizeof penfuzz_blocks / sizeof *penfuzz_blocks, STUBS = 8 };
#define PREFERRED ((void *)0x210000000000)
#define STRIDE ((size_t)1 << 20)

static unsigned char *map;
static size_t mapped;
static struct { unsigned char *start, *end, *first; size_t bytes; int is_short; } places[BLOCKS];
static sigjmp_buf left;
static volatile sig_atomic_t is_running;
static struct sigaction before;
static FILE *original, *stream;

/* Callbacks: the return value of each, which it returns in the registers of both an integer and a float. */
uint64_t penfuzz_stub_values[STUBS] __attribute__((visibility("hidden")));
extern const char penfuzz_stubs[] __attribute__((visibility("hidden")));
#if defined __x86_64__
#define STUB(n) ".balign 32\nmovq penfuzz_stub_values+8*" #n "(%rip), %rax\nmovq %rax, %xmm0\nret\n"
#elif defined __aarch64__
#define STUB(n)                                                                                                        \
  ".balign 32\nadrp x9, penfuzz_stub_values+8*" #n "\nldr x0, [x9, :lo12:penfuzz_stub_values+8*" #n                    \
  "]\nfmov d0, x0\nret\n"
#endif
__asm__(".text\n.globl penfuzz_stubs\n.hidden penfuzz_stubs\n.balign 32\npenfuzz_stubs:\n" STUB(0) STUB(1) STUB(2)
            STUB(3) STUB(4) STUB(5) STUB(6) STUB(7));

static uint64_t mask(unsigned bits) { return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1; }

/* Returns the raw bits of a number. */
static uint64_t raw(const struct penfuzz_slot *slot, const unsigned char *x) {
  uint64_t bits = 0;
  memcpy(&bits, x + slot->at, slot->size);
  return bits & mask(slot->bits);
}

static int64_t integer(const struct penfuzz_slot *slot, const unsigned char *x) {
  uint64_t bits = raw(slot, x);
  unsigned shift = 64 - slot->bits;
  return slot->is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
}

/* The position of a value in the order of its type, and the value at a position. */
static uint64_t position(const struct penfuzz_slot *slot, uint64_t bits) {
  uint64_t sign = (uint64_t)1 << (slot->bits - 1);
  if (slot->is_float && bits & sign) return ~bits & mask(slot->bits);
  return slot->is_signed ? bits ^ sign : bits;
}

static uint64_t at_position(const struct penfuzz_slot *slot, uint64_t place) {
  uint64_t sign = (uint64_t)1 << (slot->bits - 1);
  place &= mask(slot->bits);
  if (slot->is_float && !(place & sign)) return ~place & mask(slot->bits);
  return slot->is_signed ? place ^ sign : place;
}

/* Wraps numbers that are outside of their domains. */
static void normalise(unsigned char *x) {
  for (const struct penfuzz_domain *d = penfuzz_domains; d->slot.size; d++) {
    uint64_t place = position(&d->slot, raw(&d->slot, x)), count = d->greatest - d->least + 1;
    if (place < d->least || place > d->greatest)
      place = d->least + ((place - d->least) & mask(d->slot.bits)) % count;
    uint64_t bits = at_position(&d->slot, place);
    memcpy(x + d->slot.at, &bits, d->slot.size);
  }
}

/* Returns the number of elements by the rule of the block, limited by its capacity. */
static size_t length(const struct penfuzz_block *b, const unsigned char *x, int *is_short) {
  __int128 n = b->capacity;
  if (b->rule == PENFUZZ_LINEAR) n = (__int128)integer(&b->n, x) * b->times + b->plus;
  if (b->rule == PENFUZZ_PRODUCT) n = (__int128)integer(&b->n, x) * integer(&b->m, x) + b->plus;
  *is_short = n > (__int128)b->capacity;
  return n < 0 ? 0 : *is_short ? b->capacity : (size_t)n;
}

/* Converts a double to a wider format: 15 bits of exponent, `digits` bits of fraction, with or without an explicit
 * leading one above it. */
static unsigned __int128 wider(uint64_t bits, unsigned digits, int has_leading_one) {
  unsigned __int128 head = (unsigned)(bits >> 63) << 15, fraction = bits & (((uint64_t)1 << 52) - 1), one = 1;
  int exponent = (int)(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff) {
    head |= 0x7fff;
  } else if (exponent || fraction) {
    exponent = exponent ? exponent - 1023 : -1022;
    if (!(bits >> 52 & 0x7ff))
      for (; !(fraction >> 52); exponent--) fraction <<= 1;
    fraction &= ((uint64_t)1 << 52) - 1;
    head |= (unsigned)(exponent + 16383);
  } else {
    has_leading_one = has_leading_one ? -1 : 0;
  }
  unsigned __int128 number = fraction << (digits - 52);
  if (has_leading_one == 1) number |= one << digits;
  return number | head << (digits + (has_leading_one ? 1 : 0));
}

/* Adds to a long double of x86 what a double does not have: a number to its exponent and low bits to its fraction. If
 * the high bits next to these are all set and the highest two bits of the exponent's number differ, the integer bit is
 * inverted. */
static unsigned __int128 extended(unsigned __int128 number, const unsigned char *x) {
  unsigned head = (unsigned)(number >> 64), added = x[0] | (unsigned)x[1] << 8, low = x[2] | (unsigned)x[3] << 8;
  unsigned exponent = (head + added) & 0x7fff;
  int is_other = (low & 0xf800) == 0xf800 && (added >> 15 & 1) != (added >> 14 & 1);
  uint64_t is_set = (exponent != 0) != is_other;
  uint64_t fraction = ((uint64_t)number ^ (low & 0x7ff)) & UINT64_MAX >> 1;
  return (unsigned __int128)((head & 0x8000) | exponent) << 64 | is_set << 63 | fraction;
}

static void convert(const struct penfuzz_converted *c, const unsigned char *x, unsigned char *to) {
  uint64_t bits;
  unsigned __int128 number;
  if (c->form == PENFUZZ_BOOL) {
    *to = x[c->from] & 1;
    return;
  }
  memcpy(&bits, x + c->from, sizeof bits);
  number = c->form == PENFUZZ_F128 ? wider(bits, 112, 0) : wider(bits, 63, 1);
  if (c->form == PENFUZZ_EXTENDED) number = extended(number, x + c->from + sizeof bits);
  memcpy(to, &number, sizeof number);
}

/* Fills a block, except for its pointers. */
static void fill(const struct penfuzz_block *b, const unsigned char *x, unsigned char *to, size_t bytes) {
  memset(to, 0, bytes);
  for (const struct penfuzz_copy *c = b->copies; c->size && c->to < bytes; c++)
    memcpy(to + c->to, x + c->from, c->size < bytes - c->to ? c->size : bytes - c->to);
  for (const struct penfuzz_converted *c = b->converted; c->form && c->to < bytes; c++) convert(c, x, to + c->to);
  if (b->is_string && bytes) {
    size_t end = strnlen((char *)to, bytes - 1);
    memset(to + end, 0, bytes - end);
  }
}

static unsigned char *callback(unsigned number, const unsigned char *x) {
  const struct penfuzz_slot *slot = &penfuzz_stub_slots[number];
  unsigned n = number < STUBS ? number : STUBS - 1;
  penfuzz_stub_values[n] = !slot->size ? 0 : slot->is_float ? raw(slot, x) : (uint64_t)integer(slot, x);
  return (unsigned char *)(uintptr_t)penfuzz_stubs + 32 * n;
}

static void point(const struct penfuzz_block *b, const unsigned char *x, unsigned char *to, size_t bytes) {
  for (const struct penfuzz_pointer *p = b->pointers; p->target != PENFUZZ_END && p->at + sizeof to <= bytes; p++) {
    unsigned char *address = NULL;
    int is_null = p->target == PENFUZZ_NULL || (p->null.size && raw(&p->null, x));
    if (!is_null) address = p->target == PENFUZZ_BLOCK ? places[p->number].first : callback(p->number, x);
    memcpy(to + p->at, &address, sizeof address);
  }
}

/* Returns the block closest to an address. */
static unsigned nearest(const unsigned char *address) {
  unsigned best = 0;
  size_t least = SIZE_MAX;
  for (unsigned i = 0; i < BLOCKS; i++) {
    const unsigned char *first = places[i].first, *end = first + places[i].bytes;
    size_t distance = address < first ? (size_t)(first - address) : address > end ? (size_t)(address - end) : 0;
    if (distance < least) best = i, least = distance;
  }
  return best;
}

/* Called when an assumption of the function does not hold. */
void penfuzz_reject(void) {
  if (!is_running) abort();
  siglongjmp(left, 1);
}

static void on_fault(int number, siginfo_t *info, void *context) {
  const unsigned char *address = info->si_addr;
  int is_ours = is_running && info->si_code > 0 && address >= map && address < map + mapped;
  unsigned i = is_ours ? nearest(address) : 0;
  if (is_ours && (!penfuzz_blocks[i].is_sure || places[i].is_short)) siglongjmp(left, 1);
  /* Any other fault is a crash and is passed to the handler that the fuzzer installed before. */
  (void)number, (void)context;
  sigaction(SIGSEGV, &before, NULL);
}

/* Called once, at the first call, when a fuzzer has installed its own handler. */
static void prepare(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), all = STRIDE;
  for (unsigned i = 0; i < BLOCKS; i++)
    all += STRIDE + (penfuzz_blocks[i].capacity * penfuzz_blocks[i].stride + page - 1) / page * page;
  void *memory = mmap(PREFERRED, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  map = memory, mapped = all;
  unsigned char *at = map + STRIDE / 2;
  for (unsigned i = 0; i < BLOCKS; i++) {
    size_t bytes = (penfuzz_blocks[i].capacity * penfuzz_blocks[i].stride + page - 1) / page * page;
    places[i].start = at, places[i].end = at + (bytes ? bytes : page);
    if (mprotect(places[i].start, (size_t)(places[i].end - places[i].start), PROT_READ | PROT_WRITE)) abort();
    at += STRIDE + bytes;
  }
  struct sigaction action = {0};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
  original = stdin;
}

static void place(const unsigned char *x) {
  for (unsigned i = 0; i < BLOCKS; i++) {
    const struct penfuzz_block *b = &penfuzz_blocks[i];
    places[i].bytes = length(b, x, &places[i].is_short) * b->stride;
    places[i].first = i ? places[i].end - places[i].bytes : places[i].start;
    fill(b, x, places[i].first, places[i].bytes);
  }
  for (unsigned i = 0; i < BLOCKS; i++) point(&penfuzz_blocks[i], x, places[i].first, places[i].bytes);
}

/* Makes the text of a block the standard input. */
static void open_input(void) {
  if (PENFUZZ_INPUT < 0) return;
  char *text = (char *)places[PENFUZZ_INPUT < 0 ? 0 : PENFUZZ_INPUT].first;
  stream = fmemopen(text, strlen(text), "r");
  stdin = stream ? stream : original;
}

static void close_input(void) {
  if (PENFUZZ_INPUT < 0) return;
  int is_ours = stream && stdin == stream;
  stdin = original;
  if (is_ours) fclose(stream);
  stream = NULL;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static const int modes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  static unsigned char x[PENFUZZ_SIZE + 8];
  if (!map) prepare();
  memset(x, 0, sizeof x);
  if (size) memcpy(x, data, size < PENFUZZ_SIZE ? size : PENFUZZ_SIZE);
  normalise(x);
  place(x);
  open_input();
  penfuzz_was_rejected = 0;
  if (sigsetjmp(left, 0)) {
    penfuzz_was_rejected = 1;
  } else {
    is_running = 1;
    if (PENFUZZ_ROUNDING) {
      unsigned char mode = x[PENFUZZ_SIZE - PENFUZZ_ROUNDING];
      fesetround(modes[mode & 3]);
      if (PENFUZZ_FLAGS && mode & 4) feraiseexcept(FE_ALL_EXCEPT);
    }
    penfuzz_call(places[0].first);
  }
  is_running = 0;
  if (PENFUZZ_ROUNDING) fesetround(FE_TONEAREST);
  if (PENFUZZ_FLAGS) feclearexcept(FE_ALL_EXCEPT);
  close_input();
  return penfuzz_was_rejected && !&LIBHFUZZ_module_instrument ? -1 : 0;
}

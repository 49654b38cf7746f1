/* Containers of the C++ library as arguments. The fuzzer places their elements in its own memory, in which an access
 * beyond the end faults. A container that grows, or is destroyed, frees them. They must not reach the allocator, which
 * does not own them.
 *
 * So the target has an `operator delete` that ignores the fuzzer's addresses (fuzzer/executor/src/blocks maps them
 * there), and passes all others to the next definition. Code of the C++ library calls it, too, because a function of a
 * program replaces the library's. It is weak: a program that defines one keeps its own, and then its containers cannot
 * be freed. */

#define FIRST_OWNED UINT64_C(0x210000000000)
#define OWNED_BYTES (UINT64_C(1) << 40)

typedef void (*delete_function)(void *);

#ifdef PEN_NO_INTERPRETER
static delete_function next_delete(const char *name) {
  (void)name;
  return free;
}
#else
#include <dlfcn.h>

/* Since glibc 2.34 `dlsym` is part of the C library. Without it, `free` is used, which `operator delete` calls by
 * default. */
extern __attribute__((weak)) void *dlsym(void *, const char *);

static delete_function next_delete(const char *name) {
  void *found = dlsym ? dlsym(RTLD_NEXT, name) : NULL;
  delete_function next = free;
  if (found) memcpy(&next, &found, sizeof next);
  return next;
}
#endif

static int is_owned(const void *p) { return (uintptr_t)p - FIRST_OWNED < OWNED_BYTES; }

#define REPLACEABLE __attribute__((weak, visibility("default")))

/* operator delete(void *), which the one with a size calls. */
extern void _ZdlPv(void *p);
REPLACEABLE void _ZdlPv(void *p) {
  static delete_function next;
  if (is_owned(p)) return;
  if (!next) next = next_delete("_ZdlPv");
  next(p);
}

/* operator delete(void *, std::size_t) */
extern void _ZdlPvm(void *p, size_t size);
REPLACEABLE void _ZdlPvm(void *p, size_t size) {
  (void)size;
  _ZdlPv(p);
}

/* Assumptions and checks for functions under test, in C and C++. pen-cc finds this header by itself; another compiler
 * needs its directory, or a copy: it includes nothing of penfuzz.
 *
 *   PEN_ASSUME(lo < hi && n % 2 == 0);
 *     An evaluation in which the expression does not hold is rejected: it is no crash and no test, and covers nothing.
 *     Each part of the expression has a distance, so the search moves into the region where the expression holds. The
 *     branches of the expression are no goals. Without pen-cc the expression is not evaluated, unless PENFUZZ_HARNESS
 *     is defined: then penfuzz_reject() of the program is called if it does not hold, and must not return.
 *
 *   PEN_CHECK(fabs(stable - naive) <= 1e-6 * fabs(stable));
 *     An evaluation in which the expression does not hold is a crash with the text of the expression. The branch where
 *     it does not hold is a goal, so the search looks for an input that takes it. Without pen-cc the program aborts
 *     there. */
#ifndef PENFUZZ_H
#define PENFUZZ_H

#ifdef __PENFUZZ__

#ifdef __cplusplus
extern "C" {
#endif
void __pen_assume(void) __attribute__((nothrow));  /* before the expression; the pass removes it */
void __pen_assumed(void) __attribute__((nothrow)); /* where it holds; likewise */
void __pen_reject(void) __attribute__((nothrow, noreturn));
void __pen_check_failed(const char *text) __attribute__((nothrow, noreturn));
#ifdef __cplusplus
}
#endif

#define PEN_ASSUME(...) (__pen_assume(), (__VA_ARGS__) ? __pen_assumed() : __pen_reject())
#define PEN_CHECK(...) ((__VA_ARGS__) ? (void)0 : __pen_check_failed(#__VA_ARGS__))

#else

#ifdef __cplusplus
#include <cstdio>
#include <cstdlib>
#else
#include <stdio.h>
#include <stdlib.h>
#endif

#ifdef PENFUZZ_HARNESS
#ifdef __cplusplus
extern "C"
#endif
void penfuzz_reject(void) __attribute__((noreturn));
#define PEN_ASSUME(...) ((__VA_ARGS__) ? (void)0 : penfuzz_reject())
#else
#define PEN_ASSUME(...) ((void)sizeof((__VA_ARGS__) ? 1 : 0))
#endif
#define PEN_CHECK(...)                                                                                                 \
  ((__VA_ARGS__) ? (void)0                                                                                             \
                 : (fprintf(stderr, "%s:%d: PEN_CHECK(%s) fails\n", __FILE__, __LINE__, #__VA_ARGS__), abort()))

#endif

#endif

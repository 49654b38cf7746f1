/* Finds the floating-point exceptions of one call by means of the hardware, without the hooks. */
#ifndef TRAP_H
#define TRAP_H

#include "guard.h"

#include <stddef.h>

#define TRAP_PLACES 256
#define TRAP_NONE 255u /* instead of an exception: only the flags are read */

/* Mirrored by trap.rs. */
struct trap_record {
  uint32_t raised;    /* bit per enum pen_exception: its flag was raised when the target returned */
  uint32_t n_places;
  uint32_t traps;
  uint32_t cut_short; /* there were more traps or places than are stored */
  /* Addresses in the target of instructions that raised it, or of its calls of code that did; no duplicates. */
  uint64_t places[TRAP_PLACES];
};

extern struct trap_record trap_record;

#endif

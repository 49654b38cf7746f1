/* The floating-point exceptions of one call, as the hardware sees them. */
#ifndef TRAP_H
#define TRAP_H

#include "guard.h"

#include <stddef.h>

#define TRAP_PLACES 256
#define TRAP_NONE 255u /* instead of an exception: only the flags are looked at */

/* Mirrored by trap.rs. */
struct trap_record {
  uint32_t raised;    /* bit per enum pen_exception: its flag was up when the target returned */
  uint32_t n_places;
  uint32_t traps;
  uint32_t cut_short; /* there were more traps or places than are noted */
  uint64_t places[TRAP_PLACES]; /* addresses in the target that raised it or called what did, without repetition */
};

extern struct trap_record trap_record;

#endif

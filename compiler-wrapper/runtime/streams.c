/* The functions that verification tasks leave to their environment, by the names of the Competition on Software
 * Verification: numbers (`__VERIFIER_nondet_int`), assumptions and errors. All are weak: a program that defines one
 * keeps its own. */

/* Name in the function, type, kind. Pointers and integers of 128 bits are not supported. */
#define CHAR_KIND ((char)-1 < 0 ? PEN_I8 : PEN_U8)
#define STREAMS(X)                                                                                                     \
  X(bool, _Bool, PEN_BOOL)                                                                                             \
  X(char, char, CHAR_KIND)                                                                                             \
  X(schar, signed char, PEN_I8) X(uchar, unsigned char, PEN_U8)                                                        \
  X(short, short, PEN_I16) X(ushort, unsigned short, PEN_U16)                                                          \
  X(int, int, PEN_I32) X(uint, unsigned, PEN_U32) X(unsigned, unsigned, PEN_U32)                                       \
  X(long, long, PEN_I64) X(ulong, unsigned long, PEN_U64)                                                              \
  X(longlong, long long, PEN_I64) X(ulonglong, unsigned long long, PEN_U64)                                            \
  X(float, float, PEN_F32) X(double, double, PEN_F64)                                                                  \
  X(size_t, size_t, PEN_U64) X(ssize_t, long, PEN_I64) X(loff_t, long long, PEN_I64)                                   \
  X(s8, int8_t, PEN_I8) X(s16, int16_t, PEN_I16) X(s32, int32_t, PEN_I32) X(s64, int64_t, PEN_I64)                     \
  X(u8, uint8_t, PEN_U8) X(u16, uint16_t, PEN_U16) X(u32, uint32_t, PEN_U32) X(u64, uint64_t, PEN_U64)                 \
  X(S8, int8_t, PEN_I8) X(S16, int16_t, PEN_I16) X(S32, int32_t, PEN_I32) X(S64, int64_t, PEN_I64)                     \
  X(U8, uint8_t, PEN_U8) X(U16, uint16_t, PEN_U16) X(U32, uint32_t, PEN_U32) X(U64, uint64_t, PEN_U64)

enum {
#define NUMBER(name, type, kind) STREAM_##name,
  STREAMS(NUMBER)
#undef NUMBER
  N_STREAMS
};

static struct pen_stream streams[] = {
#define RECORD(suffix, type, number) {.name = "__VERIFIER_nondet_" #suffix, .kind = number},
  STREAMS(RECORD)
#undef RECORD
};

#define FUNCTION(name, type, kind)                                                     \
  extern type __VERIFIER_nondet_##name(void);                                          \
  WEAK_HIDDEN type __VERIFIER_nondet_##name(void) {                                    \
    struct pen_stream *s = &streams[STREAM_##name];                                    \
    return s->taken < s->n ? ((const type *)s->values)[s->taken++] : 0;                \
  }
STREAMS(FUNCTION)
#undef FUNCTION

/* In code that it compiles, the pass replaces the calls by a conditional, which has distances. */
extern void __VERIFIER_assume(int holds);
WEAK_HIDDEN void __VERIFIER_assume(int holds) {
  if (!holds) __pen_reject();
}

extern void __VERIFIER_error(void), reach_error(void);
WEAK_HIDDEN __attribute__((noreturn)) void __VERIFIER_error(void) { abort(); }
WEAK_HIDDEN __attribute__((noreturn)) void reach_error(void) { abort(); }

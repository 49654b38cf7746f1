/* What R's configure script would find out, as far as its mathematical functions need it. */
#define IEEE_754 1
#define SIZEOF_SIZE_T 8
#define HAVE_UINTPTR_T 1

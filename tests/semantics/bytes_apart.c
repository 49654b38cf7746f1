/* What needs a file of its own beside bytes.c, or one machine. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

/* bytes.c defines it in place of GLib. It accepts null pointers. */
int g_strcmp0(const char *a, const char *b);

int no_string(unsigned char a, unsigned char b) {
  char s[3] = {(char)a, (char)b, 0};
  if (g_strcmp0(a & 1 ? s : 0, b & 1 ? "AB" : 0) == 0) return 1;
  return 0;
}

static char *pages;

__attribute__((constructor)) static void map_pages(void) {
  pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE)) abort();
}

/* The string does not end before memory does. On x86-64, strcmp reads no page behind the first difference. */
int at_end_of_memory(unsigned char a, unsigned char b) {
  char *s = pages + 4093;
  s[0] = (char)a, s[1] = (char)b, s[2] = '!';
  if (strcmp(s, "ABCDEF") == 0) return 1;
  if (strcmp("ABCDEF", s) == 0) return 2;
  if (strncasecmp(s, "ABCDEF", 6) == 0) return 3;
  return 0;
}

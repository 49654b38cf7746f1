/* Comparisons of strings and memory by calls; the tests know functions and their sites by name and order. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef unsigned char byte;

#define TEXT(s) char s[8] = {(char)a, (char)b, (char)c, (char)d, (char)e, (char)f, 0, 0}

int word(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  if (strcmp(s, "GPGGA") == 0) return 1;
  return 0;
}

int other_word(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  if (strcmp("GPGGA", s)) return 1;
  return 0;
}

int negated(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  if (!strcmp(s, "GPGGA")) return 1;
  return 0;
}

int constant_first(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  if (0 == strcmp(s, "AB")) return 1;
  return 0;
}

/* The operands are other ones when the result is looked at. */
int in_variable(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  int r = strcmp(s, "AB");
  for (int i = 0; i < a % 4; i++) s[i] = 'x';
  if (r == 0) return 1;
  return s[0] == 'x' ? 2 : 0;
}

int freed(byte a, byte b, byte c) {
  char *s = malloc(4);
  if (!s) return -1;
  s[0] = (char)a, s[1] = (char)b, s[2] = (char)c, s[3] = 0;
  int r = strcmp(s, "AB");
  free(s);
  if (!r) return 1;
  return 0;
}

int prefix(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  if (strncmp(s, "GPS", 2) == 0) return 1;
  return 0;
}

int any_case(byte a, byte b, byte c, byte d) {
  byte e = 0, f = 0;
  TEXT(s);
  if (strcasecmp(s, "gO[") == 0) return 1;
  if (strncasecmp(s, "STOP", 2) == 0) return 2;
  return 0;
}

int block(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  if (memcmp(s, "\0AB\xff", 4) == 0) return 1;
  if (bcmp(s, s + 3, f % 4) == 0) return 2;
  return 0;
}

int order(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  if (strcmp(s, "MM") < 0) return 1;
  return 0;
}

int two_words(byte a, byte b, byte c, byte d, byte e, byte f) {
  char s[4] = {(char)a, (char)b, (char)c, 0}, t[4] = {(char)d, (char)e, (char)f, 0};
  if (strcmp(s, t) == 0) return 1;
  return 0;
}

static const char *const words[] = {"NO", "YES", "MAYBE"};

int keyword(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  for (int i = 0; i < 3; i++)
    if (strcmp(s, words[i]) == 0) return i;
  return -1;
}

int several(byte a, byte b, byte c, byte n) {
  byte d = 0, e = 0, f = 0;
  TEXT(s);
  if (strcmp(s, "A") == 0 && n > 3) return 1;
  int r = memcmp(s, "BC", 2) == 0 || n == 7;
  if (!r) return 2;
  return memcmp(s, "BD", 2) && n;
}

int chosen(byte a, byte b, byte c) {
  byte d = 0, e = 0, f = 0;
  TEXT(s);
  return strcmp(s, "AB") == 0 ? 5 : -5;
}

/* A call per pass, and the result of the last one is looked at behind the loop. */
int last_of_several(byte a, byte b, byte c) {
  byte d = 0, e = 0, f = 0;
  TEXT(s);
  int r = -1;
  for (int i = 0; i < 3; i++) {
    r = strcmp(s, words[i]);
    s[0]++;
  }
  if (r == 0) return 1;
  return 0;
}

static __attribute__((noinline)) int is(const char *s, const char *word) { return strcmp(s, word) == 0; }
static __attribute__((noinline)) int compare(const char *s, const char *word, long n) { return strncmp(s, word, n); }

/* The operands are compared by other functions, and changed before the results are looked at. */
int wrapped(byte a, byte b, byte c, byte d, byte e, byte f) {
  TEXT(s);
  int is_word = is(s, "AB"), other = compare(s, "CDE", 3);
  s[0] = 'x';
  if (is_word) return 1;
  if (other == 0) return 2;
  return 0;
}

/* Functions of GLib. Calls of them in this file have no distances, because the program's own functions are unknown. */
int g_strcmp0(const char *a, const char *b) {
  if (!a) return -(a != b);
  if (!b) return a != b;
  return strcmp(a, b);
}

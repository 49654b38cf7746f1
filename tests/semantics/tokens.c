/* Functions that compare with strings and characters; the test knows their tokens. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

int strings(const char *s) { return !strcmp(s, "GPGGA") || !strcasecmp("on", s) || strcmp(s, "GPGGA") > 0; }

int parts(const char *s) { return !strncmp(s, "GPSxxx", 3) || !memcmp(s, "\0\1\xff", 3) || strstr(s, "://"); }

int characters(const char *s) {
  if (s[0] == '$' || s[1] != '\n') return 1;
  switch (s[0]) {
    case 'a': return 2;
    case 'b': return 3;
  }
  return strchr(s, ',') ? 4 : strpbrk(s, "+-") != 0;
}

int order(const char *s) { return *s >= '0' && *s <= '9'; }

int format(const char *s) {
  int d, e;
  char t[4];
  return sscanf(s, "$GP%2s,%*d.%[^x]%% %d;", t, t, &d) + sscanf(s, "%d", &e);
}

static const struct keyword {
  int number;
  const char *name;
} keywords[] = {{1, "if"}, {2, "else"}};
static const char units[][4] = {"mm", "inch"};

int table(const char *s) {
  for (int i = 0; i < 2; i++) {
    if (strcmp(s, keywords[i].name) == 0) return keywords[i].number;
    if (strncmp(s, units[i], 4) == 0) return -i;
  }
  return 0;
}

static int is(const char *s, const char *word) { return strcmp(s, word) == 0; }
static int is_either(const char *s, const char *a, const char *b) { return is(s, a) || is(s, b); }

int passed_on(const char *s) { return is_either(s, "yes", "no"); }

int printed(const char *s) { return puts("a message") + printf("%s", s) + (s[0] == 3000); }

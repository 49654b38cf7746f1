/* A call of the function that bytes.c defines in place of GLib. It accepts null pointers. */
int g_strcmp0(const char *a, const char *b);

int no_string(unsigned char a, unsigned char b) {
  char s[3] = {(char)a, (char)b, 0};
  if (g_strcmp0(a & 1 ? s : 0, b & 1 ? "AB" : 0) == 0) return 1;
  return 0;
}

// Comparisons of strings in C++; the test knows functions and their sites by name and order.
#include <string>
#include <string_view>

using byte = unsigned char;

extern "C" int by_traits(byte a, byte b, byte c) {
  const char s[] = {char(a), char(b), char(c)};
  if (std::char_traits<char>::compare(s, "ABC", 3) == 0) return 1;
  return 0;
}

extern "C" int of_library(byte a, byte b, byte c) {
  std::string s{char(a), char(b)};
  std::string_view v = s;
  if (s == "AB") return 1;
  if (v == "CD") return 2;
  if (s.compare("EF") == 0) return 3;
  return v.compare(0, 1, "G") == 0 && c ? 4 : 5;
}

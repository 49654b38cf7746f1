# shellcheck shell=bash
# The fuzzers that `penfuzz compare` runs beside penfuzz, and the cross tools
# that tests of the compiler wrapper need. ./setup --peers reads this file, and
# defines say, wants, offered and the other functions used here.
#
# AFL++ and honggfuzz are built from source, into $PENFUZZ_PEERS or else
# ~/.cache/penfuzz/peers. Their source is part of two Rust packages. cargo
# fetches these packages, and only the SHA-256 below is trusted.

readonly AFL_VERSION=4.40c
readonly AFL_PACKAGE=cargo-afl-common-0.18.2
readonly AFL_SHA256=627af952d3c9d69b19744d85d7f39ad1d2c00bdf5cd6a9128e35ccdc657fee86
readonly HONGGFUZZ_PACKAGE=honggfuzz-0.5.62
readonly HONGGFUZZ_SHA256=378465388ac845720910efa26a6f46f93d744debe65710b82f0e5310058c6703

peers_to_build=() # functions

peers_prefix() {
    local cache=${XDG_CACHE_HOME:-}
    [[ $cache == /* ]] || cache=$HOME/.cache
    printf '%s\n' "${PENFUZZ_PEERS:-$cache/penfuzz/peers}"
}

# The clang of the LLVM that penfuzz uses.
peers_clang() {
    printf '%s/clang\n' "$("$(llvm_config)" --bindir 2>/dev/null || true)"
}

peers_llvm_major() {
    local version
    version=$("$(llvm_config)" --version 2>/dev/null || true)
    printf '%s\n' "${version%%.*}"
}

check_peers() {
    peers_to_build=()
    check_afl
    check_honggfuzz
    check_libfuzzer
    check_aarch64
    check_test_programs
    check_test_frameworks
}

# Programs that tests start. With CI set, a test that lacks one fails.
check_test_programs() {
    check_tool ip iproute2 "network namespaces (tests)"
    check_tool mount mount "small file systems (tests)"
    check_tool python3 python3 "Python (tests)"
    check_browser
}

# Tests look at the pages in a browser. A system without the package, such as Ubuntu, has another one or goes without.
check_browser() {
    local what="browser (tests)" program
    for program in chromium chromium-browser google-chrome; do
        if have "$program"; then
            say ok "$what" "$(command -v "$program")"
            return
        fi
    done
    if offered chromium; then
        wants "$what" chromium
    else
        say missing "$what" "no package chromium; with CI set, the tests of pages fail"
    fi
}

# The frameworks of `--test-format`: the tests build and run the emitted tests with each. Unity has no package; the tests fetch its
# source (harnesses/cjson/fetch.sh).
check_test_frameworks() {
    check_file /usr/include/gtest/gtest.h libgtest-dev "GoogleTest (tests)"
    if [ -e /usr/include/catch2/catch_all.hpp ]; then
        say ok "Catch2 (tests)" /usr/include/catch2/catch_all.hpp
    else
        check_file /usr/include/catch2/catch.hpp catch2 "Catch2 (tests)"
    fi
    check_file /usr/include/cmocka.h libcmocka-dev "cmocka (tests)"
    check_file /usr/include/check.h check "Check (tests)"
    check_tool cmake cmake "CMake (tests)"
    check_tool pkg-config pkg-config "pkg-config (tests)"
}

# to_build WHAT FUNCTION: marks WHAT as missing; FUNCTION builds it.
to_build() {
    say missing "$1" "built by ./setup --peers"
    peers_to_build+=("$2")
}

# Prints the version of an afl-fuzz, such as 4.40c; nothing if the program does not run.
afl_version() {
    { "$1" --version 2>/dev/null || true; } | sed -n '1s/.*afl-fuzz++\([0-9.]*[a-z]*\).*/\1/p'
}

check_afl() {
    local what="AFL++ $AFL_VERSION or newer" bin version
    bin=$(peers_prefix)/bin
    # AFL++ links the programs that it builds with libraries of the clang that AFL++ was built for.
    if [ "$(afl_version "$bin/afl-fuzz")" = "$AFL_VERSION" ] && afl_fits "$bin"; then
        say ok "$what" "$AFL_VERSION in $bin"
        return
    fi
    version=$(afl_version afl-fuzz)
    if [ -n "$version" ] && have afl-clang-fast && at_least "$version" "$AFL_VERSION"; then
        say ok "$what" "$version ($(command -v afl-fuzz))"
        return
    fi
    to_build "$what" build_afl
}

# afl_fits BIN: succeeds if the AFL++ compiler in BIN uses penfuzz's LLVM.
afl_fits() {
    local version
    version=$(AFL_QUIET=1 "$1/afl-clang-fast" --version 2>/dev/null || true)
    [[ $version == *"clang version $(peers_llvm_major)."* ]]
}

check_honggfuzz() {
    local what="honggfuzz" prefix
    prefix=$(peers_prefix)
    if [ -x "$prefix/bin/honggfuzz" ] && [ -e "$prefix/lib/honggfuzz/libhfuzz.a" ] &&
        "$prefix/bin/honggfuzz" --version >/dev/null 2>&1; then
        say ok "$what" "$prefix/bin"
        return
    fi
    check_header bfd.h binutils-dev "binutils library (honggfuzz)"
    check_header libunwind-ptrace.h libunwind-dev "unwinder (honggfuzz)"
    check_header lzma.h liblzma-dev "lzma library (honggfuzz)"
    check_header Block.h libblocksruntime-dev "blocks runtime (honggfuzz)"
    to_build "$what" build_honggfuzz
}

# check_header HEADER PACKAGE WHAT
check_header() {
    if printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$1" | "$(peers_clang)" -fsyntax-only -x c - 2>/dev/null; then
        say ok "$3" "$1"
    else
        wants "$3" "$2"
    fi
}

check_libfuzzer() {
    local what="libFuzzer" runtime major
    # With -### clang only shows the link command.
    runtime=$("$(peers_clang)" '-###' -fsanitize=fuzzer -x c /dev/null 2>&1 | grep -o '"[^"]*clang_rt\.fuzzer[^"]*"' | head -n 1 | tr -d '"' || true)
    if [ -n "$runtime" ] && [ -e "$runtime" ]; then
        say ok "$what" "$runtime"
        return
    fi
    major=$(peers_llvm_major)
    # Up to LLVM 14 the runtime is in another package.
    if offered "libclang-rt-$major-dev"; then
        wants "$what" "libclang-rt-$major-dev"
    else
        wants "$what" "libclang-common-$major-dev"
    fi
}

# Tests compile targets for aarch64 on x86-64, and run them with qemu.
check_aarch64() {
    local what="aarch64 C library (tests)" program
    [ "$(uname -m)" = x86_64 ] || return 0
    check_tool qemu-aarch64 qemu-user "aarch64 emulator (tests)"
    program=$(mktemp)
    if printf '#include <math.h>\nint main(int n, char **v) { return v && sqrt(n) > 1; }\n' |
        "$(peers_clang)" --target=aarch64-linux-gnu -x c - -lm -o "$program" 2>/dev/null; then
        say ok "$what" "--target=aarch64-linux-gnu"
    else
        wants "$what" gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    fi
    rm -f "$program"
}

# Builds what check_peers found missing. After a failure it prints a message and continues with the others.
build_peers() {
    local build
    for build in ${peers_to_build[@]+"${peers_to_build[@]}"}; do
        if ! "$build"; then
            advice+=("${build#build_}: it does not build here; see the log above.")
            [ "$build" != build_afl ] || fall_back_to_packaged_afl
        fi
    done
}

# Installs the system's AFL++: an older version is better than none.
fall_back_to_packaged_afl() {
    if ! have afl-fuzz && offered afl++; then
        printf "installing the system's own AFL++ instead\n"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends afl++ || true
    fi
}

# fetch_package NAME-VERSION SHA256 DIRECTORY: unpacks a Rust package in DIRECTORY.
fetch_package() {
    local package=$1 sha256=$2 directory=$3 file
    file=$(cached_package "$package" "$sha256")
    if [ -z "$file" ]; then
        printf 'fetching %s\n' "$package"
        mkdir -p "$directory/fetch/src"
        : >"$directory/fetch/src/lib.rs"
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n%s = "=%s"\n' \
            "${package%-*}" "${package##*-}" >"$directory/fetch/Cargo.toml"
        (cd "$directory/fetch" && cargo fetch --quiet) || return 1
        file=$(cached_package "$package" "$sha256")
    fi
    if [ -z "$file" ]; then
        printf 'setup: error: cargo has no %s with SHA-256 %s\n' "$package" "$sha256" >&2
        return 1
    fi
    tar -xzf "$file" -C "$directory"
}

# cached_package NAME-VERSION SHA256: prints the package's file in cargo's cache, if the SHA-256 agrees.
cached_package() {
    local file
    for file in "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$1.crate"; do
        if [ -e "$file" ] && printf '%s  %s\n' "$2" "$file" | sha256sum --check --status; then
            printf '%s\n' "$file"
            return
        fi
    done
}

# logged LOG COMMAND...: writes the command's output to the log, and shows the end of the log on failure.
logged() {
    local log=$1
    shift
    "$@" >>"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        return 1
    }
}

build_afl() (
    directory=$(mktemp -d) && trap 'rm -rf "$directory"' EXIT || return 1
    prefix=$(peers_prefix)
    fetch_package "$AFL_PACKAGE" "$AFL_SHA256" "$directory" || return 1
    printf 'building AFL++ %s for LLVM %s, into %s\n' "$AFL_VERSION" "$(peers_llvm_major)" "$prefix"
    # NO_PYTHON: the result must not depend on whether Python's headers are installed.
    settings=("PREFIX=$prefix" "LLVM_CONFIG=$(llvm_config)" NO_PYTHON=1 NO_NYX=1)
    cd "$directory/$AFL_PACKAGE/AFLplusplus" &&
        logged "$directory/log" make "-j$(nproc)" "${settings[@]}" all &&
        logged "$directory/log" make "${settings[@]}" install || return 1
    # AFL++'s make succeeds even if some parts do not build.
    for part in bin/afl-fuzz bin/afl-clang-fast lib/afl/libAFLDriver.a lib/afl/cmplog-instructions-pass.so lib/afl/split-compares-pass.so; do
        [ -e "$prefix/$part" ] || { tail -n 20 "$directory/log" >&2; return 1; }
    done
)

build_honggfuzz() (
    directory=$(mktemp -d) && trap 'rm -rf "$directory"' EXIT || return 1
    prefix=$(peers_prefix)
    fetch_package "$HONGGFUZZ_PACKAGE" "$HONGGFUZZ_SHA256" "$directory" || return 1
    printf 'building %s, into %s\n' "$HONGGFUZZ_PACKAGE" "$prefix"
    out=$directory/out
    # The package lacks hfuzz-cc, so only these targets can be made.
    logged "$directory/log" make "-j$(nproc)" -C "$directory/$HONGGFUZZ_PACKAGE/honggfuzz" "CC=$(peers_clang)" "BUILD_DIR=$out" \
        "$out/honggfuzz" "$out/libhfuzz/libhfuzz.a" "$out/libhfcommon/libhfcommon.a" || return 1
    mkdir -p "$prefix/bin" "$prefix/lib/honggfuzz" &&
        install -m 644 "$out/libhfuzz/libhfuzz.a" "$out/libhfcommon/libhfcommon.a" "$prefix/lib/honggfuzz/" &&
        install -m 755 "$out/honggfuzz" "$prefix/bin/"
)

#!/bin/sh
# Repeats an experiment: rerun.sh [NEW-DIRECTORY]
# Run it where the first one was run: names of files are relative to that directory.
#
# The first one had these versions:
#   Intel(R) Xeon(R) Processor, Debian GNU/Linux 12 (bookworm), Linux 6.18.44-fc-v657
#   gcc (Debian 12.2.0-14+deb12u1) 12.2.0
#   penfuzz: penfuzz 0.1.0
#   afl++: afl-fuzz++4.40c, Debian clang version 22.1.8 (1~deb12u1)
#   afl++-cmplog: afl-fuzz++4.40c, Debian clang version 22.1.8 (1~deb12u1)
#   libfuzzer: Debian clang version 22.1.8 (1~deb12u1)
#   honggfuzz: honggfuzz 2.6, Debian clang version 22.1.8 (1~deb12u1)
set -eu
penfuzz=${PENFUZZ:-penfuzz}
if ! command -v "$penfuzz" >/dev/null; then
    echo "There is no program $penfuzz; build it with 'cargo build --release' and set PENFUZZ=target/release/penfuzz" >&2
    exit 1
fi
exec "$penfuzz" compare harnesses/proj/suite.toml harnesses/cjson/suite.toml harnesses/erfa/suite.toml harnesses/musl/suite.toml harnesses/newlib/suite.toml harnesses/cminpack/suite.toml harnesses/kissfft/suite.toml --composite --draw 40 --draw-seed 1 --tools penfuzz,afl++,afl++-cmplog,libfuzzer,honggfuzz --trials 2 --budget 2s -o "${1:-penfuzz-compare-again}"

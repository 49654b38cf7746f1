# shellcheck shell=bash
# Fetches the upstream tarball of a Debian source package and unpacks it, for
# the fetch.sh scripts of the suites. Source this file, then call debian_source.
#
# The packages come from the machine's own apt sources. The script reads these
# sources, turns them into source-package entries and uses them in a temporary
# apt configuration. The system's configuration, package lists and cache are
# only read, so no privileges are needed. The tarball is trusted because
# of its SHA-256, wherever it comes from.
#
# A package that another release of Debian has: set debian_releases before the
# call, e.g. debian_releases="trixie bullseye". Each source of the machine is then
# asked for these releases as well, in the place of its own (VERSION_CODENAME).

# die MESSAGE: prints one line on standard error and exits with status 1.
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# need TOOL PACKAGE: exits with a message if TOOL cannot be run.
need() {
    command -v "$1" >/dev/null 2>&1 || die "'$1' not found; install the package $2"
}

# debian_source NAME VERSION SHA256 DESTINATION [TARBALL]
#
#   NAME         source package, e.g. newlib
#   VERSION      preferred Debian version, e.g. 3.3.0-1.3; another version is
#                used if its upstream tarball has the same hash
#   SHA256       of the upstream ("orig") tarball, 64 hex digits
#   DESTINATION  directory to create; its parent must exist. It is created
#                complete or not at all
#   TARBALL      a copy of the upstream tarball to use instead of the network
#
# Returns at once if DESTINATION is already complete.
debian_source() {
    [ $# -eq 4 ] || [ $# -eq 5 ] || die "usage: debian_source NAME VERSION SHA256 DESTINATION [TARBALL]"
    local name=$1 version=$2 sha256=$3 destination=$4 tarball=${5:-}

    if _debian_source_is_complete "$destination" "$sha256"; then
        return 0
    fi
    if [ -e "$destination" ]; then
        die "$destination exists but was not put there by this script; remove it and try again"
    fi

    need sha256sum coreutils
    need tar tar
    need awk mawk

    # In the parent of the destination, so that the last step is a rename within
    # one file system. The traps remove the directory however the script ends.
    _debian_source_temp=$(mktemp -d "$destination.tmp.XXXXXX") ||
        die "cannot create a directory beside $destination"
    trap 'rm -rf -- "$_debian_source_temp"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # apt downloads as an unprivileged user, who has no access with mktemp's mode 0700.
    chmod 755 "$_debian_source_temp"

    if [ -z "$tarball" ]; then
        _debian_source_download "$name" "$version" "$sha256" "$_debian_source_temp"
        tarball=$_debian_source_tarball
    fi
    [ -r "$tarball" ] || die "cannot read $tarball"
    if ! printf '%s  %s\n' "$sha256" "$tarball" | sha256sum --check --status; then
        die "hash mismatch: ${tarball##*/} is not the expected tarball of $name (SHA-256 $sha256)"
    fi

    case $tarball in
    *.xz) need xz xz-utils ;;
    *.bz2) need bzip2 bzip2 ;;
    *.gz) need gzip gzip ;;
    esac
    mkdir "$_debian_source_temp/unpacked"
    tar -xf "$tarball" -C "$_debian_source_temp/unpacked" --strip-components=1 --no-same-owner \
        2>"$_debian_source_temp/log" ||
        die "cannot unpack ${tarball##*/}: $(_debian_source_reason "$_debian_source_temp/log")"
    printf '%s\n' "$sha256" >"$_debian_source_temp/unpacked/.complete"

    # Another process may have finished in the meantime. Its result is equal.
    if ! mv -T -- "$_debian_source_temp/unpacked" "$destination" 2>/dev/null &&
        ! _debian_source_is_complete "$destination" "$sha256"; then
        die "cannot create $destination"
    fi
    rm -rf -- "$_debian_source_temp"
    trap - EXIT HUP INT TERM
}

_debian_source_is_complete() {
    [ -f "$1/.complete" ] && [ "$(cat -- "$1/.complete")" = "$2" ]
}

# Prints the line of an apt or tar log that names the error: the first line that
# is marked as an error or a warning, else the first line.
_debian_source_reason() {
    awk '/^[EW]: / && marked == "" { marked = $0 } NF && first == "" { first = $0 }
         END { print marked != "" ? marked : first }' "$1"
}

# _debian_source_download NAME VERSION SHA256 DIRECTORY
# Sets _debian_source_tarball to the path of the downloaded file.
_debian_source_download() {
    local name=$1 version=$2 sha256=$3 directory=$4
    local hint="the upstream tarball can be passed as an argument instead"

    command -v apt-get >/dev/null 2>&1 || die "'apt-get' not found; install the package apt (on Debian or Ubuntu); $hint"
    need apt-cache apt
    need apt-config apt

    _debian_source_apt_configuration "$directory"
    apt-get -c "$directory/apt.conf" -q update >"$directory/log" 2>&1 || true
    # apt-get's status does not help: it is 0 without a network, and not 0 if
    # one of many sources has no source packages. So the downloaded lists are checked.
    if ! find "$directory/apt/state/lists" -maxdepth 1 -name '*_Sources*' -type f | grep -q .; then
        die "cannot download package lists (no network?): $(_debian_source_reason "$directory/log"); $hint"
    fi

    local found
    found=$(
        apt-cache -c "$directory/apt.conf" showsrc --only-source "$name" 2>/dev/null |
            awk -v wanted="$version" -v sha256="$sha256" '
                function flush() { if (match_here && (best == "" || version == wanted)) best = version
                                   if (version != "" && !seen[version]++) offered = offered " " version
                                   version = ""; match_here = 0; field = "" }
                /^$/ { flush(); next }
                /^[^ ]/ { field = $1 }
                $1 == "Version:" { version = $2 }
                field == "Checksums-Sha256:" && /^ / && $1 == sha256 && $3 ~ /\.orig\.tar\./ { match_here = 1 }
                END { flush(); print best "|" offered }'
    )
    local best=${found%%|*} offered=${found#*|}
    case $best,$offered, in
    ,,) die "$name is not offered by this machine's apt sources; $hint" ;;
    ,*" $version "* | ,*" $version,") die "hash mismatch: $name $version is offered with another tarball than expected (SHA-256 $sha256)" ;;
    ,*) die "$name $version is not offered by this machine's apt sources, only$offered; $hint" ;;
    esac

    mkdir "$directory/download"
    (cd "$directory/download" &&
        apt-get -c "$directory/apt.conf" -q source --only-source --download-only --tar-only "$name=$best") \
        >"$directory/log" 2>&1 ||
        die "cannot download $name $best: $(_debian_source_reason "$directory/log"); $hint"

    _debian_source_tarball=
    local file
    for file in "$directory"/download/*.orig.tar.*; do
        case $file in
        *.asc) ;;
        *) [ -f "$file" ] && _debian_source_tarball=$file ;;
        esac
    done
    [ -n "$_debian_source_tarball" ] || die "apt-get downloaded no upstream tarball of $name $best"
}

# _debian_source_apt_configuration DIRECTORY
# Writes DIRECTORY/apt.conf and everything that it refers to. apt gets it
# with -c, so the system's settings (proxies, keys) are read before it and stay in force.
_debian_source_apt_configuration() {
    local directory=$1 SOURCELIST='' SOURCEPARTS='' file
    eval "$(apt-config shell SOURCELIST Dir::Etc::sourcelist/f SOURCEPARTS Dir::Etc::sourceparts/d)"

    mkdir -p "$directory"/apt/{sources,state/lists/partial,cache/archives/partial}
    for file in "$SOURCELIST" "${SOURCEPARTS%/}"/*.list; do
        if [ -r "$file" ]; then
            # "deb [options] uri suite component..."
            awk '/^[ \t]*deb(-src)?[ \t]/ && !/[ \t]cdrom:/ { sub(/deb(-src)?/, "deb-src"); if (!seen[$0]++) print }' \
                "$file" >"$directory/apt/sources/one-line-${file##*/}"
        fi
    done
    for file in "${SOURCEPARTS%/}"/*.sources; do
        if [ -r "$file" ]; then
            awk '/^Types[ \t]*:/ { print "Types: deb-src"; next } { print }' \
                "$file" >"$directory/apt/sources/deb822-${file##*/}"
        fi
    done
    # The main file may have another name than *.list, but apt reads no other names in this directory.
    if [ -f "$directory/apt/sources/one-line-${SOURCELIST##*/}" ]; then
        mv "$directory/apt/sources/one-line-${SOURCELIST##*/}" "$directory/apt/sources/main.list"
    fi
    grep -rqs '^\(deb-src\|Types: deb-src\)' "$directory/apt/sources" ||
        die "this machine has no apt sources"
    _debian_source_add_releases "$directory/apt/sources"

    # Hooks are cleared because they clean the system's cache. Timeouts are in
    # seconds.
    cat >"$directory/apt.conf" <<CONFIGURATION
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$directory/apt/sources/";
Dir::State "$directory/apt/state/";
Dir::Cache "$directory/apt/cache/";
Dir::Log "$directory/apt/";
Dir::State::Lists "$directory/apt/state/lists/";
Dir::State::extended_states "$directory/apt/state/extended_states";
Dir::Cache::Archives "$directory/apt/cache/archives/";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
CONFIGURATION
}

# _debian_source_add_releases DIRECTORY
# Copies the sources in DIRECTORY for each of debian_releases. What a source lacks
# is an error of apt-get's update, which is not heeded.
_debian_source_add_releases() {
    local directory=$1 own release file files
    own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null) || true
    [ -n "$own" ] || return 0
    files=("$directory"/*)
    for release in ${debian_releases:-}; do
        for file in "${files[@]}"; do
            sed "s/\\b$own\\b/$release/g" "$file" >"$directory/$release-${file##*/}"
        done
    done
}

#!/usr/bin/env bash
# deploy/librdkafka.sh PREFIX - builds the newest librdkafka that Debian has (testing) on Debian 12
# and installs it into PREFIX, beside the system's. Then:
#     cmake -S . -B build -DBRINE_RDKAFKA=PREFIX
# The source package comes from the mirror that the machine's own apt uses; apt's configuration
# stays as it is. A PREFIX that is complete is left as it is: remove it to build a newer one.
# Needs: root for the build packages where they are missing. Takes about a minute.
set -euo pipefail

packages="gcc g++ cmake make pkg-config dpkg-dev libcurl4-openssl-dev liblz4-dev libsasl2-dev
libssl-dev libzstd-dev zlib1g-dev"

die() {
    echo "librdkafka.sh: $*" >&2
    exit 1
}

# Shows a command's words only where it fails.
quietly() {
    "$@" >"$work/log" 2>&1 && return
    cat "$work/log" >&2
    return 1
}

install_packages() {
    local missing=() package
    for package in $packages; do
        [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == *" installed" ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || die "run it as root, or install first: ${missing[*]}"
    echo "installing ${missing[*]}"
    quietly apt-get -q update || die "apt-get update failed, see above"
    DEBIAN_FRONTEND=noninteractive quietly apt-get -q -y install --no-install-recommends \
        "${missing[@]}" || die "the build packages could not be installed, see above"
}

# Where this machine gets its own release from, one a line: "URI [KEYRING]".
mirrors() {
    local codename
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI) $(SIGNED_BY)' \
        'Created-By: Packages' | awk -v of="$codename" '$1 == of && $2 == "main" { print $3, $4 }'
}

# apt with one source, in folders of its own.
apt_apart() {
    quietly apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State="$work/state" -o Dir::Cache="$work/cache" "$@"
}

# true: the source of librdkafka lies in $work/source.
fetch_from() {
    local uri=$1 keyring=${2:-}
    [[ $keyring == /* ]] || keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb-src [signed-by=$keyring] $uri testing main" >"$work/sources.list"
    apt_apart update && (cd "$work/source" && apt_apart source --download-only librdkafka)
}

fetch() {
    local uri keyring found=
    while read -r uri keyring; do
        found=$uri
        fetch_from "$uri" "$keyring" && return
        echo "librdkafka.sh: no source package of librdkafka in testing at $uri, see above" >&2
    done < <(mirrors | sort -u)
    [[ $found ]] ||
        die "found no Debian mirror in apt's sources; add a line for your release's main"
    die "none of the mirrors in apt's sources gave librdkafka's source; is the network there?"
}

# Debian's patches only make it use libraries that Debian 12 does not have, in place of its own
# copies of their sources.
unpack() {
    quietly dpkg-source --skip-patches -x "$work"/source/*.dsc "$work/librdkafka" ||
        die "the source package could not be unpacked, see above"
}

build() {
    quietly cmake -S "$work/librdkafka" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DRDKAFKA_BUILD_EXAMPLES=OFF \
        -DRDKAFKA_BUILD_TESTS=OFF -DENABLE_LZ4_EXT=ON || die "cmake failed, see above"
    quietly cmake --build "$work/build" --parallel "$(nproc)" || die "the build failed, see above"
    quietly cmake --install "$work/build" || die "cannot install into $prefix, see above"
}

[[ $# -eq 1 && $1 != -* ]] || die "usage: librdkafka.sh PREFIX, such as /opt/librdkafka"
mkdir -p "$1" || die "cannot make $1"
prefix=$(cd "$1" && pwd)
# Written last, so that a build which was broken off is begun anew.
complete=$prefix/share/librdkafka.complete
if [[ -f $complete ]]; then
    echo "librdkafka $(cat "$complete") is in $prefix already"
    exit
fi
[[ -z $(ls -A "$prefix") || -f $prefix/lib/pkgconfig/rdkafka.pc ]] ||
    die "$prefix holds other files; give an empty folder or a new one"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# apt fetches as a user of its own, who must get in.
chmod 755 "$work"
mkdir -p "$work"/{source,state/lists/partial,cache/archives/partial}
if ((EUID == 0)); then chown _apt "$work/source"; fi

install_packages
echo "fetching the source package"
fetch
unpack
version=$(dpkg-parsechangelog -l "$work/librdkafka/debian/changelog" -S Version)
echo "building librdkafka $version"
build
mkdir -p "$prefix/share"
echo "$version" >"$complete"
echo "librdkafka $version is in $prefix; use it by -DBRINE_RDKAFKA=$prefix"

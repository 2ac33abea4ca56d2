# SPDX-License-Identifier: Apache-2.0
# Shared by scripts/demo and scripts/test: says what it does, installs what is missing, gives one sentence on failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CTEST_OUTPUT_ON_FAILURE=1
jobs=${RINGCOMM_JOBS:-$(nproc)}

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# need_packages NAME...: installs the Debian packages that are missing, and says which.
need_packages() {
  command -v dpkg-query >/dev/null ||
    die "this machine has no dpkg: install CMake 3.25, Ninja, a C++20 compiler and the libraries of docs/building.md by hand, then use the CMake presets."
  local missing=() name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} = 0 ] && return
  echo "== installs ${missing[*]} with apt-get"
  [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null ||
    die "needs root or password-less sudo to install: ${missing[*]}. Ask an administrator to install them, then run this again."
  local log
  log=$(mktemp)
  if ! { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -5 "$log" >&2
    rm -f "$log"
    die "apt-get could not install ${missing[*]} (no network, or no such package here?)."
  fi
  rm -f "$log"
}

# memory_free_mib: what this process may still use: MemAvailable, or less under a cgroup limit.
memory_free_mib() {
  local available limit used folder
  available=$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
  for folder in /sys/fs/cgroup "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)" /sys/fs/cgroup/memory; do
    for pair in memory.max:memory.current memory.limit_in_bytes:memory.usage_in_bytes; do
      limit=$(cat "$folder/${pair%%:*}" 2>/dev/null || echo max)
      used=$(cat "$folder/${pair##*:}" 2>/dev/null || echo 0)
      case $limit in max | ????????????????*) continue ;; esac
      limit=$(((limit - used) / 1048576))
      [ "$limit" -lt "$available" ] && available=$limit
    done
  done
  echo "$available"
}

# need_memory_mib N WHAT
need_memory_mib() {
  local free
  free=$(memory_free_mib)
  [ "$free" -ge "$1" ] || die "$2 needs about $1 MiB of memory, $free MiB are free here (close other programs or raise the container's limit)."
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
  local preset=$1
  shift
  mkdir -p "build/$preset"
  cmake --preset "$preset" "${configure_flags[@]}" >"build/$preset/configure.log" 2>&1 ||
    { tail -20 "build/$preset/configure.log" >&2; die "configuring preset $preset failed (build/$preset/configure.log)."; }
  local targets=()
  [ $# = 0 ] || targets=(--target "$@")
  cmake --build "build/$preset" -j "$jobs" "${targets[@]}" -- -k 0 >"build/$preset/build.log" 2>&1 ||
    { grep -E -m 20 'error|Error|FAILED' "build/$preset/build.log" >&2; die "building preset $preset failed (build/$preset/build.log)."; }
}
configure_flags=()
# Objects are found again by a clone in another folder, and those that used a precompiled header are kept too.
export CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 CCACHE_DEPEND=1

packages_build=(cmake ninja-build g++ pkg-config libhwloc-dev libucx-dev libopenmpi-dev libcli11-dev nlohmann-json3-dev libfmt-dev
  libpugixml-dev)
packages_test=("${packages_build[@]}" clang-14 lld-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 libgtest-dev
  libgmock-dev libdnnl-dev openmpi-bin python3 python3-numpy git ccache)

#!/usr/bin/env bash
# Run SPORK, or its tests, on a bare Debian or Ubuntu machine with Python 3.11 or newer.
#
#   bash run.sh [ARGUMENTS OF app.py]     set up, fetch the default model, open the page
#   bash run.sh test [PYTEST ARGUMENTS]   set up, and run every test
#
# What it sets up lies in .venv and in the cache of models ($SPORK_CACHE, else ~/.cache/spork); the
# next run finds both. $SPORK_PYTHON names the Python to use, $SPORK_CHROMIUM the tests' browser.
set -eu
cd "$(dirname "$0")"

say() { printf 'spork: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# apt_install PACKAGE...: as root or through sudo; fails after a line that says why.
apt_install() {
    local sudo=""
    if ! command -v apt-get >/dev/null; then
        say "there is no apt-get here"
        return 1
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            say "apt-get needs root or sudo, and neither is here"
            return 1
        fi
        sudo="sudo"
    fi
    say "installing $* with apt-get"
    $sudo apt-get update -qq || say "apt-get update failed; going on with the lists that are here"
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

# --- Python and .venv --------------------------------------------------------------------------

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local name
    if [ -n "${SPORK_PYTHON:-}" ]; then set -- "$SPORK_PYTHON"; else set -- python3 python3.11 python3.12 python3.13 python3.14; fi
    for name in "$@"; do
        if new_enough "$name"; then
            printf '%s\n' "$name"
            return
        fi
    done
    return 1
}

make_venv() {
    local python package
    python=$(find_python) ||
        die "${SPORK_PYTHON:-python3} is missing or older than 3.11; install python3.11 or newer (or set SPORK_PYTHON) and start again"
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv >/dev/null 2>&1 && return
    # Debian and Ubuntu ship venv and ensurepip apart from Python.
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    apt_install "$package" || die "$python cannot make a virtual environment; install $package and start again"
    rm -rf .venv
    "$python" -m venv .venv >/dev/null || die "$python cannot make a virtual environment, with $package either"
}

# install_requirements FILE: does nothing when this .venv already holds what the files ask for. The
# stamp is written last, so an interrupted installation is taken up again.
install_requirements() {
    local stamp=".venv/installed-$1"
    if new_enough .venv/bin/python && cat requirements.txt "$1" | cmp -s - "$stamp"; then
        return
    fi
    # One that was cut short before pip was in it, or whose Python is gone, is made anew.
    if ! new_enough .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        make_venv
    fi
    say "installing $1 into .venv"
    .venv/bin/python -m pip install --disable-pip-version-check --no-input -r "$1" ||
        die "pip could not install $1; its lines above say why"
    cat requirements.txt "$1" >"$stamp"
}

# --- Model and browser -------------------------------------------------------------------------

fetch_model() {
    .venv/bin/python - <<'PYTHON'
import sys

from spork.errors import SporkError
from spork.models import ensure_default_model

try:
    ensure_default_model()
except SporkError as error:
    sys.exit(f"spork: {error}")
PYTHON
}

find_chromium() {
    local name
    if [ -n "${SPORK_CHROMIUM:-}" ]; then set -- "$SPORK_CHROMIUM"; else set -- chromium chromium-browser google-chrome google-chrome-stable; fi
    for name in "$@"; do
        # Ubuntu's may be a stub that only asks for a snap, so it has to answer.
        if command -v "$name" >/dev/null && "$name" --version >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# need_chromium: exports SPORK_CHROMIUM, the browser the tests drive.
need_chromium() {
    local found
    if ! found=$(find_chromium); then
        [ -z "${SPORK_CHROMIUM:-}" ] || die "SPORK_CHROMIUM is $SPORK_CHROMIUM, which does not run"
        if ! apt_install chromium || ! found=$(find_chromium); then
            say "no chromium from apt-get; trying playwright's own"
            .venv/bin/python -m playwright install --with-deps chromium ||
                die "no Chromium for the browser tests; install one, or set SPORK_CHROMIUM to a Chromium or Chrome"
            found=$(.venv/bin/python -c 'from playwright.sync_api import sync_playwright as p
with p() as browsers: print(browsers.chromium.executable_path)')
        fi
    fi
    export SPORK_CHROMIUM="$found"
}

# --- The two commands --------------------------------------------------------------------------

if [ "${1:-}" = test ]; then
    shift
    install_requirements requirements-test.txt
    need_chromium
    fetch_model
    say "running the tests"
    # Two at a time; those with a browser apart, as theirs start servers. 5 is "none selected".
    engine=0 page=0
    .venv/bin/python -m pytest -n 2 --dist worksteal -m "not browser" "$@" || engine=$?
    .venv/bin/python -m pytest -n 2 --dist worksteal -m browser "$@" || page=$?
    [ "$engine" = 0 ] || [ "$engine" = 5 ] || exit "$engine"
    [ "$page" = 0 ] || [ "$page" = 5 ] || exit "$page"
    [ "$engine$page" != 55 ] || exit 5
    exit 0
fi

install_requirements requirements.txt
fetch_model || say "no model: the page opens on recorded runs"
# On a desktop the page is opened in the browser; app.py knows its address.
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    set -- --open "$@"
fi
exec .venv/bin/python app.py "$@"

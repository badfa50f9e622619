# Installs the package in a bare Debian root, uses it, and purges it: nothing is left. Runs as root
# in a mount namespace of its own, so that what it mounts ends with it.
# Arguments: the root (a copy, to be thrown away), the package, lbolt's version.
root=$1 package=$2 version=$3

fail() { cat "$root/scratch/said" >&2; echo "in a bare root: $*" >&2; exit 1; }
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
}
# As an ordinary user, in a directory of their own.
nobody() {
    inside setpriv --reuid 65534 --regid 65534 --clear-groups env -C /scratch HOME=/scratch "$@"
}
# All names but those of the kernel, of the test itself, and of dpkg's own records.
names() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./scratch \
        -o -path ./lbolt.deb -o -path ./var/lib/dpkg -o -path ./var/log \) -prune \
        -o -print | LC_ALL=C sort)
}

mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mkdir -p "$root/scratch/own"
chmod 1777 "$root/scratch"
: >"$root/scratch/said"
cp "$package" "$root/lbolt.deb"
before=$(names)

inside dpkg -i /lbolt.deb >/dev/null || fail "dpkg -i failed"
[ "$(inside lbolt --version)" = "lbolt $version" ] || fail "lbolt --version says another version"
inside env -C /scratch/own lbolt doctor >"$root/scratch/doctor" || fail "lbolt doctor failed"
grep -q 'C library *musl' "$root/scratch/doctor" || fail "doctor names no C library"
nobody lbolt doctor >/dev/null || fail "lbolt doctor failed for an ordinary user"
quick='--rw write --bs 64k --size 2m --runs 2'
# shellcheck disable=SC2086 # words
nobody lbolt throughput . $quick >"$root/scratch/said" 2>&1 ||
    fail "an ordinary user measures no directory"
# shellcheck disable=SC2086
inside env -C /scratch/own lbolt throughput . $quick >"$root/scratch/said" 2>&1 ||
    fail "root measures no directory"
[ "$(ls "$root/scratch/own/lbolt-runs" | wc -l)" -eq 1 ] || fail "the run was not kept"
: >"$root/scratch/said"
nobody lbolt papers 1980 >/dev/null || fail "lbolt papers failed"

for page in lbolt lbolt-watch; do
    inside gzip -t "/usr/share/man/man1/$page.1.gz" || fail "no man page of $page"
    # The bare root has no man; the pages are where man looks for them.
    ! command -v man >/dev/null || man -M "$root/usr/share/man" -w "$page" >/dev/null ||
        fail "man finds no $page"
done
completed=$(inside bash -c '. /usr/share/bash-completion/completions/lbolt
    COMP_WORDS=(lbolt doct) COMP_CWORD=1; _lbolt lbolt doct lbolt; echo "${COMPREPLY[*]}"')
[ "$completed" = doctor ] || fail "bash completes doct to \"$completed\""
for file in share/zsh/vendor-completions/_lbolt share/fish/vendor_completions.d/lbolt.fish; do
    [ -s "$root/usr/$file" ] || fail "no /usr/$file"
done
grep -q '^ExecStart=/usr/bin/lbolt ' "$root/usr/lib/systemd/system/lbolt-watch.service" ||
    fail "the unit starts another program"
grep -q '^u lbolt ' "$root/usr/lib/sysusers.d/lbolt.conf" || fail "no user for the watch"
[ -z "$(find "$root/etc/systemd" -name 'lbolt*')" ] || fail "the unit was enabled by itself"

inside dpkg -r lbolt >/dev/null 2>&1 || fail "dpkg -r failed"
[ ! -e "$root/usr/bin/lbolt" ] || fail "dpkg -r left the program"
inside dpkg -P lbolt >/dev/null 2>&1 || fail "dpkg -P failed"
after=$(names)
if [ "$before" != "$after" ]; then
    # The records of what is no more differ only in names.
    printf '%s\n' "$before" >"$root/scratch/before"
    printf '%s\n' "$after" | LC_ALL=C comm -13 "$root/scratch/before" - >&2
    fail "a purge leaves these, or took others"
fi

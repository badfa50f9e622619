# TO: what `make install` puts into a directory, packed into TO: as a tarball and as a package of
# Debian. So there is one list of files, and it holds for all ways to install. The same commit makes
# the same bytes: when and by whom is of the last commit, unless the usual variables say otherwise
# (SOURCE_DATE_EPOCH, DEBFULLNAME with DEBEMAIL).
# Of the program: $root, $binary, $notices (what is linked into it, a file), $recommended packages.
# Names: $tree of the tarball's one directory, $package, $version, $architecture.
# Source: Debian Policy, chapters 4.4, 5 and 5.6.20; deb-md5sums(5).
to=$1
trees=$(mktemp -d -p "$to")
trap 'rm -rf "$trees"' EXIT
commit() { git -C "$root" log -1 --format="$1"; }
epoch=${SOURCE_DATE_EPOCH:-$(commit %ct)}
maintainer=$(commit '%an <%ae>')
[ -z "${DEBFULLNAME:-}" ] || [ -z "${DEBEMAIL:-}" ] || maintainer="$DEBFULLNAME <$DEBEMAIL>"
date=$(LC_ALL=C date -u -R -d "@$epoch")

# PLACE VARIABLE...: what the make that runs us was told is not for this one.
install_in() {
  place=$1
  shift
  env -u MAKEFLAGS -u MFLAGS make -C "$root" install "$@" DESTDIR="$place" BINARY="$binary" >&2
}
# Whatever umask we have.
readable_by_all() { chmod -R u=rwX,go=rX "$1"; }

# The tarball: to be unpacked in /usr/local, or anywhere.
install_in "$trees/below" PREFIX=/usr/local
mv "$trees/below/usr/local" "$trees/$tree"
documents=$trees/$tree/share/doc/lbolt
for file in README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE; do
  cp "$root/$file" "$documents"
done
cp "$notices" "$documents/third-party-licences.txt"
readable_by_all "$trees/$tree"
tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$epoch" \
  --use-compress-program='gzip -9n' -cf "$to/$tree.tar.gz" -C "$trees" "$tree"

# The package. Where zsh looks on Debian is another place.
debian=$trees/debian
install_in "$debian" PREFIX=/usr ZSH_DIR=/usr/share/zsh/vendor-completions
cd "$debian"
documents=usr/share/doc/lbolt
cat >"$documents/changelog.Debian" <<END
lbolt ($version) unstable; urgency=medium

  * Packaged by \`make dist\`; what is new is in changelog.gz.

 -- $maintainer  $date
END
cp "$root/CHANGELOG.md" "$documents/changelog"
cp "$notices" "$documents/third-party-licences.txt"
# Without a name or a time within.
gzip -9n "$documents"/changelog* "$documents"/*.txt
[ ! -d usr/share/man ] || gzip -9n usr/share/man/man1/*
cp "$root/README.md" "$root/packaging/debian/copyright" "$documents"
install -D -m 644 "$root/packaging/debian/lintian-overrides" usr/share/lintian/overrides/lbolt
# Each file in whole KiB, each directory one.
kib=$(find . -printf '%y %s\n' |
  awk '{ sum += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print sum }')
sums=$(find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum)
mkdir DEBIAN
echo "$sums" >DEBIAN/md5sums
# What makes file systems is only recommended: who measures a directory or a device needs none.
cat >DEBIAN/control <<END
Package: lbolt
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $kib
Recommends: $recommended
Section: admin
Priority: optional
Description: storage I/O performance laboratory
 lbolt measures disks and file systems, traces each request to them, and says
 how far each number can be trusted. A survey answers what a machine's storage
 does; a capture says who waits, for whom, and on which file.
 .
 The program is static: it needs no library. The unit lbolt-watch.service, a
 standing watch with metrics for Prometheus, is installed and not enabled.
END
for script in postinst prerm postrm; do
  cp "$root/packaging/debian/$script" DEBIAN
done
readable_by_all .
# Two threads would cut what they compress elsewhere than one.
SOURCE_DATE_EPOCH=$epoch DPKG_DEB_THREADS_MAX=1 \
  dpkg-deb --root-owner-group -Zxz --build . "$to/$package" >&2

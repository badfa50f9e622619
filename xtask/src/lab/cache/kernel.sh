# PACKAGE AT PLACE [SUITE]: unpacks a kernel of Debian: boot, lib/modules, and its version in
# `version`. Packages come by apt with the sources that this machine has; those of another suite
# with lists of its own, of $sources.
package=$1 at=$2 place=$3 suite=${4:-}
export DEBIAN_FRONTEND=noninteractive
mkdir -p "$at/packages" "$place"
if [ -n "$suite" ]; then
  lists=$at/$suite
  mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
  echo "$sources" >"$lists/sources.list"
  cat >"$lists/apt.conf" <<END
Dir::Etc::sourcelist "$lists/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$lists/lists";
Dir::Cache "$lists/cache";
END
  export APT_CONFIG="$lists/apt.conf"
  apt-get update -qq
fi
cd "$at/packages"
knows() { apt-cache policy "$1" | grep -q 'Candidate: [^(]'; }
unpack() {
  apt-get download -qq "$1"
  for file in "$1"_*; do
    dpkg-deb -x "$file" "$place"
    rm "$file"
  done
}
knows "$package" || apt-get update -qq
# What a package that only names others leads to: the kernel itself.
image=$(apt-cache depends "$package" | sed -n 's/^ *Depends: \(linux-image-\)/\1/p' | head -n 1)
image=${image:-$package}
version=${image#linux-image-}
unpack "$image"
# Newer suites have the kernel, its modules and their lists in packages of their own.
for part in linux-binary linux-modules linux-base; do
  ! knows "$part-$version" || unpack "$part-$version"
done

# What is below /usr comes to where older packages have it.
cd "$place"
modules=lib/modules/$version
if [ -e "usr/$modules/kernel" ] && [ ! -e "$modules/kernel" ]; then
  mkdir -p lib/modules
  mv -T "usr/$modules" "$modules"
fi
[ -e "$modules/kernel" ] || { echo "the packages of $version have no modules" >&2; exit 1; }
wanted=boot/vmlinuz-$version
for folder in boot usr/lib/linux "$modules"; do
  for found in "$folder/vmlinuz-$version" "$folder/vmlinuz"; do
    [ -e "$wanted" ] || [ ! -f "$found" ] || { mkdir -p boot; mv "$found" "$wanted"; }
  done
done
[ -f "$wanted" ] || { echo "the packages of $version have no vmlinuz" >&2; exit 1; }
depmod -b "$place" "$version"
echo "$version" >version

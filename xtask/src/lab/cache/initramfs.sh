# TO KERNEL VERSION PROGRAM...: an initramfs with $init: the modules by which a guest reaches its
# shared folders and its root image, with all that they need, and programs of this machine with
# their libraries.
to=$1 kernel=$2 version=$3
shift 3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"
mkdir bin boot
echo "$init" >init
chmod 755 init
for name in "$@" busybox; do
  for place in /bin /sbin /usr/bin /usr/sbin; do
    [ ! -f "$place/$name" ] || found=$place/$name
  done
  [ "${found##*/}" = "$name" ] || { echo "$name is not installed" >&2; exit 1; }
  cp "$found" bin
  # A static program is none of ldd's.
  libraries=$(ldd "$found" 2>/dev/null | sed 's/.*=>//' | grep -o '^[[:space:]]*/[^ ]*' || true)
  for library in $libraries; do
    mkdir -p ".${library%/*}"
    cp "$library" ".$library"
  done
done
# In the order of loading. What is built into the kernel is passed over by modprobe.
for module in virtio_pci virtio_blk ext4 9pnet_virtio 9p; do
  modprobe -d "$kernel" -S "$version" --show-depends "$module"
done >listed
sed -n 's/^insmod \([^ ]*\) *$/\1/p' listed | awk '!seen[$0]++' >modules
while read -r path; do
  cp "$path" boot
  echo "${path##*/}" >>boot/order
done <modules
rm -f listed modules
find . | busybox cpio -o -H newc >"$to"

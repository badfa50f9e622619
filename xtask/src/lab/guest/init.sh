#!/bin/busybox sh
# Process 1 of a guest: loads what the shared folders and the root image need, and hands over to
# the driver. With lab.image=1 the root is the image on the first virtio disk, else this initramfs.
/bin/busybox mkdir -p /proc /sys /dev /run /tmp /mnt /lab /lib/modules
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
# The names by which the kernel calls modprobe.
ln -sf /bin/kmod /bin/modprobe; mkdir -p /sbin; ln -sf /bin/kmod /sbin/modprobe

stop() { echo "lab: $1" >/dev/console; dmesg | tail -n 20; poweroff -f; }

while read -r module; do
  insmod=$(basename "$module" .xz)
  case $module in *.xz) xz -dc "/boot/$module" >"/boot/$insmod" ;; esac
  grep -q "^$(echo "${insmod%.ko}" | tr - _) " /proc/modules || /bin/busybox insmod "/boot/$insmod"
done </boot/order

options=trans=virtio,version=9p2000.L,msize=262144
if grep -q lab.image=1 /proc/cmdline; then
  tries=0
  while [ ! -b /dev/vda ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  mount -t ext4 /dev/vda /mnt || stop "the root image cannot be mounted"
  mkdir -p /mnt/lab /mnt/lib/modules
  mount -t 9p -o $options lab /mnt/lab || stop "the shared folder cannot be mounted"
  mount -t 9p -o $options,ro,cache=loose modules /mnt/lib/modules || stop "no modules"
  for place in dev proc sys; do mount --move /$place /mnt/$place; done
  exec switch_root /mnt /bin/bash /lab/driver.sh
fi
mount -t 9p -o $options lab /lab || stop "the shared folder cannot be mounted"
mount -t 9p -o $options,ro,cache=loose modules /lib/modules || stop "no modules"
exec /bin/bash /lab/driver.sh

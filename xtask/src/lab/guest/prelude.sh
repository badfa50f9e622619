# What every script of the lab begins with; all that is set or defined is exported. A setup leaves
# its variables in /run/stack: device (what is captured and loaded), at (a directory on it), counted
# (the devices whose own counts are held against the trace; device where nothing is said).
set -a
[ ! -e /run/stack ] || . /run/stack

# modules NAME...: of this kernel.
modules() {
  local module
  for module in "$@"; do
    modprobe "$module" || { echo "no module $module"; return 1; }
  done
}

# until_true SECONDS COMMAND...: waits for a condition.
until_true() {
  local tries=$(($1 * 10)); shift
  until "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { echo "never true: $*"; return 1; }
    sleep 0.1
  done
}

# disk KIND: the path of the guest's disk of that kind.
disk() {
  local found=
  found_disk() {
    local one
    for one in /sys/block/*; do
      case $1:$(cat "$one/serial" "$one/device/serial" 2>/dev/null):$(readlink -f "$one") in
        "$1:$1:"*|"$1:$1 "*|sata:*/ata[0-9]*|scsi:*/virtio*/host*) found=/dev/${one##*/}; return 0 ;;
      esac
    done
    return 1
  }
  until_true 20 found_disk "$1" >&2 && until_true 5 [ -b "$found" ] >&2 && echo "$found"
}

# scheduler DEVICE NAME
scheduler() {
  local file=/sys/block/${1##*/}/queue/scheduler
  case $2 in bfq) modprobe bfq ;; kyber) modprobe kyber-iosched ;; mq-deadline) modprobe -q mq-deadline ;; esac
  echo "$2" >"$file"
  grep -q "\[$2\]" "$file"
}

# loop NAME MIB: a loop device on a new file.
loop() {
  local path
  truncate -s "$2M" "/tmp/$1"
  path=$(losetup -f --show "/tmp/$1")
  scheduler "$path" none >&2
  echo "$path"
}

# loops_gone NAME...: undoes it.
loops_gone() {
  local name path
  for name in "$@"; do
    for path in $(losetup -j "/tmp/$name" | cut -d: -f1); do losetup -d "$path"; done
    rm -f "/tmp/$name"
  done
}

# counters NAME: the kernel's own counts of $counted, into a file of that name. An emulated program
# takes long to start: what the shell can read by itself it reads.
counters() {
  local one name number mapped kind
  for one in ${counted:-$device}; do
    # Below /dev/mapper there are links or nodes.
    number=$(stat -L -c '0x%t 0x%T' "$one")
    number=$((${number% *})):$((${number#* }))
    name=$(readlink -f "/sys/dev/block/$number")
    name=${name##*/}
    mapped=- kind=bios
    [ ! -e "/sys/class/block/$name/dm/name" ] || read -r mapped <"/sys/class/block/$name/dm/name"
    [ ! -d "/sys/block/$name/mq" ] || kind=requests
    echo "$one $name $number $kind $mapped $(<"/sys/class/block/$name/stat")"
  done >"$out/$1"
}

# counted_load COMMAND...: with the counts right before it and after it.
counted_load() {
  local code
  counters within-before
  "$@"
  code=$?
  counters within-after
  return $code
}

# recorded COMMAND...: under lbolt record, with $options.
recorded() {
  local code
  counters before
  # shellcheck disable=SC2086 # lists of words
  lbolt record ${captured:--d $device} --all --format json $options -o "$run" -- \
    bash -c 'counted_load "$@"' load "$@"
  code=$?
  counters after
  return $code
}

# watched COMMAND...: under lbolt watch, with an incident right after it, which is the run.
watched() {
  local code watch
  counters before
  lbolt watch /scratch/history -d "$device" 2>"$out/watch" &
  watch=$!
  until_true 100 grep -q 'watching;' "$out/watch" || return
  counted_load "$@"
  code=$?
  kill -USR1 $watch
  until_true 100 is_incident
  kill -INT $watch
  wait $watch || code=$?
  counters after
  mv /scratch/history/incidents/* "$run"
  cat "$out/watch" >&2
  mv /scratch/history "$out/history"
  return $code
}
is_incident() { ls /scratch/history/incidents/*/run.json >/dev/null 2>&1; }

# slowly FUNCTION: on a modelled drive, forty times as slow, with ext4 at /mnt/slow, under lbolt
# record; prints the verdict as one line.
slowly() {
  export run
  # shellcheck disable=SC2016 # words for the inner shells
  lbolt device model:flash-sata-2018,slow=40,size=400m -- bash -c '
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$LBOLT_DEVICE" &&
      mkdir -p /mnt/slow && mount "$LBOLT_DEVICE" /mnt/slow || exit
    lbolt record -d "$LBOLT_DEVICE" -o "$run" -- bash -c "$0"
    code=$?
    umount /mnt/slow
    exit $code' "$1" || return
  lbolt response "$run" | tr "\n" " "
}

# load OPTION...: fio on $device past the page cache.
load() {
  fio --name=load --filename="$device" --ioengine=psync --direct=1 --bs=4k --size="${size:-128m}" \
    --randseed=7 --allow_file_create=0 --output-format=json --output="$out/fio.json" "$@"
}

# cpus_change COMMAND...: takes CPUs out and brings them back meanwhile.
cpus_change() {
  local cpu online
  "$@" &
  for online in 0 1 0 1; do
    for cpu in 5 6 7; do
      sleep 0.3
      echo $online >/sys/devices/system/cpu/cpu$cpu/online
    done
  done
  wait $!
}

# cpus_are 0|1: offline or online, half of them.
cpus_are() {
  local cpu
  for cpu in 4 5 6 7; do echo "$1" >/sys/devices/system/cpu/cpu$cpu/online; done
}

# cpus_come COMMAND...: with CPUs that were offline when the capture began.
cpus_come() {
  cpus_are 1 && sleep 1 && "$@"
}

# file_load OPTION...: fio on files in $at, and then all that is left to write.
file_load() {
  local code
  fio --name=load --directory="$at" --bs=8k --size=4m \
    --randseed=7 --output-format=json --output="$out/fio.json" "$@"
  code=$?
  sync
  return $code
}

# make_ext4 OPTION... DEVICE: all of it at once, so that nothing is written to it later.
make_ext4() { mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$@"; }

# mounted TYPE DEVICE: mounts it on $at.
mounted() { mkdir -p "$at" && mount -t "$1" "$2" "$at"; }

# sum DEVICE: of its first 16 MiB.
sum() { dd if="$1" bs=1M count=16 iflag=direct 2>/dev/null | md5sum | cut -c1-12; }

# guarded: a destroying run against $device, and whether the device has changed. What is mounted is
# frozen meanwhile: a file system writes to its device when it likes.
guarded() {
  local before code
  sync
  [ -z "${at:-}" ] || fsfreeze -f "$at"
  before=$(sum "$device")
  lbolt throughput "$device" --destroy "$device" --rw write --bs 64k --size 8m --runs 1
  code=$?
  [ "$(sum "$device")" = "$before" ] && echo unchanged >"$out/sum" || echo changed >"$out/sum"
  [ -z "${at:-}" ] || fsfreeze -u "$at"
  return $code
}

# lvm2 COMMAND...: LVM on all devices, without waiting for udev.
lvm2() {
  local command=$1; shift
  lvm "$command" --config 'devices{scan=["/dev"]} activation{udev_sync=0 udev_rules=0}' "$@"
}

# volumes DEVICE SIZE: a group "lab" with a logical volume "lv".
volumes() {
  lvm2 pvcreate -ff -y "$1" && lvm2 vgcreate lab "$1" && lvm2 lvcreate -y -W n -n lv -L "$2" lab
}
volumes_gone() { lvm2 vgremove -ff -y lab; lvm2 pvremove -ff -y "$1"; wipefs -qa "$1"; }

# encrypted DEVICE: LUKS, opened as "crypt".
encrypted() {
  echo word | cryptsetup luksFormat --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -q "$1" - &&
    echo word | cryptsetup open "$1" crypt -d -
}

encrypted_gone() { until_true 10 cryptsetup close crypt; }

# mirror DEVICE DEVICE: md9, a raid1, which does not write to its members that it is clean.
mirror() {
  mdadm --create /dev/md9 --run --assume-clean --bitmap=none -l1 -n2 "$1" "$2" &&
    echo 0 >/sys/block/md9/md/safe_mode_delay
}
mirror_gone() { until_true 10 mdadm --stop /dev/md9; mdadm --zero-superblock "$@"; wipefs -qa "$@"; }

# cached DEVICE CACHE: bcache0.
cached() {
  make-bcache -B "$1" -C "$2" --wipe-bcache
  # udev may have been quicker.
  for one in "$1" "$2"; do echo "$one" >/sys/fs/bcache/register 2>/dev/null || true; done
  until_true 10 [ -b /dev/bcache0 ]
}
cached_gone() {
  echo 1 >/sys/block/bcache0/bcache/stop
  until_true 10 [ ! -e /sys/block/bcache0 ]
  for one in /sys/fs/bcache/*-*/stop; do echo 1 >"$one"; done
  until_true 10 no_cache_set
  wipefs -qa "$@"
}
no_cache_set() { ! ls -d /sys/fs/bcache/*-* >/dev/null 2>&1; }

# exported FILE: through nbd-server here, as nbd0.
exported() {
  printf '[generic]\n[lab]\nexportname=%s\n' "$1" >/tmp/nbd.conf
  nbd-server -C /tmp/nbd.conf
  until_true 10 nbd-client -N lab 127.0.0.1 /dev/nbd0
}
exported_gone() { nbd-client -d /dev/nbd0; kill "$(pgrep -o nbd-server)"; }

# partitioned DISK COUNT: new partitions of 300 MiB, in $p1, $p2 and so on.
partitioned() {
  local number
  sgdisk -Z "$1"
  for number in $(seq "$2"); do sgdisk -n "$number:0:+300M" "$1"; done
  blockdev --rereadpt "$1"
  for number in $(seq "$2"); do
    until_true 10 [ -b "$1p$number" ]
    wipefs -qa "$1p$number"
    eval "p$number=$1p$number"
  done
}

# undo WORK: undoes whatever stands in the directory, and removes it.
# make WORK FILE_SYSTEM MIB BENEATH DEVICE: a loop device over an image that is written in full, if
# no device is named, and a file system on it at $work/mnt; prints the device. If BENEATH is a word,
# the image lies on an ext4 on a device of its own, with room for it. $group is the case's cgroup.
work=$2

# Of each device before a case and after it; loop devices keep what they were told.
settings() {
  echo none >"/sys/block/${1##*/}/queue/scheduler"
  echo 128 >"/sys/block/${1##*/}/queue/read_ahead_kb"
}

# IMAGE MIB: a device over a new image, direct to the disk.
device() {
  dd if=/dev/zero of="$1" bs=1M count="$2" oflag=direct status=none
  device=$(losetup --direct-io=on --find --show "$1")
  settings "$device"
}

# DEVICE FILE_SYSTEM PLACE: what the file system would initialize later would be a load of its own.
mounted() {
  case $2 in
  ext4) mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$1" ;;
  *) "mkfs.$2" -q -K "$1" ;;
  esac
  mkdir -p "$3"
  mount "$1" "$3"
}

make() {
  file_system=$3 mib=$4 beneath=$5 device=$6
  mkdir "$group"
  place=$work
  if [ -n "$beneath" ]; then
    place=$work/beneath
    device "$work/image-beneath" $((mib + mib / 8 + 64))
    mounted "$device" ext4 "$place"
    device=
  fi
  [ -n "$device" ] || device "$place/image" "$mib"
  [ "$file_system" = none ] || mounted "$device" "$file_system" "$work/mnt"
  echo "$device"
}

# FILE COLUMN: the paths under the directory.
under() {
  awk -v column="$2" -v work="$work/" 'index($column "/", work) == 1 { print $column }' "$1"
}
mounts() { under /proc/self/mountinfo 5; }

# Killed processes that wait for a device take a while to end.
end_processes() {
  for group in /sys/fs/cgroup/lbolt-planted /sys/fs/cgroup/*/lbolt-planted; do
    tries=0
    while [ -d "$group" ] && ! rmdir "$group" 2>/dev/null; do
      tries=$((tries + 1))
      [ $tries -lt 400 ] || { echo "processes in $group do not end" >&2; exit 1; }
      # They may have ended.
      xargs -r kill -KILL <"$group/cgroup.procs" 2>/dev/null || true
      sleep 0.05
    done
  done
}

undo() {
  # Most are not frozen.
  for place in $(mounts); do fsfreeze -u "$place" 2>/dev/null || true; done
  end_processes
  for area in $(under /proc/swaps 1); do swapoff "$area"; done
  # File systems lie on devices that lie on file systems.
  for layer in 1 2 3; do
    # It is busy while a device lies on it.
    for place in $(mounts | tac); do umount "$place" 2>/dev/null || true; done
    losetup --list --noheadings --raw --output NAME,BACK-FILE | while read -r device image; do
      case $image in
      "$work"/*) settings "$device" && losetup -d "$device" ;;
      esac
    done
  done
  left=$(mounts)
  [ -z "$left" ] || { echo "still mounted: $left" >&2; exit 1; }
  rm -rf "$work"
}

"$1" "$@"

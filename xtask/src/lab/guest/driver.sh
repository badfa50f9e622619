#!/bin/bash
# Runs the plan in a guest: for each stack its setup, its cases, its teardown. What a case leaves is
# in a folder of its name under out; its file "code" is written last and says that the case is over.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mkdir -p /dev/pts /dev/shm /scratch /mnt
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs scratch /scratch
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t securityfs security /sys/kernel/security 2>/dev/null
mount -t cgroup2 cgroup /sys/fs/cgroup 2>/dev/null
mount -t bpf bpf /sys/fs/bpf 2>/dev/null
ip link set lo up
hostname lab
ulimit -n 65536
mkdir -p /usr/local/bin
cp /lab/lbolt /usr/local/bin/lbolt
if [ -x /lib/systemd/systemd-udevd ]; then
  /lib/systemd/systemd-udevd --daemon 2>/dev/null
  udevadm trigger 2>/dev/null
  udevadm settle -t 10 2>/dev/null
fi
cd /scratch || exit 1
export lab=/lab

settle() { [ ! -x /bin/udevadm ] || udevadm settle -t 10; }

# over CODE FOLDER...: these cases have ended so. Whoever sees the file sees all of it.
over() {
  local code=$1; shift
  for folder in "$@"; do
    mkdir -p "$folder"
    echo "$code" >"$folder/code.new"
    mv "$folder/code.new" "$folder/code"
  done
}

for stack in /lab/plan/*/; do
  name=$(basename "$stack")
  mkdir -p "/lab/out/$name"
  cases=()
  for script in "$stack"*.case.sh; do cases+=("/lab/out/$name/$(basename "$script" .case.sh)"); done
  echo "$name" >/lab/out/now
  timeout -k 5 400 bash "${stack}setup.sh" >"/lab/out/$name/setup" 2>&1
  code=$?
  settle
  if [ $code != 0 ]; then
    over "setup $code" "${cases[@]}"
  else
    for out in "${cases[@]}"; do
      export out run=/scratch/run
      mkdir -p "$out"
      rm -rf "$run" /scratch/again
      sync
      timeout -k 5 "$(cat "$stack$(basename "$out").limit")" bash "$stack$(basename "$out").case.sh" \
        >"$out/stdout" 2>"$out/stderr" </dev/null
      code=$?
      [ ! -d "$run" ] || cp -r "$run" "$out/run"
      over "$code" "$out"
    done
  fi
  timeout -k 5 200 bash "${stack}teardown.sh" >"/lab/out/$name/teardown" 2>&1
  settle
done
dmesg >/lab/out/dmesg 2>&1
echo done >/lab/out/done
sync
echo o >/proc/sysrq-trigger
sleep 30

#!/bin/sh
# Another role at a device while a command runs: reads of 4 KiB, one after the other.
# other.sh DEVICE -- COMMAND...
trap : TERM
device=$1
shift 2
while dd if="$device" of=/dev/null bs=4k iflag=direct status=none; do
	:
done &
"$@"

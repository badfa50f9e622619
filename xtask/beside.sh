#!/bin/sh
# A tracer that runs no command itself: beside.sh READY TRACER... -- COMMAND...
# COMMAND is run when the tracer has printed a line with READY in it.
# It ends when its tracer has: what is measured next is measured without it.
# Where tracefs is not mounted it is for both of them alone: bpftrace looks for it.
if [ ! -e /sys/kernel/tracing/events ]; then
	# shellcheck disable=SC2016 # its own arguments
	exec unshare --mount --propagation private \
		sh -ec 'mount -t tracefs none /sys/kernel/tracing; exec sh "$@"' sh "$0" "$@"
fi
trap : TERM
ready=$1
shift
tracer=
while [ "$1" != -- ]; do
	tracer="$tracer $1"
	shift
done
shift
# shellcheck disable=SC2086 # its words have no spaces
stdbuf -oL $tracer | while read -r line; do
	case $line in
	*"$ready"*)
		sleep 0.5
		"$@" &
		;;
	esac
done

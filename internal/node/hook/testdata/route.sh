#!/bin/sh -e
# notify_master "/etc/keepalived/route.sh add", notify_backup and notify_stop "/etc/keepalived/route.sh del".
LOCK=/var/run/lock.route
until mkdir "$LOCK" 2>/dev/null; do sleep 0.1; done
trap 'rmdir "$LOCK"' EXIT

if [ "$1" = add ]; then
	ip route replace 192.0.2.0/24 via 10.77.0.1 src 10.77.0.100
	ip rule add from 10.77.0.100 lookup 100
else
	ip route del 192.0.2.0/24 || true
	ip rule del from 10.77.0.100 lookup 100 || true
fi

#!/bin/bash
# notify_master "/etc/keepalived/mail.sh master", notify_backup and notify_fault likewise.
contact='root@localhost'

notify() {
	mailsubject="$(hostname) to be $1: vip floating"
	mailbody="vrrp transition, $(hostname) changed to be $1"
	echo "$mailbody" | mail -s "$mailsubject" $contact
}

case "$1" in
master)
	notify master
	exit 0
	;;
backup)
	notify backup
	exit 0
	;;
fault)
	notify fault
	exit 0
	;;
*)
	echo "Usage: $(basename $0) {master|backup|fault}"
	exit 1
	;;
esac

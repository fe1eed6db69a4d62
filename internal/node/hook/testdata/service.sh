#!/bin/sh
# notify "/etc/keepalived/service.sh": a service that is to run where the address is.
TYPE=$1
NAME=$2
STATE=$3

case $STATE in
	"MASTER") systemctl start haproxy
		  exit 0
		  ;;
	"BACKUP") systemctl stop haproxy
		  exit 0
		  ;;
	"FAULT")  systemctl stop haproxy
		  exit 0
		  ;;
	"STOP")   systemctl stop haproxy
		  exit 0
		  ;;
	*)        echo "unknown state $STATE of $TYPE $NAME"
		  exit 1
		  ;;
esac

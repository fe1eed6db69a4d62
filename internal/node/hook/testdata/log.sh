#!/bin/bash

ENDSTATE=$3
NAME=$2
TYPE=$1
PRIORITY=$4
LOGGER="logger -t keepalived-notify"

case $ENDSTATE in
    "BACKUP") # perform action for transition to BACKUP state
              $LOGGER -p daemon.notice "$TYPE $NAME ($PRIORITY): to backup"
              ;;
    "FAULT")  # perform action for transition to FAULT state
              $LOGGER -p daemon.warning "$TYPE $NAME ($PRIORITY): to fault"
              ;;
    "MASTER") # perform action for transition to MASTER state
              $LOGGER -p daemon.notice "$TYPE $NAME ($PRIORITY): to master"
              ;;
    *)        $LOGGER -p daemon.err "$TYPE $NAME: unknown state $ENDSTATE"
              ;;
esac
exit 0

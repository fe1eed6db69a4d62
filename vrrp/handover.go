package vrrp

import "time"

// passOn makes the Active a Backup like any other, with a fresh Active_Down_Timer: it takes the addresses back by itself
// if nobody is heard. There are no final advertisements and no priority 0, which would make third routers start a takeover.
func (m *Machine) passOn(now time.Time) {
	if m.state == Active {
		m.enterBackup(now, ReasonPassedOn)
	}
}

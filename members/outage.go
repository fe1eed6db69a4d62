package members

import "time"

// outage watches for times in which nobody is fit. After such a time the first that recovers must not take the address at
// once: what made all of them unfit ends for all of them, one after the other, and the holder may be next.
type outage struct {
	last time.Time // when nobody was fit for the last time
}

// watchOutage counts only what is known: with no holder in sight there is nothing to wait for. And where nobody was fit
// before, nothing recovers: the first that is fit is waited for, as by kubeadm init.
func (m *Machine) watchOutage(now time.Time) {
	h := m.holder(now)
	if h == nil || m.self.Fit || m.table.anyFit() || !m.proven && !m.table.anyProven() {
		return
	}
	m.outage.last = now
}

// recoverAt is until when nobody asks; zero when there was no such outage.
func (m *Machine) recoverAt() time.Time {
	if m.outage.last.IsZero() {
		return time.Time{}
	}
	return m.outage.last.Add(m.cfg.RecoverHold)
}

func (m *Machine) recovering(now time.Time) bool { return now.Before(m.recoverAt()) }

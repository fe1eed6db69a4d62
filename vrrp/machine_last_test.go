package vrrp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func lastMachine(t *testing.T, priority uint8) (*Machine, time.Time) {
	t.Helper()
	m, err := NewMachine(Config{
		Version: 3, VRID: 51, Priority: priority, Interval: 100 * time.Millisecond, Preempt: true,
		Source: netip.MustParseAddr("10.77.0.13"), Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.100")},
	})
	require.NoError(t, err)
	now := time.Unix(1000, 0)
	m.Step(now, SetLast{On: true})
	m.Step(now, Startup{})
	return m, now
}

func sent(actions []Action) (list []uint8) {
	for _, a := range actions {
		if s, ok := a.(Send); ok {
			list = append(list, s.Advertisement.Priority)
		}
	}
	return list
}

func TestMachineThatComesLastIsActiveInTheUsualTimeAndYieldsToAnybody(t *testing.T) {
	m, now := lastMachine(t, 100)
	at, _ := m.Deadline()
	assert.InDelta(t, 360, at.Sub(now).Milliseconds(), 1, "three intervals and the Skew_Time of priority 100")
	assert.Equal(t, []uint8{1}, sent(m.Step(at, Expired{})))
	require.Equal(t, Active, m.Snapshot().State)

	assert.Equal(t, []uint8{100}, sent(m.Step(at.Add(10*time.Millisecond), SetLast{})), "a higher priority is said immediately")
	m.Step(at.Add(20*time.Millisecond), SetLast{On: true})
	lower := Received{Source: netip.MustParseAddr("10.77.0.11"), Advertisement: Advertisement{
		Version: 3, VRID: 51, Priority: 2, Interval: 100 * time.Millisecond, Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.100")},
	}}
	assert.Equal(t, []uint8{1}, sent(m.Step(at.Add(30*time.Millisecond), lower)), "its final advertisement")
	assert.Equal(t, Backup, m.Snapshot().State)
}

func TestMachineOwnerDoesNotComeLast(t *testing.T) {
	m, now := lastMachine(t, 255)
	require.Equal(t, Active, m.Snapshot().State)
	at, _ := m.Deadline()
	assert.Equal(t, []uint8{255}, sent(m.Step(at, Expired{})), "after %v", at.Sub(now))
}

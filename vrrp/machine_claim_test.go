package vrrp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	claimEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	claimSelf  = netip.MustParseAddr("10.77.0.11")
	claimVIP   = []netip.Addr{netip.MustParseAddr("10.77.0.100")}
)

func claimFrom(last byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, last}) }

// claimTest is a Machine of priority 100 at .11, and how another one claims.
func claimTest(t *testing.T, state State) *Machine {
	t.Helper()
	m, err := NewMachine(Config{
		Version: 3, VRID: 51, Priority: 100, Interval: 100 * time.Millisecond, Preempt: true,
		Source: claimSelf, Addresses: claimVIP,
	})
	assert.NoError(t, err)
	m.Step(claimEpoch, Startup{})
	if state == Active {
		m.Step(claimEpoch, Granted{})
	}
	return m
}

func TestMachineActiveHearsAClaim(t *testing.T) {
	for _, tt := range []struct {
		name     string
		priority uint8
		last     byte
		deaf     bool
		want     State
	}{
		{"higher priority", 101, 1, false, Backup},
		{"lower priority", 99, 99, false, Active},
		{"higher address", 100, 12, false, Backup},
		{"lower address", 100, 10, false, Active},
		{"lower priority, deaf", 99, 1, true, Backup},
		{"higher priority, deaf", 101, 1, true, Backup},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := claimTest(t, Active)
			now := claimEpoch.Add(50 * time.Millisecond)
			m.Step(now, Claimed{Source: claimFrom(tt.last), Priority: tt.priority, Interval: 100 * time.Millisecond, Deaf: tt.deaf, Lasts: 3 * time.Second})
			assert.Equal(t, tt.want, m.Snapshot().State)
			if tt.want == Backup {
				wait := m.backup.deadline(&m.parameters).Sub(now)
				assert.Equal(t, tt.deaf, wait >= 3*time.Second, "%v", wait)
				m.Step(now.Add(time.Millisecond), Disclaimed{Source: claimFrom(tt.last)})
				assert.Less(t, m.backup.deadline(&m.parameters).Sub(now), 400*time.Millisecond, "it is over")
			}
		})
	}
}

// A Backup follows a claim of any priority: whoever claims would not hear that it is preempted.
func TestMachineBackupHearsAClaim(t *testing.T) {
	for _, priority := range []uint8{1, 99, 100, 254} {
		m := claimTest(t, Backup)
		for i := range 20 {
			now := claimEpoch.Add(time.Duration(i) * 100 * time.Millisecond)
			m.Step(now, Claimed{Source: claimFrom(12), Priority: priority, Interval: 100 * time.Millisecond})
			m.Step(now, Expired{})
			assert.Equal(t, Backup, m.Snapshot().State)
			assert.Less(t, m.backup.deadline(&m.parameters).Sub(now), 400*time.Millisecond)
		}
		at, _ := m.Deadline()
		m.Step(at, Expired{})
		assert.Equal(t, Active, m.Snapshot().State, "the claim is over")
	}
}

// An advertisement ends the long wait for one that is deaf.
func TestMachineBackupHearsAnAdvertisementAfterAClaim(t *testing.T) {
	m := claimTest(t, Backup)
	now := claimEpoch.Add(10 * time.Millisecond)
	m.Step(now, Claimed{Source: claimFrom(12), Priority: 100, Interval: 100 * time.Millisecond, Deaf: true, Lasts: 3 * time.Second})
	adv := m.cfg.advertisement(100)
	m.Step(now, Received{Source: claimFrom(12), Advertisement: adv})
	assert.Less(t, m.backup.deadline(&m.parameters).Sub(now), 400*time.Millisecond)
}

// A claim makes a Backup wait no longer than one advertisement would, however often it is repeated: whoever has no key can say one.
func TestMachineBoundsTheIntervalOfAClaim(t *testing.T) {
	for _, tt := range []struct {
		name           string
		version        uint8
		own, startup   time.Duration
		stated, adopts time.Duration
	}{
		{"version 3, ten times ours", 3, 100 * ms, 0, time.Second, time.Second},
		{"version 3, longer", 3, 100 * ms, 0, 255 * time.Second, time.Second},
		{"version 3, StartupInterval says that there is one", 3, 100 * ms, 20 * time.Second, 20 * time.Second, 20 * time.Second},
		{"version 3, longer than the wire carries", 3, 10 * time.Second, 0, 255 * time.Second, 40950 * ms},
		{"version 3, shorter than the wire carries", 3, 100 * ms, 0, ms, 10 * ms},
		{"version 3, not in steps of the wire", 3, 100 * ms, 0, 105 * ms, 100 * ms},
		{"version 2 adopts nothing longer", 2, time.Second, 0, 255 * time.Second, time.Second},
		{"version 2 adopts nothing shorter", 2, time.Second, 0, ms, time.Second},
	} {
		for _, state := range []State{Backup, Active} {
			t.Run(tt.name+", "+state.String(), func(t *testing.T) {
				m, err := NewMachine(Config{
					Version: tt.version, VRID: 51, Priority: 100, Interval: tt.own, StartupInterval: tt.startup, Preempt: true,
					Source: claimSelf, Addresses: claimVIP,
				})
				require.NoError(t, err)
				m.Step(claimEpoch, Startup{})
				if state == Active {
					m.Step(claimEpoch, Granted{})
				}
				now := claimEpoch
				for range 3 {
					for _, a := range m.Step(now, Claimed{Source: claimFrom(12), Priority: 255, Interval: tt.stated}) {
						if s, ok := a.(Send); ok {
							assert.NoError(t, s.Advertisement.validate(), "the last advertisements can be sent")
						}
					}
					assert.Equal(t, Backup, m.Snapshot().State)
					assert.Equal(t, tt.adopts, m.Snapshot().ActiveAdverInterval)
					assert.LessOrEqual(t, m.backup.deadline(&m.parameters).Sub(now), m.activeDownInterval(tt.adopts))
					now = now.Add(max(tt.own, tt.adopts))
				}
			})
		}
	}
}

// Claims of a rival that this Active outranks draw no more advertisements than its advertisements would.
func TestMachineActiveAnswersFewClaims(t *testing.T) {
	m := claimTest(t, Active)
	sent := 0
	for i := range 1000 {
		now := claimEpoch.Add(time.Duration(i) * 2 * ms)
		m.active.deadline = now.Add(time.Second) // none is due
		for _, a := range m.Step(now, Claimed{Source: claimFrom(12), Priority: 1, Interval: 100 * ms}) {
			if _, ok := a.(Send); ok {
				sent++
			}
		}
	}
	assert.LessOrEqual(t, sent, answerBurst+2000/10+1)
	assert.Greater(t, sent, answerBurst)
}

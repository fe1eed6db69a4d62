package vrrp

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// base is node1's configuration in the machine's tests: Skew_Time 609.375 ms, Active_Down_Interval 3609.375 ms.
func base() Config {
	return Config{
		Version: 3, VRID: 51, Priority: 100, Interval: time.Second, Preempt: true,
		Source: node1, Addresses: []netip.Addr{vip},
	}
}

// The peers' addresses, below and above node1's.
var (
	below = addr("10.9.0.10")
	above = node2
)

// heard is an advertisement of another router with base's configuration.
func heard(from netip.Addr, priority uint8) Received {
	return Received{Source: from, Advertisement: base().advertisement(priority)}
}

// every returns r with another interval.
func (r Received) every(d time.Duration) Received {
	r.Advertisement.Interval = d
	return r
}

// describe writes actions for comparison: "send 100", "backup>active (reason)", "reannounce 10.9.0.12".
func describe(actions []Action) string {
	var words []string
	for _, a := range actions {
		switch a := a.(type) {
		case Send:
			words = append(words, fmt.Sprintf("send %d", a.Advertisement.Priority))
		case Change:
			words = append(words, fmt.Sprintf("%v>%v (%s)", a.From, a.To, a.Reason))
		case Reannounce:
			words = append(words, fmt.Sprintf("reannounce %v", a.Rival))
		}
	}
	return strings.Join(words, "; ")
}

// step is one event, when it comes, and what it must lead to.
type step struct {
	at   time.Duration
	ev   Event
	want string
}

// scenario runs steps on a fresh machine; deadline is where the timer must stand at the end, 0 for none.
type scenario struct {
	name     string
	change   func(*Config)
	steps    []step
	state    State
	deadline time.Duration
}

func (s scenario) run(t *testing.T) *Machine {
	t.Helper()
	cfg := base()
	if s.change != nil {
		s.change(&cfg)
	}
	m, err := NewMachine(cfg)
	require.NoError(t, err)
	for i, step := range s.steps {
		assert.Equal(t, step.want, describe(m.Step(epoch.Add(step.at), step.ev)), "step %d, %T at %v", i, step.ev, step.at)
	}
	assert.Equal(t, s.state, m.Snapshot().State)
	at, ok := m.Deadline()
	assert.Equal(t, s.deadline != 0, ok, "a timer runs")
	if ok {
		assert.Equal(t, s.deadline, at.Sub(epoch), "deadline")
	}
	return m
}

func runScenarios(t *testing.T, scenarios []scenario) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) { s.run(t) })
	}
}

// Openings of many scenarios.
const (
	started   = "initialize>backup (started)"
	tookOver  = "send 100; backup>active (no advertisement heard for the Active_Down_Interval)"
	down      = 3609375 * time.Microsecond // Active_Down_Interval of base
	skew      = 609375 * time.Microsecond  // Skew_Time of base
	yieldHigh = "active>backup (higher priority heard); send 100"
)

func start() step { return step{0, Startup{}, started} }

// asActive makes a machine Active at time down.
func asActive(then ...step) []step {
	return append([]step{start(), {down, Expired{}, tookOver}}, then...)
}

func asBackup(then ...step) []step { return append([]step{start()}, then...) }

func owner(c *Config)     { c.Priority = 255 }
func nopreempt(c *Config) { c.Preempt = false }
func v2(c *Config)        { c.Version = 2 }

// TestMachineRFC9568 walks section 6.4 clause by clause.
func TestMachineRFC9568(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name:   "6.4.1 Startup, priority 255: advertise, Adver_Timer, Active",
			change: owner, steps: []step{{0, Startup{}, "send 255; initialize>active (" + string(ReasonOwner) + ")"}},
			state: Active, deadline: time.Second,
		},
		{
			name:  "6.4.1 Startup, otherwise: Active_Down_Timer, Backup",
			steps: asBackup(), state: Backup, deadline: down,
		},
		{
			name:  "6.4.1 Initialize ignores everything but Startup",
			steps: []step{{0, Expired{}, ""}, {0, heard(above, 200), ""}, {0, heard(above, 0), ""}, {0, Shutdown{}, ""}},
			state: Initialize,
		},
		{
			name:  "6.4.2 Shutdown: cancel Active_Down_Timer, Initialize",
			steps: asBackup(step{time.Second, Shutdown{}, "backup>initialize (shut down)"}),
			state: Initialize,
		},
		{
			name:  "6.4.2 Active_Down_Timer: advertise, Adver_Timer, Active",
			steps: asBackup(step{down, Expired{}, tookOver}), state: Active, deadline: down + time.Second,
		},
		{
			name:  "6.4.2 Active_Down_Timer not yet expired",
			steps: asBackup(step{down - 1, Expired{}, ""}), state: Backup, deadline: down,
		},
		{
			name: "6.4.2 advertisement with priority 0: Active_Down_Timer is Skew_Time",
			steps: asBackup(
				step{time.Second, heard(above, 200), ""},
				step{2 * time.Second, heard(above, 0), ""},
			),
			state: Backup, deadline: 2*time.Second + skew,
		},
		{
			name: "6.4.2 Skew_Time over: Active",
			steps: asBackup(
				step{time.Second, heard(above, 200), ""},
				step{2 * time.Second, heard(above, 0), ""},
				step{2*time.Second + skew, Expired{}, "send 100; backup>active (the Active gave up (priority 0 heard))"},
			),
			state: Active, deadline: 3*time.Second + skew,
		},
		{
			name:  "6.4.2 advertisement of higher priority: Active_Down_Timer is Active_Down_Interval",
			steps: asBackup(step{2 * time.Second, heard(below, 101), ""}), state: Backup, deadline: 2*time.Second + down,
		},
		{
			name:  "6.4.2 advertisement of equal priority, whatever the address",
			steps: asBackup(step{2 * time.Second, heard(below, 100), ""}), state: Backup, deadline: 2*time.Second + down,
		},
		{
			name:  "6.4.2 advertisement: adopt Max Advertise Interval, recompute Skew_Time and Active_Down_Interval",
			steps: asBackup(step{time.Second, heard(above, 200).every(400 * ms), ""}),
			// 3 x 400 ms + 156/256 x 400 ms
			state: Backup, deadline: time.Second + 1443750*time.Microsecond,
		},
		{
			name: "6.4.2 priority 0 after an adopted interval: Skew_Time of that interval",
			steps: asBackup(
				step{time.Second, heard(above, 200).every(400 * ms), ""},
				step{2 * time.Second, heard(above, 0).every(400 * ms), ""},
			),
			state: Backup, deadline: 2*time.Second + 243750*time.Microsecond,
		},
		{
			name:   "6.4.2 advertisement of lower priority, Preempt_Mode false: as of higher",
			change: nopreempt, steps: asBackup(step{2 * time.Second, heard(above, 1), ""}),
			state: Backup, deadline: 2*time.Second + down,
		},
		{
			name: "6.4.2 advertisement of lower priority, Preempt_Mode true: discard",
			steps: asBackup(
				step{2 * time.Second, heard(above, 99).every(100 * ms), ""},
				step{down, Expired{}, "send 100; backup>active (the Active has a lower priority)"},
			),
			state: Active, deadline: down + time.Second,
		},
		{
			name:  "6.4.3 Shutdown: cancel Adver_Timer, advertise priority 0, Initialize",
			steps: asActive(step{4 * time.Second, Shutdown{}, "active>initialize (shut down); send 0"}),
			state: Initialize,
		},
		{
			name: "6.4.3 Adver_Timer: advertise, Adver_Timer",
			steps: asActive(
				step{down + time.Second - 1, Expired{}, ""},
				step{down + time.Second, Expired{}, "send 100"},
				step{down + 2*time.Second, Expired{}, "send 100"},
			),
			state: Active, deadline: down + 3*time.Second,
		},
		{
			name:  "6.4.3 advertisement with priority 0: advertise, Adver_Timer",
			steps: asActive(step{down + 300*ms, heard(above, 0), "send 100; reannounce 10.9.0.12"}),
			state: Active, deadline: down + 1300*ms,
		},
		{
			name: "6.4.3 advertisement of higher priority: Active_Down_Timer, Backup",
			// the deadline is the second of the last advertisements
			steps: asActive(step{down + 300*ms, heard(below, 101), yieldHigh}),
			state: Backup, deadline: down + 320*ms,
		},
		{
			name: "6.4.3 advertisement of equal priority, greater address: Active_Down_Timer, Backup",
			steps: asActive(
				step{down + 300*ms, heard(above, 100), "active>backup (equal priority and higher address heard); send 100"},
				step{down + 360*ms, Expired{}, "send 100"},
			),
			state: Backup, deadline: down + 300*ms + down,
		},
		{
			name: "6.4.3 yielding: adopt Max Advertise Interval, recompute",
			steps: asActive(
				step{down + 300*ms, heard(above, 200).every(400 * ms), yieldHigh},
				step{down + 360*ms, Expired{}, "send 100"},
			),
			state: Backup, deadline: down + 300*ms + 1443750*time.Microsecond,
		},
		{
			name:  "6.4.3 advertisement of lower priority: discard, advertise at once",
			steps: asActive(step{down + 300*ms, heard(above, 99), "send 100; reannounce 10.9.0.12"}),
			state: Active, deadline: down + 1300*ms,
		},
		{
			name:  "6.4.3 advertisement of equal priority, smaller address: discard, advertise at once",
			steps: asActive(step{down + 300*ms, heard(below, 100), "send 100; reannounce 10.9.0.10"}),
			state: Active, deadline: down + 1300*ms,
		},
		{
			name:   "6.4.3 Preempt_Mode false does not make an Active yield to less",
			change: nopreempt, steps: asActive(step{down + 300*ms, heard(above, 99), "send 100; reannounce 10.9.0.12"}),
			state: Active, deadline: down + 1300*ms,
		},
	})
}

// TestMachineRFC3768 shows where version 2 differs.
func TestMachineRFC3768(t *testing.T) {
	second := func(from netip.Addr, priority uint8) Received {
		r := heard(from, priority)
		r.Advertisement.Version = 2
		return r
	}
	twoSeconds := func(c *Config) { c.Version, c.Interval = 2, 2*time.Second }
	runScenarios(t, []scenario{
		{
			name:   "6.1 Skew_Time does not depend on the interval",
			change: twoSeconds, steps: asBackup(), state: Backup, deadline: 6*time.Second + skew,
		},
		{
			name:   "7.1 another interval: discard",
			change: twoSeconds, steps: asBackup(step{time.Second, second(above, 200), ""}),
			state: Backup, deadline: 6*time.Second + skew,
		},
		{
			name:   "7.1 the same interval: accept",
			change: v2, steps: asBackup(step{time.Second, second(above, 200), ""}), state: Backup, deadline: time.Second + down,
		},
		{
			name:   "7.1 version 3 is not for us",
			change: v2, steps: asBackup(step{time.Second, heard(above, 200), ""}), state: Backup, deadline: down,
		},
		{
			name:   "6.4.3 lower priority: advertise at once, as RFC 9568",
			change: v2, steps: asActive(step{down + 300*ms, second(above, 99), "send 100; reannounce 10.9.0.12"}),
			state: Active, deadline: down + 1300*ms,
		},
	})
}

// TestMachineAddressesCompareUnsigned is RFC 9568, section 6.4.3: unsigned, in network byte order.
func TestMachineAddressesCompareUnsigned(t *testing.T) {
	tests := []struct {
		own, rival string
		wins       bool
	}{
		{"10.9.0.127", "10.9.0.128", false},
		{"10.9.0.128", "10.9.0.127", true},
		{"127.0.0.1", "128.0.0.1", false},
		{"10.9.1.0", "10.9.0.255", true},
		{"9.255.255.255", "10.0.0.0", false},
	}
	for _, tt := range tests {
		cfg := base()
		cfg.Source = addr(tt.own)
		m, err := NewMachine(cfg)
		require.NoError(t, err)
		m.Step(epoch, Startup{})
		m.Step(epoch.Add(down), Expired{})
		m.Step(epoch.Add(down+ms), heard(addr(tt.rival), 100))
		assert.Equal(t, tt.wins, m.Snapshot().State == Active, "%s against %s", tt.own, tt.rival)
	}
}

package doctor

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

func TestWhatTheFastDetectorWouldMakeOfThisNetwork(t *testing.T) {
	ms := time.Millisecond
	n2 := Echoed{Address: netip.MustParseAddr("10.77.0.12"), Node: "n2", Sent: 333, Answered: 333, Worst: 400 * time.Microsecond}
	with := func(change func(*Echoed)) Echoed { e := n2; change(&e); return e }
	for name, tt := range map[string]struct {
		late    time.Duration
		members []Echoed
		fast    bool
		want    []Finding
	}{
		"it would": {
			late: ms, members: []Echoed{n2}, fast: true,
			want: []Finding{{Code: code.DetectorMeasured, Severity: Note, What: "in 10s a thread was woken up to 1ms late, and the slowest answer to an echo took 400µs: vrrp.detector fast would have a beat be 10ms late"}},
		},
		"the host is late": {
			late: 70 * ms, members: []Echoed{n2}, fast: true,
			want: []Finding{{Code: code.DetectorMeasured, Severity: Warning, What: "in 10s a thread was woken up to 70ms late, and the slowest answer to an echo took 400µs: vrrp.detector fast would have a beat be 140ms late"}},
		},
		"the network is": {
			late: ms, members: []Echoed{with(func(e *Echoed) { e.Worst = 8 * ms })},
			want: []Finding{{Code: code.DetectorMeasured, Severity: Note, What: "in 10s a thread was woken up to 1ms late, and the slowest answer to an echo took 8ms: vrrp.detector fast would have a beat be 16ms late"}},
		},
		"ICMP is filtered": {
			late: ms, members: []Echoed{n2, with(func(e *Echoed) { e.Answered, e.Node, e.Address = 0, "", netip.MustParseAddr("10.77.0.13") })}, fast: true,
			want: []Finding{
				{Code: code.DetectorPlain, Severity: Warning, Peer: "10.77.0.13", What: "10.77.0.13 answered none of 333 echo requests on eth0: vrrp.detector fast would not judge it"},
				{Code: code.DetectorMeasured, Severity: Note, What: "in 10s a thread was woken up to 1ms late, and the slowest answer to an echo took 400µs: vrrp.detector fast would have a beat be 10ms late"},
			},
		},
		"frames are lost": {
			late: ms, members: []Echoed{with(func(e *Echoed) { e.Answered = 300 })},
			want: []Finding{
				{Code: code.DetectorMeasured, Severity: Note, Peer: "10.77.0.12", What: "n2 10.77.0.12 left 33 of 333 echo requests on eth0 unanswered"},
				{Code: code.DetectorMeasured, Severity: Note, What: "in 10s a thread was woken up to 1ms late, and the slowest answer to an echo took 400µs: vrrp.detector fast would have a beat be 10ms late"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := config.VIP{Name: "api"}
			if tt.fast {
				v.VRRP.Detector = config.DetectorFast
			}
			out := &findings{}
			judgeDetector(out, v, Echoes{Interface: "eth0", IPv4: true, Over: 10 * time.Second, Late: tt.late, Members: tt.members})
			var got []Finding
			for _, f := range out.list {
				assert.NotEmpty(t, f.Remedy, f.What)
				assert.Equal(t, "api", f.VIP)
				got = append(got, Finding{Code: f.Code, Severity: f.Severity, Peer: f.Peer, What: f.What})
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

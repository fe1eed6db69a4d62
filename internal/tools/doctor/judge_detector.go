package doctor

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members/pulse"
)

const (
	// mostLost is the share of echoes, in per cent, from which losses are told.
	mostLost = 5
	// longWait is from where on the fast detector gains little: it is late where a look is due, and a look takes as long again.
	longWait = 100 * time.Millisecond
)

// judgeDetector says whether echoes and this host would carry `vrrp.detector: fast` for v, and how long it would wait.
func judgeDetector(out *findings, v config.VIP, e Echoes) {
	slowest := time.Duration(0)
	for _, m := range e.Members {
		slowest = max(slowest, m.Worst)
		lost := m.Sent - m.Answered
		switch {
		case m.Sent == 0:
		case m.Answered == 0:
			f := Finding{Code: code.DetectorPlain, Severity: Note, VIP: v.Name, Peer: m.Address.String()}
			f.What = fmt.Sprintf("%s answered none of %d echo requests on %s: vrrp.detector fast would not judge it", nameOf(m), m.Sent, e.Interface)
			f.Remedy = "let ICMP echo requests in on that host from the other nodes"
			if v.VRRP.Detector == config.DetectorFast {
				f.Severity = Warning
			}
			out.add(f)
		case lost*100 >= mostLost*m.Sent:
			out.about(v.Name, m.Address.String())(code.DetectorMeasured, Note, "%s left %d of %d echo requests on %s unanswered", nameOf(m), lost, m.Sent, e.Interface)
		}
	}
	wait := max(pulse.LeastWait, 2*max(e.Late, slowest))
	f := Finding{Code: code.DetectorMeasured, Severity: Note, VIP: v.Name}
	f.What = fmt.Sprintf("in %v a thread was woken up to %v late, and the slowest answer to an echo took %v: vrrp.detector fast would have a beat be %v late",
		e.Over.Round(time.Second/10), e.Late.Round(time.Millisecond/10), slowest.Round(time.Millisecond/10), wait.Round(time.Millisecond))
	if wait >= longWait && v.VRRP.Detector == config.DetectorFast {
		f.Severity = Warning
	}
	out.add(f)
}

func nameOf(m Echoed) string {
	if m.Node == "" {
		return m.Address.String()
	}
	return m.Node + " " + m.Address.String()
}

package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Backends is a group of two load balancers before two servers that run no keepvip.
func Backends() SpreadConfig {
	return SpreadConfig{Nodes: 4, Running: 2, Product: WithSpread{Masquerade: true, Backends: 2}}
}

// backends are the servers without keepvip.
func (s *Spreading) backends() []*lab.Node { return s.Lab.Nodes[len(s.Lab.Nodes)-s.product.Backends:] }

// backendTold is when clients of a backend that is dead are told: its check fails three times, each after 300 ms, and its host leaves three
// questions without an answer, before its connections are ended.
const backendTold = 2500 * time.Millisecond

// BackendEvents happen to one of them: its own connections end, and those to the other go on. New ones all go to the other.
func BackendEvents() []SpreadEvent {
	return []SpreadEvent{
		{Name: "a backend's service ends and returns", Do: func(x *SpreadMove) (*lab.Node, error) {
			b := x.backends()
			x.mark("the service of %s ends", b[0].Label)
			x.unserve(b[0])
			return b[0], x.ServedBy(b[1:]...)
		}, Undo: func(x *SpreadMove) error {
			return sequence(func() error { return x.serve(x.backends()[0]) }, x.Ready)
		}},
		{Name: "a backend's node dies", Told: backendTold, Do: func(x *SpreadMove) (*lab.Node, error) {
			b := x.backends()
			x.mark("%s dies", b[0].Label)
			_, err := b[0].PowerOff()
			x.unserve(b[0])
			return b[0], sequence(func() error { return err }, func() error { return x.ServedBy(b[1:]...) }, x.watched)
		}, Undo: func(x *SpreadMove) error {
			b := x.backends()[0]
			return sequence(b.PowerOn, func() error { return x.serve(b) }, x.Ready)
		}},
	}
}

// backed is what two load balancers do with connections to servers that run no keepvip.
func backed(s *Spreading, _ bool) Findings { return s.translated(s.backends(), BackendEvents()) }

package trial

import (
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// masqueraded has the holder translate: members share connections, keep them over a drain, and clients of one that dies are told.
func masqueraded(host *lab.Host, _ bool) (out Findings, err error) {
	defer try.Catch(&err)
	s := try.Get(OpenSpread(host, SpreadConfig{Product: WithSpread{Masquerade: true}}))
	defer s.end(&err)
	for i, target := range s.Targets() {
		const count = 1000
		out = append(out, try.Get(s.Share(s.clients()[i%2], target, count)).Findings(len(s.Lab.Nodes), 16)...)
	}
	for _, e := range SpreadEvents() {
		if e.Name != "a member drains and returns" && e.Name != "a member's node dies" {
			continue
		}
		k := try.Get(s.Keep(e, spreadConnected))
		k.Disguised = 0 // as it is with masquerade
		out = append(out, k.Findings(e).of(e.Name)...)
	}
	return out, nil
}

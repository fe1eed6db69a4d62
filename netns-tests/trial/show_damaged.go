package trial

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// raftDamaged starts a node again and again with a store of Raft in which random octets have changed: the entry that VRRP elects is served all the
// same, and the process lives.
func raftDamaged(host *lab.Host, full bool) (_ Findings, err error) {
	defer try.Catch(&err)
	l := try.Get(host.Open(lab.Config{Nodes: 1}))
	defer l.Close()
	n := l.Nodes[0]
	key := try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
	file := try.Get(n.WriteFile("keepvip.yaml", fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nkey: {file: %s}\nvips:\n- {name: a, addresses: [%s], check: none, election: raft}\n"+
		"- {name: b, addresses: [%s], check: none}\nraft: {peers: [%s]}\n", key, another, lab.VIP4, n.Address), 0o600))
	// begin starts it, and says of both entries what has become of them once VRRP's is served.
	begin := func(settled func(Status) bool) (_ *lab.Process, s Status, err error) {
		defer try.Catch(&err)
		p := try.Get(Keepvip{}.Run(n, "--config", file))
		_, err = until(SettleLimit, "the entries settle", func() bool {
			s, err = Keepvip{}.Status(n)
			return !p.Alive() || err == nil && len(s.VIPs) == 2 && settled(s)
		})
		return p, s, err
	}
	p, _ := try.Two(begin(func(s Status) bool { return s.VIPs[0].State == "active" && s.VIPs[1].State == "active" }))
	try.Get(p.Terminate(10 * time.Second))
	const store = "state/raft/store.db"
	good := try.Get(os.ReadFile(n.Path(store)))
	damaged, times := 0, sized(full, 100, 5)
	for seed := range times {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		bad := bytes.Clone(good)
		for range 200 {
			bad[r.IntN(len(bad))] = byte(r.IntN(256))
		}
		try.Do(os.WriteFile(n.Path(store), bad, 0o600))
		p, s, err := begin(func(s Status) bool {
			return s.VIPs[1].State == "active" && (s.VIPs[0].State == "active" || s.VIPs[0].Reason != "")
		})
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w\n%s", seed, err, p.Log())
		}
		if !p.Alive() {
			return nil, fmt.Errorf("trial: with the store of seed %d the process ends\n%s", seed, p.Log())
		}
		damaged += count(s.VIPs[0].State != "active")
		try.Do(p.Kill9())
		try.Get(p.Wait(10 * time.Second))
	}
	return Findings{
		{What: "stores that were tried", Got: float64(times), Limit: -1, Unit: "stores"},
		{What: "stores that the entry does without", Got: float64(damaged), Limit: -1, Unit: "stores"},
	}, nil
}

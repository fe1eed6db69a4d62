package trial

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// pairing is what is wrong between two nodes that both run keepvip, and what doctor finds on each of them: on the one of the higher
// priority, which holds the address, and on the other one. The first two are the worst firewalls.
type pairing struct {
	name          string
	holder, other string        // the codes; "": nothing
	lost          string        // on the way from the holder to the other
	keys          [2]string     // what the keys are made of
	ahead         time.Duration // the clock of the holder's keepvip, in whole seconds
}

func betweenTwo() []pairing {
	return []pairing{
		{name: "112 lost on the way, 9646 passes", lost: protocol112, holder: "KV455", other: "KV454"},
		{name: "9646 lost on the way, 112 passes", lost: membersUDP, holder: "KV457", other: "KV456"},
		{name: "two keys", keys: [2]string{"5a", "a5"}, holder: "KV310", other: "KV310"},
		// Doctor has the machine's clock, also at the holder: what it hears there is that the other refuses everything.
		{name: "clocks apart", keys: [2]string{"5a", "5a"}, ahead: 100 * time.Second, holder: "KV457", other: "KV313"},
	}
}

// meetings are two nodes on which doctor runs at the same time, and no keepvip: what is lost on the way from the first to the second.
func meetings() []pairing {
	return []pairing{
		{name: "doctors, 112 lost on the way", lost: protocol112, holder: "KV455", other: "KV454"},
		{name: "doctors, 9646 lost on the way", lost: membersUDP, holder: "KV457", other: "KV456"},
		{name: "doctors, nothing lost, a key", keys: [2]string{"5a", "5a"}},
		{name: "doctors with two keys", keys: [2]string{"5a", "a5"}, holder: "KV310", other: "KV310"},
	}
}

// meet runs doctor on both nodes of pair i.
func (d *doctoring) meet(i int, w pairing, pair []*lab.Node) (err error) {
	defer try.Catch(&err)
	if w.lost != "" {
		try.Do(pair[1].Lose(w.lost, 100, lab.In))
	}
	for j, want := range []string{w.holder, w.other} {
		flags := try.Get(w.flags(i, j, pair[j]))
		flags = append(flags, "--peers", pair[0].Address.String()+","+pair[1].Address.String())
		d.look(pair[j], w.name+", on the "+[]string{"first", "second"}[j], want, misconfiguration{flags: flags})
	}
	return nil
}

// flags are those of a node of pair i, which has an address of its own.
func (b pairing) flags(i, j int, n *lab.Node) ([]string, error) {
	out := []string{"--vip", pairAddress(i).String(), "--vrid", fmt.Sprint(110 + i)}
	if b.keys[j] == "" {
		return out, nil
	}
	path, err := n.WriteFile("key", strings.Repeat(b.keys[j], 32)+"\n", 0o600)
	return append(out, "--key-file", path), err
}

func pairAddress(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, byte(110 + i)}) }

// startGroups starts two nodes that agree, and the pairs.
func (d *doctoring) startGroups(good, pairs []*lab.Node) (err error) {
	defer try.Catch(&err)
	for i, n := range good {
		try.Get((Keepvip{}).Run(n, d.flags(n, []string{"--priority", fmt.Sprint(200 - 100*i)})...))
	}
	for i, w := range d.ways {
		if err := d.startPair(i, w, pairs[2*i:2*i+2]); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	_, err = until(SettleLimit, "the group has a holder, and so has each pair", func() bool {
		settled := good[0].Holds(lab.VIP4)
		for i := range d.ways {
			settled = settled && pairs[2*i].Holds(pairAddress(i))
		}
		return settled
	})
	time.Sleep(time.Second) // a HELLO of each
	return err
}

func (d *doctoring) startPair(i int, w pairing, pair []*lab.Node) (err error) {
	defer try.Catch(&err)
	if w.lost != "" {
		try.Do(pair[1].Lose(w.lost, 100, lab.In))
	}
	for j, n := range pair {
		flags := try.Get(w.flags(i, j, n))
		k := Keepvip{}
		if w.ahead > 0 && j == 0 {
			k.Ahead = make([]time.Duration, n.ID)
			k.Ahead[n.ID-1] = w.ahead
		}
		try.Get(k.Run(n, d.flags(n, append(flags, "--priority", fmt.Sprint(200-100*j)))...))
	}
	return nil
}

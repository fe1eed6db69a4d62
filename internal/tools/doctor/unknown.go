package doctor

import (
	"fmt"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// Unknown says what could not be known, a sentence each: before anything runs that is much, and finding nothing proves little.
func Unknown(f Facts) (out []string) {
	for _, v := range f.VIPs {
		if said := f.alone(v); said != "" && !slices.Contains(out, said) {
			out = append(out, said)
		}
	}
	for _, s := range f.NotServing {
		out = append(out, fmt.Sprintf("nothing answers at %s yet: the names in the certificate there are not known", s.URL))
	}
	if len(f.Endpoints) == 0 && (len(f.Certificates) > 0 || len(f.NotServing) > 0) {
		out = append(out, "there is no /etc/kubernetes/admin.conf yet, and no --kubeadm-config: whether the cluster's clients use the address is not known")
	}
	return out
}

// alone says that nobody else was heard where v is elected by VRRP; empty if somebody was.
func (f Facts) alone(v config.VIP) string {
	if v.Election != config.ElectionVRRP || slices.ContainsFunc(f.Peers, func(p Peer) bool { return p.HeardVRRP || p.HeardMembers }) {
		return ""
	}
	l, err := link.Choose(f.Links, first(v), v.Interface)
	if err != nil {
		return "" // a finding
	}
	for _, w := range f.Wires {
		if w.Interface != l.Name || w.IPv4 != first(v).Is4() {
			continue
		}
		if slices.ContainsFunc(w.Adverts, func(a Advert) bool { return !a.Own }) || slices.ContainsFunc(w.Hellos, func(h Hello) bool { return !h.Own }) {
			return ""
		}
		what := "protocol 112 and the members' UDP port pass"
		if f.MembersOff {
			what = "protocol 112 passes"
		}
		return fmt.Sprintf("no other node was heard on %s: whether %s between the nodes is not known (run it on all nodes at the same time, with --peers)", w.Interface, what)
	}
	return ""
}

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Data is the data file.
func Data(n Node) []byte {
	var b bytes.Buffer
	b.WriteString("------< VRRP Topology >------\n")
	for _, i := range n.Instances {
		writeInstance(&b, i)
	}
	writeGroups(&b, n.Instances)
	writeScripts(&b, n.Instances)
	return b.Bytes()
}

// line writes "   Key = value", as everything about an instance, a group or a script is written.
func line(b *bytes.Buffer, key, format string, args ...any) {
	fmt.Fprintf(b, "   %s = %s\n", key, fmt.Sprintf(format, args...))
}

func writeInstance(b *bytes.Buffer, i Instance) {
	fmt.Fprintf(b, " VRRP Instance = %s\n", i.Name)
	line(b, "VRRP Version", "%d", i.Version)
	if i.Group != "" {
		line(b, "Sync group", "%s", i.Group)
	}
	if i.ipv6() {
		b.WriteString("   Using Native IPv6\n")
	}
	line(b, "State", "%s", i.State)
	if i.State == Backup && i.Master.IsValid() {
		line(b, "Master router", "%s", i.Master)
		if i.MasterPriority != 0 {
			line(b, "Master priority", "%d", i.MasterPriority)
		}
	}
	if i.Unicast {
		b.WriteString("   Flags:\n     Using unicast\n")
	} else {
		b.WriteString("   Flags: none\n")
	}
	line(b, "Wantstate", "%s", i.State)
	line(b, "Last transition", "%s", moment(i.Since))
	writeInterface(b, i)
	writeSettings(b, i)
	writeAddresses(b, i)
	if len(i.Scripts) > 0 {
		b.WriteString("   Tracked scripts :\n")
		for _, s := range i.Scripts {
			fmt.Fprintf(b, "     %s weight %s\n", s.Name, weightText(s))
		}
	}
}

// writeInterface says where the addresses are.
func writeInterface(b *bytes.Buffer, i Instance) {
	if i.VMAC == "" {
		line(b, "Interface", "%s", i.Interface)
		return
	}
	fmt.Fprintf(b, "   Use VMAC, i/f name %s, is_up = true, xmit_base = %v\n", i.VMAC, i.TransmitBase)
	line(b, "Interface", "%s, vmac on %s%s", i.VMAC, i.Interface, word(i.TransmitBase, ", xmit base i/f", ""))
}

// moment is seconds and microseconds since 1970, and the same for people.
func moment(t time.Time) string {
	return fmt.Sprintf("%d.%06d (%s)", t.Unix(), t.Nanosecond()/1000, t.Format("Mon Jan _2 15:04:05.000000 2006"))
}

func writeSettings(b *bytes.Buffer, i Instance) {
	if i.Source.IsValid() {
		line(b, "Using src_ip", "%s", i.Source.WithZone(""))
	} else {
		line(b, "Using src_ip", "(none)")
	}
	switch {
	case i.Unicast:
	case i.Multicast.IsValid():
		fmt.Fprintf(b, "   Multicast address %s\n", i.Multicast)
	case i.ipv6():
		b.WriteString("   Multicast address ff02::12\n")
	default:
		b.WriteString("   Multicast address 224.0.0.18\n")
	}
	line(b, "Gratuitous ARP refresh", "%d", i.Refresh/time.Second)
	line(b, "Down timer adverts", "%d", i.DownTimerAdverts)
	line(b, "Virtual Router ID", "%d", i.VRID)
	line(b, "Priority", "%d", i.Priority)
	line(b, "Effective priority", "%d", i.Effective)
	if i.Version == 2 {
		line(b, "Advert interval", "%d sec", i.Interval/time.Second)
	} else {
		line(b, "Advert interval", "%d milli-sec", i.Interval/time.Millisecond)
	}
	line(b, "Accept", "enabled")
	line(b, "Preempt", "%s", word(i.Preempt, "enabled", "disabled"))
	if i.PreemptDelay != 0 {
		line(b, "Preempt delay", "%g secs", i.PreemptDelay.Seconds())
	}
	if i.Version == 2 {
		line(b, "Authentication type", "%s", word(i.Password, "SIMPLE_PASSWORD", "none"))
	}
}

func writeAddresses(b *bytes.Buffer, i Instance) {
	fmt.Fprintf(b, "   Virtual IP (%d):\n", len(i.Addresses))
	for _, a := range i.Addresses {
		fmt.Fprintf(b, "     %s\n", addressText(a, i))
	}
	if len(i.Excluded) > 0 {
		b.WriteString("   Virtual IP Excluded :\n")
	}
	for _, a := range i.Excluded {
		fmt.Fprintf(b, "     %s\n", addressText(a, i))
	}
	if !i.Unicast {
		return
	}
	line(b, "Unicast TTL", "255")
	b.WriteString("   Unicast Peer :\n")
	for _, p := range i.Peers {
		fmt.Fprintf(b, "     %s min_ttl %d max_ttl 255\n", p, i.MinTTL)
	}
}

func addressText(a netip.Prefix, i Instance) string {
	s := a.String()
	if a.IsSingleIP() {
		s = a.Addr().String()
	}
	l := i.Listed[a.Addr()]
	s += " dev " + cmp.Or(l.Interface, i.device()) + " scope " + cmp.Or(l.Scope, "global")
	if l.Label != "" {
		s += " label " + l.Label
	}
	return s + word(i.Bound, " set", "")
}

func writeGroups(b *bytes.Buffer, all []Instance) {
	var names []string
	for _, i := range all {
		if i.Group != "" && !slices.Contains(names, i.Group) {
			names = append(names, i.Group)
		}
	}
	if len(names) == 0 {
		return
	}
	b.WriteString("------< VRRP Sync groups >------\n")
	for _, name := range names {
		var members []Instance
		for _, i := range all {
			if i.Group == name {
				members = append(members, i)
			}
		}
		fmt.Fprintf(b, " VRRP Sync Group = %s, %s\n   VRRP member instances :\n", name, groupState(members))
		for _, m := range members {
			fmt.Fprintf(b, "     %s\n", m.Name)
		}
	}
}

// groupState is what all members are, or what the least of them is: a group is one or the other.
func groupState(members []Instance) State {
	state := Master
	for _, m := range members {
		switch {
		case m.State == Fault:
			return Fault
		case m.State < state:
			state = m.State
		}
	}
	return state
}

// writeScripts has one block for each name: keepalived runs a script once for all instances that track it. One that fails anywhere is bad.
func writeScripts(b *bytes.Buffer, all []Instance) {
	var scripts []Script
	trackers := map[string][]string{}
	for _, i := range all {
		for _, s := range i.Scripts {
			trackers[s.Name] = append(trackers[s.Name], fmt.Sprintf("     %s, weight %s\n", i.Name, weightText(s)))
			at := slices.IndexFunc(scripts, func(o Script) bool { return o.Name == s.Name })
			if at < 0 {
				scripts = append(scripts, s)
				continue
			}
			scripts[at].Good = scripts[at].Good && s.Good
			scripts[at].Unknown = scripts[at].Unknown || s.Unknown
		}
	}
	if len(scripts) == 0 {
		return
	}
	b.WriteString("------< VRRP Scripts >------\n")
	for _, s := range scripts {
		fmt.Fprintf(b, " VRRP Script = %s\n", s.Name)
		line(b, "Interval", "%d sec", s.Interval/time.Second)
		line(b, "Weight", "%s", weightText(s))
		line(b, "Rise", "%d", s.Rise)
		line(b, "Fall", "%d", s.Fall)
		if s.Unknown {
			line(b, "Init state", "INIT")
		}
		line(b, "Status", "%s", word(s.Good, "GOOD", "BAD"))
		b.WriteString("   Tracking instances :\n")
		for _, t := range trackers[s.Name] {
			b.WriteString(t)
		}
	}
}

func weightText(s Script) string { return strconv.Itoa(s.Weight) + word(s.Reverse, " reverse", "") }

func word(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

package dump

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// Facts is a model as sentences in the words of keepalived's data file, each with what it is about: "VI_1: Priority = 100".
func Facts(c *keepalived.Config) []string {
	var out []string
	for _, i := range c.Instances {
		f := factsOf(i.Name)
		f.instance(i)
		out = append(out, f.list...)
	}
	for _, s := range c.Scripts {
		if tracked(c, s.Name) { // keepalived drops the others
			f := factsOf("script " + s.Name)
			f.script(s)
			out = append(out, f.list...)
		}
	}
	for _, g := range c.Groups {
		f := factsOf("group " + g.Name)
		for _, m := range g.Members {
			f.add("member %s", m)
		}
		f.tracking(g.Track)
		f.add("Using smtp notification = %s", word(g.MailAlert, "yes", "no"))
		out = append(out, f.list...)
	}
	return out
}

type factList struct {
	about string
	list  []string
}

func factsOf(about string) *factList { return &factList{about: about} }

func (f *factList) add(format string, args ...any) {
	f.list = append(f.list, f.about+": "+fmt.Sprintf(format, args...))
}

func word(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

func (f *factList) instance(i *keepalived.Instance) {
	f.add("VRRP Version = %d", i.Version)
	f.add("Interface = %s", i.Interface+word(i.VMAC && i.TransmitBase, ", xmit base i/f", ""))
	f.add("Virtual Router ID = %d", i.VRID)
	f.add("Priority = %d", i.Priority)
	if i.Version == 2 {
		f.add("Advert interval = %d sec", i.AdvertInterval/time.Second)
		f.add("Authentication type = %s", map[keepalived.AuthType]string{keepalived.AuthNone: "none", keepalived.AuthPass: "SIMPLE_PASSWORD", keepalived.AuthAH: "IPSEC_AH"}[i.Auth.Type])
	} else {
		f.add("Advert interval = %d milli-sec", i.AdvertInterval/time.Millisecond)
	}
	if i.Auth.Type == keepalived.AuthPass {
		f.add("Password = %s", i.Auth.Pass)
	}
	f.add("Accept = %s", word(i.Accept, "enabled", "disabled"))
	f.add("Preempt = %s", word(i.Preempt, "enabled", "disabled"))
	if i.PreemptDelay != 0 {
		f.add("Preempt delay = %v secs", i.PreemptDelay.Seconds())
	}
	f.add("Promote_secondaries = %s", word(i.PromoteSecond, "enabled", "disabled"))
	f.add("Gratuitous ARP delay = %d", i.Garp.Delay/time.Second)
	f.add("Gratuitous ARP repeat = %d", i.Garp.Repeat)
	f.add("Gratuitous ARP refresh = %d", i.Garp.Refresh/time.Second)
	f.add("Gratuitous ARP refresh repeat = %d", i.Garp.RefreshRepeat)
	f.add("Gratuitous ARP lower priority delay = %d", i.Garp.LowerPrioDelay/time.Second)
	f.add("Gratuitous ARP lower priority repeat = %d", i.Garp.LowerPrioRepeat)
	f.add("Down timer adverts = %d", i.DownTimer)
	f.add("Send advert after receive lower priority advert = %t", !i.LowerNoAdvert)
	f.add("Send advert after receive higher priority advert = %t", i.HigherSend)
	f.add("Using smtp notification = %s", word(i.MailAlert, "yes", "no"))
	f.add("Notify priority changes = %t", i.PriorityChanges)
	f.add("Notify deleted = %s", word(i.Notify.SayDeleted, "Deleted", "Fault"))
	for _, a := range i.Addresses {
		f.add("vip %s", addressText(a))
	}
	for _, a := range i.Excluded {
		f.add("evip %s", addressText(a))
	}
	if i.Source.IsValid() {
		f.add("Using src_ip = %s (from configuration)", i.Source)
	}
	if i.Multicast() {
		f.add("Multicast address %s", i.Group)
	} else if !i.IPv6 {
		f.add("Unicast TTL = %d", i.UnicastTTL)
	}
	for _, p := range i.Unicast {
		f.add("peer %s min_ttl %d max_ttl %d", p.Address, p.MinTTL, p.MaxTTL)
	}
	if i.SkipCheckAdv {
		f.add("Skip checking advert IP addresses")
	}
	if i.Strict {
		f.add("Enforcing strict VRRP compliance")
	}
	if i.SyncGroup != "" {
		f.add("Sync group = %s", i.SyncGroup)
	}
	f.tracking(i.Track)
}

func (f *factList) tracking(t keepalived.Tracking) {
	for _, list := range []struct {
		kind, after string
		all         []keepalived.Tracked
	}{{"interface", "", t.Interfaces}, {"script", "", t.Scripts}, {"file", ",", t.Files}, {"process", ",", t.Processes}} {
		for _, x := range list.all {
			f.add("%s %s%s weight %d%s", list.kind, x.Name, list.after, x.Weight.Value, word(x.Weight.Reverse, " reverse", ""))
		}
	}
}

func (f *factList) script(s *keepalived.Script) {
	text := s.Command.Text
	if !s.Command.Shell {
		text = filepath.Base(s.Command.Args[0])
		for _, a := range s.Command.Args[1:] {
			text += " '" + a + "'"
		}
	}
	f.add("Command = %s", text)
	f.add("Interval = %d sec", s.Interval/time.Second)
	f.add("Timeout = %d sec", s.Timeout/time.Second)
	f.add("Weight = %d%s", s.Weight.Value, word(s.Weight.Reverse, " reverse", ""))
	f.add("Rise = %d", s.Rise)
	f.add("Fall = %d", s.Fall)
}

func addressText(a keepalived.Address) string {
	s := a.Prefix.Addr().String()
	if a.Prefix.Bits() != a.Prefix.Addr().BitLen() {
		s = a.Prefix.String()
	}
	if a.Broadcast.IsValid() {
		s += " brd " + a.Broadcast.String()
	}
	s += " dev " + a.Interface + word(a.VMAC, " use_vmac", "") + " scope " + a.Scope
	if a.Label != "" {
		s += " label " + a.Label
	}
	if a.Peer.IsValid() {
		s += " peer " + a.Peer.String()
	}
	for _, option := range []struct {
		is   bool
		name string
	}{{a.Home, "home"}, {a.NoDAD, "-nodad"}, {a.ManageTemp, "mngtmpaddr"}, {a.NoPrefixRoute, "noprefixroute"}, {a.AutoJoin, "autojoin"}, {a.NoTrack, "no_track"}} {
		if option.is {
			s += " " + option.name
		}
	}
	switch {
	case !a.Prefix.Addr().Is6():
	case a.PreferredLft == "0":
		s += " deprecated"
	case a.PreferredLft == "":
		s += " preferred_lft forever"
	default:
		s += " preferred_lft " + a.PreferredLft
	}
	return s
}

func tracked(c *keepalived.Config, name string) bool {
	is := func(t keepalived.Tracked) bool { return t.Name == name }
	for _, i := range c.Instances {
		if slices.ContainsFunc(i.Track.Scripts, is) {
			return true
		}
	}
	return slices.ContainsFunc(c.Groups, func(g *keepalived.SyncGroup) bool { return slices.ContainsFunc(g.Track.Scripts, is) })
}

package dump

import (
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// GlobalFacts is what a model says in global_defs, in the words of keepalived's data file. That of keepalived itself has them, too, where nothing
// of VRRP is configured. The default interface is left out: keepalived looks it up when a static address needs it, and says eth0 until then.
func GlobalFacts(c *keepalived.Config) []string {
	g := c.Global
	f := factsOf("global")
	if g.RouterID != "" {
		f.add("Router ID = %s", g.RouterID)
	}
	f.add("Dynamic interfaces = %t", g.DynamicInterfaces)
	f.add("VRRP notify priority changes = %t", g.PriorityChanges)
	f.add("VRRP IPv4 mcast group = %s", g.Group4)
	f.add("VRRP IPv6 mcast group = %s", g.Group6)
	f.add("Gratuitous ARP delay = %d", g.Garp.Delay/time.Second)
	f.add("Gratuitous ARP repeat = %d", g.Garp.Repeat)
	f.add("Gratuitous ARP refresh timer = %d", g.Garp.Refresh/time.Second)
	f.add("Gratuitous ARP refresh repeat = %d", g.Garp.RefreshRepeat)
	f.add("Gratuitous ARP lower priority delay = %d", g.Garp.LowerPrioDelay/time.Second)
	f.add("Gratuitous ARP lower priority repeat = %d", g.Garp.LowerPrioRepeat)
	f.add("Gratuitous ARP interval = %f", g.GarpInterval.Seconds())
	f.add("Gratuitous NA interval = %f", g.GNAInterval.Seconds())
	f.add("Num adverts before down = %d", g.DownTimerAdverts)
	f.add("Send advert after receive lower priority advert = %t", !g.LowerPrioNoAdvert)
	f.add("Send advert after receive higher priority advert = %t", g.HigherPrioSendAdvert)
	f.add("VRRP default protocol version = %d", g.Version)
	f.add("VRRP check unicast_src = %t", g.CheckUnicastSrc)
	f.add("VRRP skip check advert addresses = %t", g.SkipCheckAdvAddr)
	f.add("VRRP strict mode = %t", g.Strict)
	if g.MaxAutoPriority < 0 {
		f.add("Max auto priority = Disabled")
	} else {
		f.add("Max auto priority = %d", g.MaxAutoPriority)
	}
	f.add("VRRP don't swap = %t", g.NoSwap)
	f.add("VRRP realtime priority = %d", g.RTPriority)
	f.add("Script security %s", word(g.ScriptSecurity, "enabled", "disabled"))
	return f.list
}

// unset is what the first process says of a number that its child gives a default.
const unset = " = 4294967295"

// ParseGlobal is what a data file says of global_defs. The name that the router has by default is the host's, and is left out.
func ParseGlobal(data, host string) []string {
	keys := map[string]bool{}
	for _, f := range GlobalFacts(&keepalived.Config{Global: keepalived.Global{RouterID: "x"}}) {
		key, _, _ := strings.Cut(strings.TrimPrefix(f, "global: "), " = ")
		keys[key] = true
	}
	_, section, _ := strings.Cut(data, "------< Global definitions >------")
	section, _, _ = strings.Cut(section, "\n------<")
	var out []string
	for line := range strings.Lines(section) {
		text := strings.TrimSpace(line)
		key, _, _ := strings.Cut(text, " = ")
		if text != "Router ID = "+host && !strings.HasSuffix(text, unset) && (keys[key] || strings.HasPrefix(text, "Script security ")) {
			out = append(out, "global: "+text)
		}
	}
	return out
}

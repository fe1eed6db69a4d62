package convert

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// instance writes one entry of vips, and says whether it could.
func (c *converter) instance(i *keepalived.Instance) bool {
	if i.Interface == "" || i.VRID == 0 {
		return false // the model has said so
	}
	own := candidacy{c, i}
	own.election()
	list, bare := binding{c}.addresses(i), len(i.Addresses)+len(i.Excluded) == 0
	if len(list) == 0 && !bare {
		return false
	}
	name := c.name(i.Name)
	c.out.next("vips")
	c.out.set("vips[].name", name, source{i.At, "vrrp_instance " + i.Name})
	if bare {
		c.out.set("vips[].hooksOnly", true, source{i.At, "no virtual_ipaddress"})
	} else {
		c.out.open("vips[].addresses", placed(i.Where("virtual_ipaddress")))
	}
	for _, a := range list {
		c.out.add("vips[].addresses", a.text, placed(a.at))
	}
	binding{c}.listing(list)
	c.out.set("vips[].interface", i.Interface, placed(i.Where("interface")))
	binding{c}.elsewhere(list)
	g := c.group(i)
	if g != nil {
		c.out.set("vips[].group", c.slugs[g.Name], source{g.At, "vrrp_sync_group " + g.Name})
	}
	notifications{c}.told(i, g, name)
	if i.Priority != 255 && i.Priority != 100 {
		c.out.set("vips[].priority", i.Priority, placed(i.Where("priority")))
	}
	own.vrrp(list)
	spreading{c}.spread(list)
	if !bare {
		own.announce()
	}
	checking{c}.checks(i)
	notifications{c}.hooks(i, g)
	return true
}

// of is the line that gives a value: of the instance, or of global_defs; without either it is keepalived's default.
func (c candidacy) of(keyword, global string) source {
	switch {
	case c.i.Has(keyword):
		return placed(c.i.Where(keyword))
	case global != "" && c.cfg.Global.Has(global):
		return placed(c.cfg.Global.Where(global))
	}
	return byDefault
}

// slug makes a name that keepvip takes of one that it may not.
func slug(s string) string {
	s = strings.Trim(notName().ReplaceAllString(strings.ToLower(s), "-"), "-")
	return cmp.Or(strings.Trim(s[:min(len(s), 50)], "-"), "vip")
}

// reportable tells whether keepvip takes a name for keepalived's files.
func reportable(name string) bool {
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= 255 && !unreportable().MatchString(name)
}

var unreportable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\s=:,"]`) })

var notName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// name is a name for an entry that no other has.
func (c *converter) name(s string) string { return unique(slug(s), c.names) }

func unique(s string, taken map[string]bool) string {
	out := s
	for n := 2; taken[out]; n++ {
		out = fmt.Sprintf("%s-%d", s, n)
	}
	taken[out] = true
	return out
}

// longest is the longest Advertisement_Interval that keepvip has.
const longest = 40950 * time.Millisecond

// vrrp writes what only the election by VRRP needs.
func (c candidacy) vrrp(list []entry) {
	const vrrp = "vips[].vrrp."
	c.out.open("vips[].vrrp", nowhere)
	c.out.set(vrrp+"id", c.i.VRID, placed(c.i.Where("virtual_router_id")))
	if c.i.Version == 2 {
		c.out.set(vrrp+"version", 2, c.of("version", "vrrp_version"))
	}
	c.out.set(vrrp+"advertisementInterval", min(c.i.AdvertInterval, longest/time.Second*time.Second), c.of("advert_int", ""))
	if !c.i.Preempt {
		c.out.set(vrrp+"preempt", false, c.of("nopreempt", ""))
	}
	if c.i.PreemptDelay > 0 {
		c.out.set(vrrp+"preemptDelay", c.i.PreemptDelay.Round(time.Millisecond), placed(c.i.Where("preempt_delay")))
	}
	if c.i.DownTimer != 3 {
		c.out.set(vrrp+"downTimerAdverts", c.i.DownTimer, c.of("down_timer_adverts", "vrrp_down_timer_adverts"))
	}
	if d := c.cfg.Global.StartupDelay; d > 0 {
		c.out.set(vrrp+"startupDelay", min(d, 1000*time.Second).Round(time.Millisecond), placed(c.cfg.Global.Where("vrrp_startup_delay")))
	}
	if d, at := c.bootDelay(); d > 0 {
		c.out.set(vrrp+"bootDelay", d, placed(at))
	}
	if c.i.Priority == 255 {
		from := source{c.i.Where("priority"), "priority 255"}
		if !c.i.Has("priority") {
			from = source{c.i.Where("state"), "state MASTER without priority is priority 255"}
		}
		c.out.set(vrrp+"owner", true, from)
	}
	c.checksum()
	c.virtualMAC()
	c.password()
	c.excluded(list)
	c.peers()
	if least, at := c.leastTTL(); !c.i.Multicast() && least < mostTTL {
		c.out.set(vrrp+"minTTL", least, placed(at))
	}
	if group, at := c.multicastGroup(); group.IsValid() {
		c.out.set(vrrp+"multicastGroup", group.String(), at)
	}
	if c.i.Source.IsValid() && (!c.i.Multicast() || spokenFrom(c.i)) {
		c.out.set(vrrp+"source", c.i.Source.String(), placed(sourceAt(c.i)))
	}
}

// excluded writes the addresses that advertisements leave out.
func (c candidacy) excluded(list []entry) {
	open := sync.OnceFunc(func() { c.out.open("vips[].vrrp.excluded", placed(c.i.Where("virtual_ipaddress_excluded"))) })
	for _, e := range list {
		if e.excluded.IsValid() {
			open()
			c.out.add("vips[].vrrp.excluded", e.excluded.String(), placed(e.at))
		}
	}
}

func (c candidacy) peers() {
	if c.i.Multicast() {
		return
	}
	c.out.open("vips[].vrrp.peers", placed(c.i.Where("unicast_peer")))
	var seen []string
	if c.i.Source.IsValid() {
		seen = append(seen, c.i.Source.String())
		c.out.add("vips[].vrrp.peers", c.i.Source.String(), source{sourceAt(c.i), "this node's own"})
	}
	for _, p := range c.i.Unicast {
		if text := p.Address.String(); !slices.Contains(seen, text) {
			seen = append(seen, text)
			c.out.add("vips[].vrrp.peers", text, placed(p.At))
		}
	}
}

// password names the file that the password has to be written to.
func (c candidacy) password() {
	if c.i.Auth.Type != keepalived.AuthPass {
		return
	}
	at := c.i.Where("auth_pass")
	if slices.ContainsFunc(c.i.Auth.Pass, func(b byte) bool { return b <= ' ' || b > '~' }) {
		c.refuse(at, "the password has characters that are not printable ASCII, and keepvip takes no others", "change it on all nodes first: keepalived without it, and with it, do not hear each other")
		return
	}
	if c.opt.InMemory {
		c.out.set("vips[].vrrp.passwordFile", c.hold("auth_pass of "+plain(c.i.Name), c.i.Auth.Pass), placed(at))
		return
	}
	path := strings.TrimSuffix(c.opt.Secrets, "/") + "/" + unique(slug(c.i.Name)+".password", c.used)
	c.out.set("vips[].vrrp.passwordFile", path, placed(at))
	c.say(keepalived.Warning, codeSecret, at, fmt.Sprintf("the password is not written here: keepvip reads it from %s", path),
		fmt.Sprintf("write %s of auth_pass into that file, alone, with mode 0600 and owner root, on each node", firstOf(len(c.i.Auth.Pass))))
}

func firstOf(n int) string {
	if n == 1 {
		return "the first character"
	}
	return fmt.Sprintf("the first %d characters", n)
}

// announce writes when and how often the holder announces.
func (c candidacy) announce() {
	const longestRefresh, longestDelay, most, ownRefresh, ownRepeat = 24 * time.Hour, time.Hour, 100, time.Minute, 6 // of keepvip
	const theirs = 5                                                                                                 // at once, of which keepvip's six are more
	g := c.i.Garp
	if g.Refresh > longestRefresh || g.Delay > longestDelay || g.Repeat > most || g.RefreshRepeat > most {
		c.changed(c.where("garp_master_refresh", "vrrp_garp_master_refresh"), "keepvip announces at least each 24 hours or never, a second time after an hour at most, and 100 times at most", "")
	}
	open := sync.OnceFunc(func() { c.out.open("vips[].announce", nowhere) })
	set := func(keyword, name string, value any, otherwise string) {
		open()
		at := c.of("garp_"+keyword, "vrrp_garp_"+keyword)
		if at == byDefault && c.cfg.Global.Has("vrrp_min_garp") {
			at = placed(c.cfg.Global.Where("vrrp_min_garp"))
		} else if at == byDefault {
			at.why += c.out.once(otherwise)
		}
		c.out.set("vips[].announce."+name, value, at)
	}
	if d := min(g.Refresh, longestRefresh); d != ownRefresh {
		set("master_refresh", "refresh", d, ": never again after these; leave the line out for keepvip's, each minute")
	}
	if g.RefreshRepeat > 1 {
		set("master_refresh_repeat", "refreshRepeat", min(g.RefreshRepeat, most), "")
	}
	if n := min(max(g.Repeat, 1), most); n != theirs && n != ownRepeat {
		set("master_repeat", "repeat", n, "")
	}
	if d := min(g.Delay, longestDelay); d > 0 {
		set("master_delay", "delay", d, "")
	}
}

func (c candidacy) where(keyword, global string) syntax.Origin {
	if s := c.of(keyword, global); s.at.File != "" {
		return s.at
	}
	return c.i.At
}

package kubevip

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// addresses takes over the address, or both of a dual stack, with their prefix lengths.
func (c *conversion) addresses() {
	before := len(c.refused)
	s, ok := c.address()
	if !ok {
		if len(c.refused) == before {
			c.refuseNoAddress()
		}
		return
	}
	var given []string
	for _, text := range list(c.filled(s.value)) {
		a, err := netip.ParseAddr(text)
		switch {
		case err == nil:
			given = append(given, c.withPrefix(a))
			if !c.first.IsValid() {
				c.first = a
			}
		case strings.Contains(text, "/"):
			c.refuse(s.line, "%s: want the address alone, and its prefix length in vip_subnet", s.what())
		case looksLikeAddress(text):
			c.refuse(s.line, "%s: %s is no IPv4 or IPv6 address, want one", s.what(), show(text))
		case strings.Contains(text, "{{"):
			c.ofClass = true
			c.refuse(s.line, "%s: a variable of a ClusterClass, or of a chart: of a ClusterClass take this patch out, and put in that of packaging/clusterapi/clusterclass.yaml; fill others in", s.what())
		case isVariable(text):
			c.refuse(s.line, "%s: %s", s.what(), c.variableRemedy(text == s.value))
		default:
			c.refuse(s.line, "%s: %s is a name or a variable; kube-vip resolves names, keepvip does not: want the address", s.what(), show(text))
		}
	}
	c.option("vip", s, given...)
	c.tell(s, Carried, "--vip=%s", cmp.Or(c.variable, strings.Join(given, ",")))
	c.tellPrefixes()
}

// variableRemedy says what to do with a variable of clusterctl, which may be the whole address.
func (c *conversion) variableRemedy(whole bool) string {
	file := c.name
	if strings.Contains(file, " ") { // standard input
		file = "FILE"
	}
	switch {
	case !whole:
		return "a variable of clusterctl beside another address: fill it in"
	case c.path != "":
		return fmt.Sprintf("a variable of clusterctl: for the template run keepvip convert %s --apply-to %s", file, file)
	}
	return fmt.Sprintf("a variable of clusterctl: for a template run keepvip convert %s --apply-to TEMPLATE, or fill it in", file)
}

// looksLikeAddress tells a misspelt address from a name and from a variable.
func looksLikeAddress(text string) bool {
	return strings.Trim(text, "0123456789.") == "" || strings.Contains(text, ":") && !strings.Contains(text, "$")
}

// filled is the address, or what stands for it.
func (c *conversion) filled(address string) string {
	if !c.placeholder.IsValid() || !isVariable(address) {
		return address
	}
	c.variable = address
	return c.placeholder.String()
}

// isVariable tells that a value is a variable of clusterctl, such as ${NAME} or ${NAME:=default}.
func isVariable(s string) bool {
	return len(s) > 3 && strings.HasPrefix(s, "${") && strings.IndexByte(s, '}') == len(s)-1
}

// address is the setting that has the address. Versions differ in which of the two counts when both are there.
func (c *conversion) address() (setting, bool) {
	s, ok := c.value(envAddress)
	old, legacy := c.value(envVIP)
	switch {
	case !ok:
		return old, legacy
	case legacy && s.value != old.value:
		c.refuse(old.line, "%s, but %s in line %d: versions of kube-vip differ in which of them counts, want one", old.what(), s.what(), s.line)
		return s, false
	case legacy:
		c.tell(old, Unneeded, "%s says the same", s.name)
	}
	return s, ok
}

func (c *conversion) refuseNoAddress() {
	if !c.settings.on(envControlPlane) {
		return // without a control plane there need not be one
	}
	if s, ok := c.settings.get(envFile); ok {
		c.refuse(s.line, "%s: no address here, want the conversion of that file", s.what())
		return
	}
	c.refuse(c.line, "no address, want it as address (or vip_address)")
}

// withPrefix is the address as --vip takes it. kube-vip's lengths are one for both families, or that of IPv4 and that of IPv6.
func (c *conversion) withPrefix(a netip.Addr) string {
	s, ok := c.settings.get(envSubnet)
	if !ok || s.hidden != "" {
		return a.String()
	}
	lengths := list(s.value)
	if len(lengths) > 2 {
		return a.String() // refused by tellPrefixes
	}
	text := lengths[0]
	if a.Is6() {
		text = lengths[len(lengths)-1]
	}
	bits, err := strconv.Atoi(strings.TrimPrefix(text, "/"))
	switch {
	case err != nil || bits < 1 || bits > a.BitLen():
		c.refuse(s.line, "%s: want a prefix length from 1 to %d for %s", s.what(), a.BitLen(), a)
	case bits < a.BitLen():
		return a.String() + "/" + strconv.Itoa(bits)
	}
	return a.String()
}

func (c *conversion) tellPrefixes() {
	if s, ok := c.value(envSubnet); ok {
		if len(list(s.value)) > 2 {
			c.refuse(s.line, "%s: want one prefix length, or that of IPv4 and that of IPv6", s.what())
		}
		c.tell(s, Carried, "the prefix length in --vip; 32 and 128 are keepvip's own")
	}
	s, ok := c.settings.get(envCIDR)
	switch {
	case !ok:
	case s.value == "32" || s.value == "128":
		c.tell(s, Carried, "keepvip binds an address without a prefix length as /32 or /128")
	default:
		c.tell(s, Unneeded, "kube-vip uses it for BGP alone, and binds the address as /32 or /128; so does keepvip")
	}
}

// link takes over the interface.
func (c *conversion) link() {
	s, ok := c.value(envInterface)
	switch {
	case !ok && s.hidden != "":
	case !ok:
		c.findings = append(c.findings, Finding{
			Line: c.line, Fate: Changed, What: "no vip_interface",
			Why: "kube-vip takes the interface of the default route, keepvip the one whose subnet contains the address (--interface names another)",
		})
	case isVariable(s.value):
		c.tell(s, Changed, "a variable: keepvip takes the interface whose subnet contains the address (--interface names another)")
	case s.value == "lo":
		c.tell(s, Changed, "nobody hears an address on lo: keepvip takes the interface whose subnet contains the address (--interface names another)")
	default:
		c.option("interface", s, s.value)
		c.tell(s, Carried, "--interface=%s", show(s.value))
	}
}

// announcements takes over how often the address is announced. kube-vip takes 3 s where it is told less than 500 ms.
func (c *conversion) announcements() {
	s, ok := c.value(envARPRate)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(s.value, 10, 32)
	if err != nil {
		c.refuse(s.line, "%s: want milliseconds; kube-vip does not start with it", s.what())
		return
	}
	every := time.Duration(n) * time.Millisecond
	if every < 500*time.Millisecond {
		every = 3 * time.Second
	}
	every = min(every, 24*time.Hour)
	c.option("announce-refresh", s, every.String())
	c.tell(s, Carried, "--announce-refresh=%v, after a burst when the address is bound", every)
}

// metrics takes over the listener. The generator of kube-vip's manifests writes its default without being asked.
func (c *conversion) metrics() {
	s, ok := c.value(envMetrics)
	if !ok {
		return
	}
	const names = "the metrics have other names"
	host, port, err := net.SplitHostPort(s.value)
	n, bad := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || bad != nil || n == 0:
		c.tell(s, Lost, "it is no host:port: keepvip's listener is 127.0.0.1:9645 (--metrics)")
		return
	case host == "" && n == 2112:
		c.tell(s, Changed, "kube-vip's default, on all addresses; keepvip's is 127.0.0.1:9645 (--metrics=0.0.0.0:2112 is the same as here); %s", names)
		return
	case host == "" && c.first.Is6():
		host = "::"
	case host == "":
		host = "0.0.0.0"
	}
	at := net.JoinHostPort(host, strconv.FormatUint(n, 10))
	c.option("metrics", s, at)
	c.tell(s, Carried, "--metrics=%s; %s", show(at), names)
}

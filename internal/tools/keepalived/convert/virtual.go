package convert

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// VirtualServersSpread of [Options.VirtualServers] makes spread.backends of virtual servers.
const VirtualServersSpread = "spread"

// virtualServer is a virtual_server for TCP at an address with a port.
type virtualServer struct {
	node      *syntax.Node
	at        netip.AddrPort
	interval  time.Duration // delay_loop; 0: keepalived's default
	servers   []realServer
	leftovers []*syntax.Node // lines that have no counterpart
	anyStatus []*syntax.Node // blocks url that name neither status nor digest
}

// realServer is a real_server of it.
type realServer struct {
	node   *syntax.Node
	at     netip.AddrPort
	weight int // 0 to 255; default 1
	probe  probe
}

// probe is what a server is asked, as spread.backendCheck has it.
type probe struct {
	url     string
	timeout time.Duration
	fall    int
	at      syntax.Origin
}

// spreading makes spread.backends of virtual servers.
type spreading struct{ *converter }

// virtualServers looks at the virtual servers: what is for TCP at an address that an instance holds is what spread.backends does.
func (s spreading) virtualServers() {
	own := map[netip.Addr]bool{}
	for _, i := range s.cfg.Instances {
		for _, a := range slices.Concat(i.Addresses, i.Excluded) {
			own[a.Prefix.Addr()] = true
		}
	}
	for _, n := range s.roots {
		if n.Words[0] != "virtual_server" || !n.Block {
			continue
		}
		v, why := virtualServerOf(n)
		switch {
		case why == "" && !own[v.at.Addr()]:
			why = "no vrrp_instance here has " + v.at.Addr().String()
		case why == "" && s.opt.VirtualServers != VirtualServersSpread:
			s.say(keepalived.Warning, keepalived.CodeUnsupported, n.At, fmt.Sprintf("virtual_server %s: %s and what is asked of them are not carried over; spread.backends of keepvip does the same for TCP at an address that it holds", v.at, printable.Several(len(v.servers), "real server")),
				"give --virtual-servers spread and look at the result, or keep keepalived for the virtual servers, with only these blocks (keepalived --check)")
			continue
		}
		if why != "" {
			s.say(keepalived.Warning, keepalived.CodeUnsupported, n.At, "virtual_server: it is not carried over: "+why,
				"keep keepalived for the virtual servers, with only these blocks (keepalived --check), or put HAProxy in front")
			continue
		}
		s.virtual = append(s.virtual, v)
	}
}

// virtualServerOf reads one; why says what of it keepvip has nothing for.
func virtualServerOf(n *syntax.Node) (v *virtualServer, why string) {
	if len(n.Words) < 3 || n.Words[1] == "fwmark" || n.Words[1] == "group" {
		return nil, "keepvip spreads connections to an address and a port"
	}
	v = &virtualServer{node: n}
	addr, err := netip.ParseAddr(n.Words[1])
	port, perr := strconv.ParseUint(n.Words[2], 10, 16)
	if err != nil || perr != nil || port == 0 {
		return nil, "it has no address with a port"
	}
	v.at = netip.AddrPortFrom(addr, uint16(port))
	for _, line := range n.Children {
		value := ""
		if len(line.Words) > 1 {
			value = line.Words[1]
		}
		switch word := line.Words[0]; {
		case word == "protocol" && value != "TCP":
			return nil, "it is for " + value
		case word == "protocol":
		case word == "delay_loop":
			s, err := strconv.ParseFloat(value, 64)
			if err == nil && s > 0 {
				v.interval = time.Duration(s * float64(time.Second))
			}
		case word == "real_server" && line.Block && len(line.Words) > 2:
			r, ok := realServerOf(line, v)
			if !ok {
				return nil, "a real_server has no address with a port"
			}
			v.servers = append(v.servers, r)
		default:
			v.leftovers = append(v.leftovers, line)
		}
	}
	if len(v.servers) == 0 {
		return nil, "it has no real_server"
	}
	return v, ""
}

func realServerOf(n *syntax.Node, v *virtualServer) (r realServer, ok bool) {
	addr, err := netip.ParseAddr(n.Words[1])
	port, perr := strconv.ParseUint(n.Words[2], 10, 16)
	if err != nil || perr != nil || port == 0 {
		return r, false
	}
	r = realServer{node: n, at: netip.AddrPortFrom(addr, uint16(port)), weight: 1, probe: probe{url: "tcp", timeout: 5 * time.Second, fall: 2, at: n.At}}
	checks := 0
	for _, line := range n.Children {
		switch word := line.Words[0]; word {
		case "weight":
			if len(line.Words) > 1 {
				if w, err := strconv.Atoi(line.Words[1]); err == nil {
					r.weight = min(max(w, 0), 255)
				}
			}
		case "TCP_CHECK", "HTTP_GET", "SSL_GET":
			if checks++; checks > 1 {
				v.leftovers = append(v.leftovers, line)
				continue
			}
			r.probe.read(line, r.at.Port(), v)
		default:
			v.leftovers = append(v.leftovers, line)
		}
	}
	return r, true
}

// read takes what keepvip can ask from a check of keepalived's.
func (p *probe) read(n *syntax.Node, port uint16, v *virtualServer) {
	p.at = n.At
	path := ""
	for _, line := range n.Children {
		value := ""
		if len(line.Words) > 1 {
			value = line.Words[1]
		}
		number, err := strconv.Atoi(value)
		switch word := line.Words[0]; {
		case word == "connect_timeout" && err == nil && number > 0:
			p.timeout = time.Duration(number) * time.Second
		case (word == "retry" || word == "nb_get_retry") && err == nil:
			p.fall = 1 + max(number, 0)
		case word == "connect_port" && err == nil && number == int(port):
		case word == "url" && path == "":
			stated := false
			for _, u := range line.Children {
				if len(u.Words) > 1 && u.Words[0] == "path" {
					path = u.Words[1]
					continue
				}
				stated = stated || u.Words[0] == "status_code" || u.Words[0] == "digest"
				v.leftovers = append(v.leftovers, u)
			}
			if !stated {
				v.anyStatus = append(v.anyStatus, line)
			}
		default:
			v.leftovers = append(v.leftovers, line)
		}
	}
	if scheme := map[string]string{"HTTP_GET": "http", "SSL_GET": "https"}[n.Words[0]]; scheme != "" {
		p.url = scheme + "://" + net.JoinHostPort("backend", strconv.Itoa(int(port))) + "/" + strings.TrimPrefix(path, "/")
	}
}

// spread writes what the virtual servers of an entry come to.
func (s spreading) spread(list []entry) {
	const most = 7 // backends of an entry
	var all []*virtualServer
	for _, v := range s.virtual {
		if slices.ContainsFunc(list, func(e entry) bool { return e.addr == v.at.Addr() }) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return
	}
	first := all[0]
	refuse := func(v *virtualServer, why string) {
		s.say(keepalived.Warning, keepalived.CodeUnsupported, v.node.At, fmt.Sprintf("virtual_server %s: it is not carried over: %s", v.at, why), "make it one of another entry of vips, or keep it with keepalived")
	}
	all = slices.DeleteFunc(all, func(v *virtualServer) bool {
		why := ""
		switch {
		case len(v.servers) > most:
			why = fmt.Sprintf("%d real servers, and keepvip has at most %d backends", len(v.servers), most)
		case v != first && !slices.EqualFunc(v.servers, first.servers, func(a, b realServer) bool { return a.at.Addr() == b.at.Addr() && a.weight == b.weight }):
			why = fmt.Sprintf("it has other real servers than that of line %d, and keepvip's backends serve all ports of an entry", first.node.At.Line)
		case slices.ContainsFunc(v.servers, func(r realServer) bool { return r.at.Port() != v.servers[0].at.Port() }):
			why = "its real servers have different ports"
		case twice(v.servers):
			why = "it has the same real server twice"
		}
		if why != "" {
			refuse(v, why)
		}
		return why != ""
	})
	if len(all) == 0 || all[0] != first {
		return
	}
	const spread = "vips[].spread"
	s.out.open(spread, placed(first.node.At))
	s.out.set(spread+".via", "masquerade", source{why: "translated here, as lb_kind NAT: servers see this node's address"})
	s.out.open(spread+".ports", nowhere)
	for _, v := range all {
		port := []field{{name: "port", value: v.at.Port()}}
		if p := v.servers[0].at.Port(); p != v.at.Port() {
			port = append(port, field{name: "target", value: p})
		}
		s.out.next(spread + ".ports")
		s.out.flow(spread+".ports[]", placed(v.node.At), port...)
	}
	s.backendCheck(first)
	s.out.open(spread+".backends", nowhere)
	for _, r := range first.servers {
		s.out.next(spread + ".backends")
		s.out.set(spread+".backends[].addresses", []string{r.at.Addr().String()}, placed(r.node.At))
		if r.weight != 1 {
			s.out.set(spread+".backends[].weight", r.weight, placed(r.node.At))
		}
		if r.probe.url != first.servers[0].probe.url {
			s.out.flow(spread+".backends[].check", placed(r.probe.at), field{name: "url", value: r.probe.url})
		}
	}
	for _, v := range all {
		s.changed(v.node.At, fmt.Sprintf("virtual_server %s becomes spread.backends: keepvip assigns each connection by its addresses and ports, and translates it", v.at),
			"take the address off the servers' loopback devices, where lb_kind was DR, and the virtual_server out of keepalived's file")
		for _, r := range v.servers {
			if r.probe.at == r.node.At && !slices.ContainsFunc(r.node.Children, func(n *syntax.Node) bool { return n.Words[0] == "MISC_CHECK" }) {
				s.changed(r.node.At, fmt.Sprintf("real_server %s has no check, so keepalived sends to it always: keepvip connects to it, and leaves it out while that fails", r.at), "")
			}
		}
		s.otherwise(v, first)
		for _, n := range v.leftovers {
			s.leftover(n)
		}
	}
}

// otherwise names what servers are asked otherwise than the first of the first virtual server: keepvip asks all of them alike but for the URL, and
// each once for all ports.
func (s spreading) otherwise(v, first *virtualServer) {
	asked := first.servers[0].probe
	for _, r := range v.servers {
		p, line := r.probe, asked.at.Line
		switch {
		case p.at == r.node.At: // it has no check
		case v != first:
			s.changed(p.at, fmt.Sprintf("the check of real_server %s is not carried over: keepvip asks a backend once for all ports, as for line %d", r.at, first.node.At.Line),
				"have the URL there answer for all ports, or make this one of another entry of vips")
		default:
			if p.timeout != asked.timeout {
				s.changed(p.at, fmt.Sprintf("connect_timeout of real_server %s is %v: keepvip waits for all backends alike, here %v as in line %d", r.at, p.timeout, asked.timeout, line), "")
			}
			if p.fall != asked.fall {
				s.changed(p.at, fmt.Sprintf("retry of real_server %s is %d: keepvip has one count for all backends, here %d as in line %d", r.at, p.fall-1, asked.fall-1, line), "")
			}
		}
	}
	if v != first {
		return
	}
	for _, n := range v.anyStatus {
		s.changed(n.At, "url without status_code: keepalived takes any answer of 200 to 299 as good, and keepvip one of 200, or of 401", "have the URL answer with 200")
	}
	if v.interval > longestInterval || asked.timeout > longestTimeout || asked.fall > mostResults {
		s.changed(v.node.At, fmt.Sprintf("virtual_server %s: keepvip has an interval of %v, a timeout of %v and fall of %d at most", v.at, longestInterval, longestTimeout, mostResults), "")
	}
}

func twice(servers []realServer) bool {
	seen := map[netip.Addr]bool{}
	for _, r := range servers {
		if seen[r.at.Addr()] {
			return true
		}
		seen[r.at.Addr()] = true
	}
	return false
}

// backendCheck writes how the servers are asked, by the first of them.
func (s spreading) backendCheck(v *virtualServer) {
	p := v.servers[0].probe
	const check = "vips[].spread.backendCheck"
	s.out.open(check, placed(p.at))
	s.out.set(check+".url", p.url, placed(p.at))
	if v.interval > 0 {
		s.out.set(check+".interval", min(max(v.interval, 10*time.Millisecond), longestInterval), source{v.node.At, "delay_loop"})
	}
	s.out.set(check+".timeout", min(p.timeout, longestTimeout), source{p.at, "connect_timeout"})
	s.out.set(check+".rise", 1, source{why: "keepalived takes a server back after one good check"})
	s.out.set(check+".fall", min(p.fall, mostResults), source{p.at, "retry"})
}

// leftover names a line of a virtual server that has no counterpart, and what takes its place.
func (s spreading) leftover(n *syntax.Node) {
	word := n.Words[0]
	text, remedy := "it is not carried over", ""
	switch word {
	case "lb_algo", "lvs_sched":
		text = "connections are assigned by their addresses and ports, and by weight"
	case "lb_kind", "lvs_method":
		text = "connections are translated, as by NAT: servers see this node's address"
	case "persistence_timeout", "persistence_granularity":
		text, remedy = "another connection of a client may come to another server", "keep sessions where all servers find them"
	case "sorry_server", "sorry_server_inhibit":
		text, remedy = "while no server is well new connections are refused", "let clients try again, or put HAProxy in front"
	case "MISC_CHECK":
		text, remedy = "a program decides there; keepvip connects to the port", "give the server a URL that says the same, and name it in backendCheck.url"
	case "virtualhost":
		text = "keepvip asks by the server's address"
	case "digest", "status_code":
		text = "keepvip takes an answer of 200 as good, and one of 401"
	case "delay_before_retry":
		text = "keepvip asks again after delay_loop"
	}
	s.say(keepalived.Warning, codeChanged, n.At, fmt.Sprintf("%s: %s", plain(word), text), remedy)
}

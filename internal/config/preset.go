package config

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// preset is a check by the name of what it looks at: the apiserver of one way to make a cluster.
type preset struct {
	name, url, ca string
	further       []uint16 // ports that the same installation has on loopback, beside that of the apiserver: nodes join there, and agents connect
}

// presets are the names that check.url takes in place of a URL. Without anonymous access, as with k3s, RKE2 and k0s, the answer
// is 401, which counts: only an apiserver that works gives it.
var presets = []preset{
	{"kubeadm", "https://127.0.0.1:6443/readyz", "/etc/kubernetes/pki/ca.crt", nil},
	{"k3s", "https://127.0.0.1:6443/readyz", "/var/lib/rancher/k3s/server/tls/server-ca.crt", nil},
	{"rke2", "https://127.0.0.1:6443/readyz", "/var/lib/rancher/rke2/server/tls/server-ca.crt", []uint16{9345}},
	{"k0s", "https://127.0.0.1:6443/readyz", "/var/lib/k0s/pki/ca.crt", []uint16{9443, 8132}},
}

// Resolved is the check with the URL and the CA that its preset stands for. A CA of its own wins.
func (c Check) Resolved() Check {
	if i := slices.IndexFunc(presets, func(p preset) bool { return p.name == c.URL }); i >= 0 {
		c.URL, c.CA = presets[i].url, cmp.Or(c.CA, presets[i].ca)
	}
	return c
}

// AllChecks are the checks in one form: those of the list, or the simple one, which has no name. None: the node is always fit.
func (v VIP) AllChecks() []ListedCheck {
	if len(v.Checks) > 0 || v.Check.URL == noCheck {
		return v.Checks
	}
	c := v.Check.Resolved()
	one := ListedCheck{
		Kind: CheckHTTPS, URL: c.URL, CA: c.CA, Insecure: c.CA == "", ServerName: c.ServerName, Watch: true,
		Interval: c.Interval, Timeout: c.Timeout, Rise: c.Rise, Fall: c.Fall,
	}
	one.Further = v.furtherPorts()
	address, tcp := strings.CutPrefix(c.URL, tcpScheme)
	switch {
	case c.URL == anyBackend:
		one.Kind, one.URL, one.Insecure, one.Watch = CheckBackends, "", false, false
	case tcp:
		one.Kind, one.URL, one.Address = CheckTCP, "", address
	case strings.HasPrefix(c.URL, "http:"):
		one.Kind = CheckHTTP
	case c.CA != "" && c.ServerName == "":
		one.ServerName = "kubernetes"
	}
	return []ListedCheck{one}
}

// furtherPorts are where the check of a preset connects, too. A port that is spread has a look of its own, which takes nothing from the other ports.
func (v VIP) furtherPorts() (out []string) {
	i := slices.IndexFunc(presets, func(p preset) bool { return p.name == v.Check.URL })
	if i < 0 {
		return nil
	}
	for _, port := range presets[i].further {
		spread := func(p SpreadPort) bool { return p.TCP() && cmp.Or(p.Target, p.Port) == port }
		if v.Spread.Via == ViaOff || !slices.ContainsFunc(v.Spread.Ports, spread) {
			out = append(out, net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
		}
	}
	return out
}

const tcpScheme = "tcp://"

// simpleCheck reads what one check looks at: a URL, a preset's name, tcp://host:port, or none.
func simpleCheck() kind[string] {
	u, names := checkURL(), []string{}
	for _, p := range presets {
		names = append(names, p.name)
	}
	return text("url|"+strings.Join(names, "|")+"|none", func(s string) error {
		switch {
		case s == noCheck || s == anyBackend || slices.Contains(names, s):
			return nil
		case strings.HasPrefix(s, tcpScheme):
			if _, err := endpoint().parse(strings.TrimPrefix(s, tcpScheme)); err != nil {
				return fmt.Errorf("%s, want tcp://host:port such as tcp://127.0.0.1:5432", show(s))
			}
			return nil
		case !strings.Contains(s, ":"):
			return fmt.Errorf("%s, want a URL, %s or %s", show(s), strings.Join(names, ", "), noCheck)
		case !strings.HasPrefix(s, "http:") && !strings.HasPrefix(s, "https:"):
			return fmt.Errorf("%s, want an http or https URL such as https://127.0.0.1:6443/readyz, tcp://host:port, %s or %s; other kinds go under checks",
				show(s), strings.Join(names, ", "), noCheck)
		}
		_, err := u.parse(s)
		return err
	})
}

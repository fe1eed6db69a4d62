package convert

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

const virtualServers = `vrrp_instance VI_1 {
 interface eth0
 virtual_router_id 51
 virtual_ipaddress {
  10.77.0.100
 }
}
virtual_server 10.77.0.100 80 {
 delay_loop 6
 lb_algo wrr
 lb_kind DR
 persistence_timeout 50
 protocol TCP
 sorry_server 127.0.0.1 80
 real_server 10.77.0.21 8080 {
  weight 3
  HTTP_GET {
   url {
    path /healthz
    status_code 200
    digest abc
   }
   connect_timeout 3
   nb_get_retry 3
   delay_before_retry 3
  }
 }
 real_server 10.77.0.22 8080 {
  MISC_CHECK {
   misc_path "/x"
  }
 }
 real_server 10.77.0.23 8080 {
 }
}
virtual_server 10.77.0.100 53 {
 protocol UDP
 real_server 10.77.0.21 53 {
 }
}
virtual_server 10.77.0.200 80 {
 real_server 10.77.0.21 80 {
 }
}
`

// Without the option nothing is spread, and a line for each virtual server says what there would be.
func TestConvertSaysWhatVirtualServersWouldBe(t *testing.T) {
	r := converted(t, virtualServers, Options{})
	assert.NotContains(t, string(r.Text), "spread")
	assert.Contains(t, shown(r), "k.conf:8: warning unsupported: virtual_server 10.77.0.100:80: 3 real servers")
	assert.Contains(t, shown(r), "--virtual-servers spread")
	assert.Equal(t, 3, strings.Count(shown(r), "virtual_server"), shown(r))
}

func TestConvertVirtualServersToBackends(t *testing.T) {
	r := converted(t, virtualServers, Options{VirtualServers: VirtualServersSpread})
	cfg, err := load(r)
	require.NoError(t, err, shown(r))
	s := cfg.VIPs[0].Spread
	assert.Equal(t, config.ViaMasquerade, s.Via)
	require.Len(t, s.Ports, 1)
	assert.Equal(t, uint16(80), s.Ports[0].Port)
	assert.Equal(t, uint16(8080), s.Ports[0].Target)
	require.Len(t, s.Backends, 3)
	assert.Equal(t, uint8(3), s.Backends[0].Weight)
	assert.Equal(t, uint8(1), s.Backends[1].Weight)
	assert.Equal(t, "http://backend:8080/healthz", s.BackendCheck.URL)
	assert.Equal(t, "tcp", s.Backends[1].Check.URL)
	assert.Equal(t, "6s", s.BackendCheck.Interval.String())
	assert.Equal(t, "3s", s.BackendCheck.Timeout.String())
	assert.Equal(t, 1, s.BackendCheck.Rise)
	assert.Equal(t, 4, s.BackendCheck.Fall)
	for line, word := range map[string]string{
		"10": "lb_algo", "11": "lb_kind", "12": "persistence_timeout", "14": "sorry_server", "21": "digest", "29": "MISC_CHECK",
		"33": "real_server 10.77.0.23:8080 has no check", "36": "it is for UDP", "41": "no vrrp_instance here has 10.77.0.200",
	} {
		assert.Contains(t, shown(r), word)
		assert.Contains(t, shown(r), "k.conf:"+line+": warning", word)
	}
}

// What servers are asked otherwise than the first one cannot be carried over, and neither can which answers are good: each has a line.
func TestConvertSaysWhatServersAreAskedOtherwise(t *testing.T) {
	const instance = "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n virtual_ipaddress {\n  10.0.0.9\n }\n}\n"
	const first = `virtual_server 10.0.0.9 80 {
 delay_loop 6
 real_server 10.0.0.21 80 {
  HTTP_GET {
   url {
    path /a
   }
   connect_timeout 3
   retry 2
  }
 }
`
	spread := func(text string) Result {
		return converted(t, instance+text, Options{VirtualServers: VirtualServersSpread})
	}
	r := spread(first + ` real_server 10.0.0.22 80 {
  TCP_CHECK {
   connect_timeout 7
   retry 4
   delay_before_retry 1
  }
 }
 real_server 10.0.0.23 80 {
  HTTP_GET {
   url {
    path /a
    status_code 200
   }
   connect_timeout 3
   retry 2
  }
 }
}
virtual_server 10.0.0.9 443 {
 real_server 10.0.0.21 443 {
  TCP_CHECK {
  }
 }
 real_server 10.0.0.22 443 {
 }
 real_server 10.0.0.23 443 {
  TCP_CHECK {
  }
 }
}
`)
	cfg, err := load(r)
	require.NoError(t, err, shown(r))
	check := cfg.VIPs[0].Spread.BackendCheck
	assert.Equal(t, "3s", check.Timeout.String())
	assert.Equal(t, 3, check.Fall)
	for _, want := range []string{
		"k.conf:12: warning changed: url without status_code: keepalived takes any answer of 200 to 299 as good, and keepvip one of 200, or of 401",
		"k.conf:20: warning changed: connect_timeout of real_server 10.0.0.22:80 is 7s: keepvip waits for all backends alike, here 3s as in line 11",
		"k.conf:20: warning changed: retry of real_server 10.0.0.22:80 is 4: keepvip has one count for all backends, here 2 as in line 11",
		"k.conf:23: warning changed: delay_before_retry: keepvip asks again after delay_loop",
		"k.conf:30: warning changed: status_code: keepvip takes an answer of 200 as good, and one of 401",
		"k.conf:39: warning changed: the check of real_server 10.0.0.21:443 is not carried over: keepvip asks a backend once for all ports, as for line 8",
		"k.conf:45: warning changed: the check of real_server 10.0.0.23:443 is not carried over",
	} {
		assert.Contains(t, shown(r), want)
	}
	assert.Equal(t, 1, strings.Count(shown(r), "connect_timeout of"), "those of line 27 are the same")
	assert.Equal(t, 1, strings.Count(shown(r), "retry of"))
	assert.Equal(t, 1, strings.Count(shown(r), "without status_code"))

	r = spread(strings.Replace(first, "connect_timeout 3", "connect_timeout 90", 1) + "}\n")
	assert.Contains(t, shown(r), "k.conf:8: warning changed: virtual_server 10.0.0.9:80: keepvip has an interval of 10m0s, a timeout of 1m0s and fall of 1000 at most")
}

// Backends serve all ports of an entry, and each has one port: what is otherwise stays where it is, and is said.
func TestConvertVirtualServersThatAreNoBackends(t *testing.T) {
	const instance = "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n virtual_ipaddress {\n 10.0.0.9\n }\n}\n"
	server := func(port, servers string) string { return "virtual_server 10.0.0.9 " + port + " {\n" + servers + "}\n" }
	one := "real_server 10.0.0.21 80 {\n}\n"
	many := ""
	for _, n := range "12345678" {
		many += "real_server 10.0.0.2" + string(n) + " 80 {\n}\n"
	}
	for text, want := range map[string]string{
		server("80", many): "8 real servers, and keepvip has at most 7",
		server("80", one+"real_server 10.0.0.22 81 {\n}\n"):                       "different ports",
		server("80", one+one):                                                     "the same real server twice",
		server("80", one) + server("81", one+strings.ReplaceAll(one, "21", "22")): "other real servers than that of line 8",
		server("80", ""): "no real_server",
		"virtual_server group g {\n" + one + "}\n": "an address and a port",
		server("x", one):                        "no address with a port",
		server("80", "real_server x 80 {\n}\n"): "a real_server has no address with a port",
	} {
		r := converted(t, instance+text, Options{VirtualServers: VirtualServersSpread})
		assert.Contains(t, shown(r), want)
		_, err := load(r)
		assert.NoError(t, err, text)
	}
}

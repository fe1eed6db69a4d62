package kubeadm

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// probes ask keepvip alone; none depends on the apiserver, whose death must not restart what answers to it.
type probes struct{ live, ready, startup *probe }

func probesAt(metrics string) (probes, error) {
	if metrics == "" {
		return probes{}, nil
	}
	host, portText, err := net.SplitHostPort(metrics)
	port, bad := strconv.ParseUint(portText, 10, 16)
	if err != nil || bad != nil || port == 0 {
		return probes{}, fmt.Errorf("kubeadm: metrics %q, want host:port with a fixed port, which the kubelet's probes need", metrics)
	}
	at := func(path string, every, failures int) *probe {
		return &probe{
			HTTPGet:       httpGet{Host: reachable(host), Path: path, Port: int(port)},
			PeriodSeconds: every, FailureThreshold: failures, TimeoutSeconds: 2,
		}
	}
	return probes{live: at("/livez", 10, 3), ready: at("/readyz", 5, 2), startup: at("/livez", 1, 30)}, nil
}

// reachable is an address at which the kubelet, on the same network, finds a listener.
func reachable(host string) string {
	a, err := netip.ParseAddr(host)
	switch {
	case host == "" || host == "localhost" || err == nil && a.Is4() && a.IsUnspecified():
		return "127.0.0.1"
	case err == nil && a.IsUnspecified():
		return "::1"
	}
	return host
}

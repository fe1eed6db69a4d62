package main

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/kubeadm"
)

// readKubeadm reads --kubeadm-config, nil without one, and takes the virtual address from it where nothing else names
// one. Where it is to be printed it may be missing.
func readKubeadm(in *config.Input, name string, print bool) (*kubeadm.InitConfig, error) {
	var text []byte
	switch {
	case name != "":
		var err error
		if text, err = readInput("kubeadm-config", name); err != nil {
			return nil, err
		}
		if len(strings.TrimSpace(string(text))) == 0 {
			return nil, fmt.Errorf("--kubeadm-config: %s is empty, want a ClusterConfiguration", name)
		}
	case !print:
		return nil, nil
	}
	c, err := kubeadm.ReadInitConfig(name, text)
	if err != nil {
		return nil, err
	}
	host := c.Endpoint().Host
	_, err = netip.ParseAddr(host)
	switch {
	case namesAddress(*in):
	case err == nil:
		in.Flags["vip"] = []string{host}
	case name == "" || in.Flags["external-address"] != nil, hasVariable(*in, "KEEPVIP_EXTERNAL_ADDRESS"): // the configuration is to say what it lacks
	case host == "":
		return nil, fmt.Errorf("--kubeadm-config: %s has no controlPlaneEndpoint to take the address from, want --vip ADDRESS", name)
	default:
		return nil, fmt.Errorf("--kubeadm-config: the controlPlaneEndpoint %s of %s is a name, want --vip ADDRESS", host, name)
	}
	return c, nil
}

// namesAddress tells that the address has another source than kubeadm's configuration.
func namesAddress(in config.Input) bool {
	if in.Flags["vip"] != nil || in.File != "" || in.Conf != "" {
		return true
	}
	return hasVariable(in, "KEEPVIP_VIP", config.EnvFile, config.EnvConf, config.EnvInline)
}

func hasVariable(in config.Input, names ...string) bool {
	return slices.ContainsFunc(in.Env, func(e string) bool {
		name, value, _ := strings.Cut(e, "=")
		return value != "" && slices.Contains(names, name)
	})
}

// probePort lets the default check ask at the port that the apiservers of this cluster listen on, 0 where that is not known. A flag is for one
// entry: of several see [asksAt].
func probePort(listen uint16, in config.Input, cfg *config.Config) (*config.Config, error) {
	if len(cfg.VIPs) != 1 || !asksElsewhere(listen, cfg, 0) || cfg.Origin(checkURLOf(0)).Source != config.Default {
		return cfg, nil
	}
	in.Flags["check"] = []string{apiserverCheck(listen)}
	return config.Load(in)
}

func checkURLOf(i int) string { return fmt.Sprintf("vips[%d].check.url", i) }

func apiserverCheck(port uint16) string { return fmt.Sprintf("https://127.0.0.1:%d/readyz", port) }

// asksElsewhere tells that the check of an entry is for an apiserver, by default or by a preset, and at another port than theirs. A URL of the
// operator's own is for whatever it is for.
func asksElsewhere(listen uint16, cfg *config.Config, i int) bool {
	v := cfg.VIPs[i]
	asked := v.Check.Resolved().URL
	if listen == 0 || len(v.Checks) > 0 || asked == v.Check.URL && cfg.Origin(checkURLOf(i)).Source != config.Default {
		return false
	}
	port := localPort(asked) // 0: it asks no apiserver, but backends
	return port != 0 && port != listen
}

// asksAt refuses the checks of apiservers that could never be good, because those listen on another port.
func asksAt(listen uint16, cfg *config.Config) error {
	var errs []error
	for i, v := range cfg.VIPs {
		if !asksElsewhere(listen, cfg, i) {
			continue
		}
		key, remedy := checkURLOf(i), "--check "+apiserverCheck(listen)
		at, what := fmt.Sprint(cfg.Origin(key)), "check "+v.Check.URL
		if cfg.Origin(key).Source == config.Default {
			at, what = key, "the check, which is not given,"
		}
		if len(cfg.VIPs) > 1 {
			remedy = "check: " + apiserverCheck(listen) + " in this entry"
		}
		errs = append(errs, fmt.Errorf("%s: %s asks at port %d, but the apiservers listen on %d (localAPIEndpoint.bindPort), want %s",
			at, what, localPort(v.Check.Resolved().URL), listen, remedy))
	}
	return errors.Join(errs...)
}

// spreadsPorts says at which ports the load of the apiservers is spread.
func spreadsPorts(k *kubeadm.InitConfig, cfg *config.Config) {
	if k == nil {
		return
	}
	if v := cfg.VIPs[0]; v.External() {
		host, port := v.Endpoint()
		k.External(kubeadm.Endpoint{Host: host, Port: port})
		return
	}
	k.Spreads(apiserverPorts(cfg, k.BindPort())...)
}

// apiserverPorts are the ports of the first entry at which what listens on a TCP port of the nodes is spread.
func apiserverPorts(cfg *config.Config, target uint16) (ports []uint16) {
	for _, p := range cfg.VIPs[0].SpreadPorts() {
		if p.TCP() && p.Target == target {
			ports = append(ports, p.Port)
		}
	}
	return ports
}

// fit holds the configurations against each other.
func fit(k *kubeadm.InitConfig, cfg *config.Config) (notes []string, err error) {
	if k == nil {
		return nil, nil
	}
	if err := asksAt(k.BindPort(), cfg); err != nil {
		return nil, err
	}
	notes, err = k.Fit(addressesOf(cfg))
	for _, v := range cfg.Internal() {
		if v.Name != cfg.VIPs[0].Name {
			err = errors.Join(err, k.Outside(v.Bare()))
		}
	}
	return notes, err
}

// localPort is the port of a URL on this machine; 0 for others.
func localPort(s string) uint16 {
	u, err := url.Parse(s)
	if err != nil {
		return 0
	}
	if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.IsLoopback() {
		return 0
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

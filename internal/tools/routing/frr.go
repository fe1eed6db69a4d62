package routing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
)

// askFRR asks zebra what it has taken from the kernel, and bgpd, by the socket beside it, whom it has told.
func askFRR(ctx context.Context, socket string, addresses []netip.Addr, out *Daemon) error {
	zebra, err := dialFRR(ctx, socket)
	if err != nil {
		return err
	}
	defer zebra.Close()
	bgpd, err := dialFRR(ctx, filepath.Join(filepath.Dir(socket), "bgpd.vty"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		out.Down = append(out.Down, "bgpd: it does not run")
	case err != nil:
		return err
	default:
		defer bgpd.Close()
		text, err := bgpd.ask("show bgp summary json")
		if err != nil {
			return err
		}
		out.Down = frrDown(text)
	}
	for _, a := range addresses {
		ip, bgp := "ip", "ipv4"
		if a.Is6() {
			ip, bgp = "ipv6", "ipv6"
		}
		prefix := netip.PrefixFrom(a, a.BitLen()).String()
		text, err := zebra.ask(fmt.Sprintf("show %s route %s json", ip, prefix))
		if err != nil {
			return err
		}
		r := Route{Taken: frrTakes(text, prefix)}
		if bgpd != nil {
			if text, err = bgpd.ask(fmt.Sprintf("show bgp %s unicast %s json", bgp, prefix)); err != nil {
				return err
			}
			r.Leaves = frrTells(text)
		}
		out.Routes[a] = r
	}
	return nil
}

// vty is a daemon of FRR.
type vty struct{ *conn }

// dialFRR connects to a daemon of FRR, for commands that show something: none but these is sent.
func dialFRR(ctx context.Context, socket string) (*vty, error) {
	c, err := dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	v := &vty{c}
	if _, err := v.ask("enable"); err != nil { // without it nothing is shown
		return nil, errors.Join(err, c.Close())
	}
	return v, nil
}

// ask sends a command, and returns what it prints.
func (v *vty) ask(command string) ([]byte, error) {
	if _, err := v.Write(append([]byte(command), 0)); err != nil {
		return nil, err
	}
	reply, err := v.read(frrReply)
	if err != nil {
		return nil, err
	}
	return reply[:len(reply)-frrEnd], nil
}

// frrEnd is the length of what ends a reply: three zero bytes, and one with the command's result.
const frrEnd = 4

// frrReply is the length of the first whole reply, 0: it is not whole.
func frrReply(b []byte) int {
	i := bytes.Index(b, []byte{0, 0, 0})
	if i < 0 || len(b) < i+frrEnd {
		return 0
	}
	return i + frrEnd
}

// frrTakes reads zebra's route.
func frrTakes(text []byte, prefix string) bool {
	var all map[string][]struct {
		Protocol string `json:"protocol"`
		Selected bool   `json:"selected"`
	}
	if json.Unmarshal(text, &all) != nil {
		return false // where there is none it says so in words
	}
	for _, r := range all[prefix] {
		if r.Protocol == "kernel" || r.Protocol == "connected" || r.Protocol == "table" {
			return true
		}
	}
	return false
}

// frrTells reads whom bgpd tells of a route.
func frrTells(text []byte) []string {
	var route struct {
		AdvertisedTo map[string]any `json:"advertisedTo"`
	}
	if json.Unmarshal(text, &route) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(route.AdvertisedTo))
}

// frrDown reads the neighbours with which there is no session.
func frrDown(text []byte) (out []string) {
	var all map[string]struct {
		Peers map[string]struct {
			State string `json:"state"`
		} `json:"peers"`
	}
	if json.Unmarshal(text, &all) != nil {
		return []string{"bgpd: it has no neighbour"}
	}
	for _, family := range all {
		for name, p := range family.Peers {
			if said := strings.TrimSpace(name + ": " + p.State); p.State != "Established" && !slices.Contains(out, said) {
				out = append(out, said)
			}
		}
	}
	slices.Sort(out)
	return out
}

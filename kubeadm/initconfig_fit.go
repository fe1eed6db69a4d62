package kubeadm

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// Fit holds the configuration against the virtual addresses, the one of the election first. The error joins one line for each thing
// that contradicts them, or if nothing does, for each that is missing; notes are what a person should know, a line each.
func (c *InitConfig) Fit(vips []netip.Addr) (notes []string, err error) {
	if err := c.contradictions(vips); err != nil {
		return nil, err
	}
	var errs []error
	if c.Endpoint().Host == "" {
		errs = append(errs, c.text.Errorf(lineOf(c.cluster), "no controlPlaneEndpoint, want %q in ClusterConfiguration; --print-kubeadm adds it",
			c.wanted(vips)))
	}
	for _, san := range c.missing(vips) {
		errs = append(errs, c.text.Errorf(lineOf(yamledit.At(c.cluster, "apiServer", "certSANs"), c.cluster), "%s is not in apiServer.certSANs, so that the certificate would not be valid for it; --print-kubeadm adds it", san))
	}
	return c.notes(vips), errors.Join(errs...)
}

// contradictions are what no addition can mend.
func (c *InitConfig) contradictions(vips []netip.Addr) error {
	if len(vips) == 0 {
		return c.text.Errorf(0, "no virtual address to compare with, want --vip")
	}
	if c.external.Host != "" { // the balancer comes to the nodes' own addresses
		return errors.Join(c.endpointFits(vips), c.joinFits(), c.nodeAddressIsOwn(vips))
	}
	return errors.Join(c.endpointFits(vips), c.joinFits(), c.listensOn(vips), c.nodeAddressIsOwn(vips), c.Outside(vips))
}

// endpointFits: an address has to be ours, and the port one at which the apiservers are reached.
func (c *InitConfig) endpointFits(vips []netip.Addr) error {
	e := c.Endpoint()
	if e.Host == "" {
		return nil
	}
	line := yamledit.At(c.cluster, "controlPlaneEndpoint").Line
	if c.external.Host != "" {
		if !c.external.same(e) {
			return c.text.Errorf(line, "controlPlaneEndpoint %s, want %s, the external address (mode external)", e, c.external)
		}
		return nil
	}
	if a, err := netip.ParseAddr(e.Host); err == nil && !slices.Contains(vips, a) {
		return c.text.Errorf(line, "controlPlaneEndpoint %s, want the virtual address %s", e, orList(vips))
	}
	if e.Port != c.BindPort() && !slices.Contains(c.spread, e.Port) {
		return c.text.Errorf(line, "controlPlaneEndpoint %s, want port %d, on which the apiservers listen (localAPIEndpoint.bindPort): keepvip translates ports only where it spreads the load (spread.ports)", e, c.BindPort())
	}
	return nil
}

// joinFits: a node that joins asks at the same place.
func (c *InitConfig) joinFits() error {
	n := yamledit.At(c.join, "discovery", "bootstrapToken", "apiServerEndpoint")
	e := c.Endpoint()
	if n == nil || e.Host == "" {
		return nil
	}
	host, port := splitEndpoint(n.Value)
	if host != e.Host || portNumber(port) != e.Port {
		return c.text.Errorf(n.Line, "apiServerEndpoint %s, want the controlPlaneEndpoint %s", n.Value, e)
	}
	return nil
}

// listensOn: an apiserver that is bound to one address answers at no other.
func (c *InitConfig) listensOn(vips []netip.Addr) error {
	value, line := extraArg(yamledit.At(c.cluster, "apiServer"), "extraArgs", "bind-address")
	bound, err := netip.ParseAddr(value)
	if err != nil || bound == netip.IPv6Unspecified() {
		return nil
	}
	for _, a := range vips {
		if !bound.IsUnspecified() || a.Is6() {
			return c.text.Errorf(line, "bind-address %s, want it left out or %q: the apiserver has to answer at %s, too", value, "::", a)
		}
	}
	return nil
}

// Outside refuses virtual addresses, whatever they are for, in a subnet of the cluster's services or pods: such an address belongs to one of
// them, and never leaves a node.
func (c *InitConfig) Outside(vips []netip.Addr) error {
	errs := insideOf(c.text, c.cluster, vips, "networking", "serviceSubnet", "podSubnet")
	if c.cluster == nil || yamledit.TextAt(c.cluster, "networking", "serviceSubnet") != "" {
		return errors.Join(errs...)
	}
	subnet := netip.MustParsePrefix(defaultServices)
	for _, a := range vips {
		if subnet.Contains(a) {
			errs = append(errs, c.text.Errorf(lineOf(yamledit.At(c.cluster, "networking"), c.cluster), "no networking.serviceSubnet, so that kubeadm takes %s, "+
				"which contains the virtual address %s, want an address of the nodes' own subnet, or another serviceSubnet", subnet, a))
		}
	}
	return errors.Join(errs...)
}

// defaultServices is the serviceSubnet of kubeadm.
const defaultServices = "10.96.0.0/12"

// nodeAddressIsOwn: what stands for a node must not move.
func (c *InitConfig) nodeAddressIsOwn(vips []netip.Addr) error {
	var errs []error
	refuse := func(what, value string, line int) {
		if a, err := netip.ParseAddr(value); err == nil && slices.Contains(vips, a) {
			errs = append(errs, c.text.Errorf(line, "%s %s is the virtual address, want the node's own", what, value))
		}
	}
	for _, n := range []*yaml.Node{yamledit.At(c.init, "localAPIEndpoint", "advertiseAddress"), yamledit.At(c.join, "controlPlane", "localAPIEndpoint", "advertiseAddress")} {
		if n != nil {
			refuse("advertiseAddress", n.Value, n.Line)
		}
	}
	for _, d := range []*yaml.Node{c.init, c.join} {
		value, line := extraArg(yamledit.At(d, "nodeRegistration"), "kubeletExtraArgs", "node-ip")
		refuse("node-ip", value, line)
	}
	return errors.Join(errs...)
}

// notes are what fits, but is worth knowing.
func (c *InitConfig) notes(vips []netip.Addr) []string {
	var out []string
	e := c.Endpoint()
	if _, err := netip.ParseAddr(e.Host); err != nil && e.Host != "" && c.external.Host == "" {
		out = append(out, fmt.Sprintf("%s: controlPlaneEndpoint %s is a name: it has to resolve to %s on every node", c.text.Name(), e, orList(vips)))
	}
	if c.external.Host != "" {
		for _, san := range c.unnamed(e.Host, vips) {
			out = append(out, fmt.Sprintf("%s: %s is not in apiServer.certSANs: in mode internal clients would refuse the certificate", c.text.Name(), san))
		}
		return out
	}
	v4, v6 := c.families()
	is4 := func(a netip.Addr) bool { return a.Is4() }
	is6 := func(a netip.Addr) bool { return a.Is6() }
	switch {
	case v4 && v6 && !(slices.ContainsFunc(vips, is4) && slices.ContainsFunc(vips, is6)):
		out = append(out, fmt.Sprintf("%s: the cluster is dual stack, but %s has one family; clients of the other need a --vip of it", c.text.Name(), orList(vips)))
	case v4 && !v6 && !slices.ContainsFunc(vips, is4), v6 && !v4 && !slices.ContainsFunc(vips, is6):
		out = append(out, fmt.Sprintf("%s: networking.serviceSubnet has not the family of %s", c.text.Name(), orList(vips)))
	}
	if value, _ := extraArg(yamledit.At(c.cluster, "apiServer"), "extraArgs", "anonymous-auth"); value == "false" {
		out = append(out, c.text.Name()+": with anonymous-auth=false the health check sees only that the apiserver answers (401), not whether it is ready")
	}
	if len(c.spread) > 0 && !hasGoaway(yamledit.At(c.cluster, "apiServer")) {
		out = append(out, c.text.Name()+": no goaway-chance in apiServer.extraArgs, so that clients stay with the apiservers they have when another one comes back; --print-kubeadm adds it")
	}
	return out
}

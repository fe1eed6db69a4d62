package kubeadm

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// InitConfig is an existing kubeadm configuration: ClusterConfiguration, InitConfiguration and JoinConfiguration of v1beta3 or
// v1beta4 in one file; documents of other kinds are left alone.
type InitConfig struct {
	text                *yamledit.Editor
	version             string // kubeadm.k8s.io/v1beta4
	cluster, init, join *yaml.Node
	clusterDoc          int // where the ClusterConfiguration is, or is to be
	spread              []uint16
	external            Endpoint // the zero Endpoint: the virtual addresses are the nodes'
}

const (
	kubeadmAPI     = "kubeadm.k8s.io/"
	defaultAPIPort = 6443
)

// Spreads says at which TCP ports of the virtual addresses the load of the apiservers is spread over all of them: the endpoint may have one of
// these, and clients are told now and then to connect again, see [InitConfig.Complete].
func (c *InitConfig) Spreads(ports ...uint16) { c.spread = ports }

// External says where clients come to the apiservers in place of the virtual addresses: to a balancer of somebody else.
func (c *InitConfig) External(at Endpoint) { c.external = at }

// ReadInitConfig reads a kubeadm configuration, called name in errors. An empty text is one without documents.
func ReadInitConfig(name string, text []byte) (*InitConfig, error) {
	c := &InitConfig{text: yamledit.New(name, text)}
	docs, err := c.text.Documents()
	if err != nil {
		return nil, err
	}
	c.clusterDoc = len(docs)
	for i, d := range docs {
		if err := c.take(i, d); err != nil {
			return nil, err
		}
	}
	if len(docs) > 0 && c.version == "" {
		return nil, c.text.Errorf(0, "no ClusterConfiguration, InitConfiguration or JoinConfiguration of %sv1beta3 or v1beta4, want one", kubeadmAPI)
	}
	if err := c.sane(); err != nil {
		return nil, err
	}
	return c, nil
}

// take notes what one document is.
func (c *InitConfig) take(i int, d *yaml.Node) error {
	version, ours := strings.CutPrefix(yamledit.TextAt(d, "apiVersion"), kubeadmAPI)
	if !ours {
		return nil
	}
	if version != "v1beta3" && version != "v1beta4" {
		return c.text.Errorf(d.Line, "apiVersion %s%s, want v1beta3 or v1beta4: kubeadm config migrate", kubeadmAPI, version)
	}
	c.version = kubeadmAPI + version
	places := map[string]**yaml.Node{"ClusterConfiguration": &c.cluster, "InitConfiguration": &c.init, "JoinConfiguration": &c.join}
	kind := yamledit.TextAt(d, "kind")
	place, known := places[kind]
	switch {
	case !known:
		return nil
	case *place != nil:
		return c.text.Errorf(d.Line, "a second %s, want one", kind)
	}
	*place = d
	if kind == "ClusterConfiguration" {
		c.clusterDoc = i
	}
	return nil
}

// sane refuses ports that are none, which would be compared with others.
func (c *InitConfig) sane() error {
	if host, port := c.endpointParts(); host != "" && port != "" && portNumber(port) == 0 {
		return c.text.Errorf(yamledit.At(c.cluster, "controlPlaneEndpoint").Line, "controlPlaneEndpoint %s, want a port from 1 to 65535", host+":"+port)
	}
	if n := c.bindPort(); n != nil && n.Tag != "!!null" && portNumber(n.Value) == 0 {
		return c.text.Errorf(n.Line, "bindPort %q, want a port from 1 to 65535", n.Value)
	}
	return nil
}

func portNumber(s string) uint16 {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

func (c *InitConfig) endpointParts() (host, port string) {
	return splitEndpoint(yamledit.TextAt(c.cluster, "controlPlaneEndpoint"))
}

// Endpoint is the controlPlaneEndpoint, with kubeadm's port where it has none; the zero Endpoint without one.
func (c *InitConfig) Endpoint() Endpoint {
	host, port := c.endpointParts()
	if host == "" {
		return Endpoint{}
	}
	return Endpoint{Host: host, Port: cmp.Or(portNumber(port), c.BindPort())}
}

// BindPort is the port that the apiservers listen on.
func (c *InitConfig) BindPort() uint16 {
	if n := c.bindPort(); n != nil {
		return cmp.Or(portNumber(n.Value), defaultAPIPort)
	}
	return defaultAPIPort
}

// bindPort is that of the first node, or where the file is for nodes that join, theirs.
func (c *InitConfig) bindPort() *yaml.Node {
	if c.init == nil {
		return yamledit.At(c.join, "controlPlane", "localAPIEndpoint", "bindPort")
	}
	return yamledit.At(c.init, "localAPIEndpoint", "bindPort")
}

// certSANs are the further names in the apiserver's certificate.
func (c *InitConfig) certSANs() []string {
	var out []string
	if list := yamledit.At(c.cluster, "apiServer", "certSANs"); list != nil {
		for _, n := range list.Content {
			out = append(out, n.Value)
		}
	}
	return out
}

// extraArg is an argument of the apiserver: a mapping in v1beta3, a list of name and value in v1beta4.
func extraArg(component *yaml.Node, key, name string) (value string, line int) {
	args := yamledit.At(component, key)
	if v := yamledit.At(args, name); v != nil {
		return v.Value, v.Line
	}
	if args != nil && args.Kind == yaml.SequenceNode {
		for _, n := range args.Content {
			if yamledit.TextAt(n, "name") == name {
				return yamledit.TextAt(n, "value"), n.Line
			}
		}
	}
	return "", 0
}

// families are those of the services, IPv4 first or not; none when they are not given.
func (c *InitConfig) families() (v4, v6 bool) {
	for s := range strings.SplitSeq(yamledit.TextAt(c.cluster, "networking", "serviceSubnet"), ",") {
		if p, err := netip.ParsePrefix(strings.TrimSpace(s)); err == nil {
			v4, v6 = v4 || p.Addr().Is4(), v6 || p.Addr().Is6()
		}
	}
	return v4, v6
}

// missing are the virtual addresses that the apiserver's certificate does not name. Behind a name nobody asks for them.
func (c *InitConfig) missing(vips []netip.Addr) []string {
	if c.external.Host != "" { // kubeadm puts the endpoint into it
		return nil
	}
	host := cmp.Or(c.Endpoint().Host, vips[0].String())
	if _, err := netip.ParseAddr(host); err != nil {
		return nil
	}
	return c.unnamed(host, vips)
}

// unnamed are those of vips that the certificate names neither as the endpoint's host nor otherwise.
func (c *InitConfig) unnamed(host string, vips []netip.Addr) []string {
	var out []string
	for _, a := range vips {
		same := func(s string) bool { b, err := netip.ParseAddr(s); return err == nil && a == b }
		if !same(host) && !slices.ContainsFunc(c.certSANs(), same) {
			out = append(out, a.String())
		}
	}
	return out
}

// Complete is the configuration with what virtual addresses need: controlPlaneEndpoint and certSANs where they are missing, and where the
// load is spread the apiserver's goaway-chance, unless it has one. Every other line stays as it is. What contradicts the addresses is an error, as in [InitConfig.Fit].
func (c *InitConfig) Complete(vips []netip.Addr) ([]byte, error) {
	if err := c.contradictions(vips); err != nil {
		return nil, err
	}
	e, doc, sans := yamledit.New(c.text.Name(), c.text.Bytes()), c.clusterDoc, c.missing(vips)
	if c.cluster == nil {
		if err := e.Append(struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string `yaml:"kind"`
		}{cmp.Or(c.version, kubeadmAPI+"v1beta4"), "ClusterConfiguration"}); err != nil {
			return nil, err
		}
	}
	if c.Endpoint().Host == "" {
		endpoint := c.wanted(vips)
		if err := e.Set(doc, []string{"controlPlaneEndpoint"}, endpoint.String()); err != nil {
			return nil, err
		}
	}
	for _, san := range sans {
		if err := e.Add(doc, []string{"apiServer", "certSANs"}, san); err != nil {
			return nil, err
		}
	}
	if len(c.spread) > 0 {
		if err := addGoaway(e, doc, []string{"apiServer"}, c.version != kubeadmAPI+"v1beta3"); err != nil {
			return nil, err
		}
	}
	return e.Bytes(), nil
}

// wanted is the endpoint where there is none.
func (c *InitConfig) wanted(vips []netip.Addr) Endpoint {
	if c.external.Host != "" {
		return c.external
	}
	return Endpoint{Host: vips[0].String(), Port: c.BindPort()}
}

// orList is a, b or c.
func orList(vips []netip.Addr) string {
	var words []string
	for _, a := range vips {
		words = append(words, a.String())
	}
	return strings.Join(words, " or ")
}

// line is that of a value, or of what is around it.
func lineOf(nodes ...*yaml.Node) int {
	for _, n := range nodes {
		if n != nil {
			return n.Line
		}
	}
	return 0
}

package kubeadm

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// ControlPlaneConfig is the keepvip part of a Cluster API KubeadmControlPlane.
type ControlPlaneConfig struct {
	Name     string     // of the object, for a patch; "": one to be filled in
	Files    []File     // the manifest or the unit, a configuration
	Secrets  []Secret   // files that come from Secrets: the key
	Commands [][]string // run before kubeadm
	Endpoint Endpoint
	CertSANs []string // further virtual addresses, which the apiserver's certificate has to name
	Spread   bool     // the load is spread over the apiservers, which tell clients now and then to connect again
}

// Secret is a file whose contents stand in a Secret, in the namespace of the KubeadmControlPlane on the management cluster.
type Secret struct {
	Path      string // on the node; its mode is 0600
	Name, Key string // of the Secret, and in it
}

// Endpoint is where clients find the control plane.
type Endpoint struct {
	Host string // an address, a name, or a variable of clusterctl such as ${CONTROL_PLANE_ENDPOINT_IP}
	Port uint16
}

// String is host:port, with brackets around IPv6, or the host alone where the port is not known.
func (e Endpoint) String() string {
	if e.Port == 0 {
		return e.Host
	}
	if a, err := netip.ParseAddr(e.Host); err == nil && a.Is6() {
		return fmt.Sprintf("[%s]:%d", e.Host, e.Port)
	}
	return fmt.Sprintf("%s:%d", e.Host, e.Port)
}

// same tells whether clients of both come to the same place.
func (e Endpoint) same(o Endpoint) bool {
	a, err := netip.ParseAddr(e.Host)
	b, other := netip.ParseAddr(o.Host)
	if err == nil && other == nil {
		return a == b && e.Port == o.Port
	}
	return strings.EqualFold(strings.TrimSuffix(e.Host, "."), strings.TrimSuffix(o.Host, ".")) && e.Port == o.Port
}

type contentFrom struct {
	Secret secretRef `yaml:"secret"`
}

type secretRef struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

type controlPlane struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		KubeadmConfigSpec kubeadmConfigSpec `yaml:"kubeadmConfigSpec"`
	} `yaml:"spec"`
}

type kubeadmConfigSpec struct {
	ClusterConfiguration clusterPart `yaml:"clusterConfiguration"`
	Files                []fileEntry `yaml:"files"`
	PreKubeadmCommands   []string    `yaml:"preKubeadmCommands,omitempty"`
}

type clusterPart struct {
	APIServer            *apiServerPart `yaml:"apiServer,omitempty"`
	ControlPlaneEndpoint string         `yaml:"controlPlaneEndpoint"`
}

type apiServerPart struct {
	CertSANs  []string   `yaml:"certSANs,omitempty"`
	ExtraArgs []argument `yaml:"extraArgs,omitempty"`
}

const (
	controlPlaneAPI  = "controlplane.cluster.x-k8s.io/"
	controlPlaneHead = `# The keepvip part of a KubeadmControlPlane. Lists are to be joined with those that are there: a merge patch would replace them.
# With --template FILE the whole is written. The Cluster needs the same address in spec.controlPlaneEndpoint.
`
)

// ControlPlane renders the part as an object of its own, to be merged by hand or by a tool. With an error nothing is rendered.
func ControlPlane(cfg ControlPlaneConfig) ([]byte, error) {
	files, err := cfg.files()
	if err != nil {
		return nil, err
	}
	out := controlPlane{APIVersion: controlPlaneAPI + "v1beta2", Kind: "KubeadmControlPlane"}
	out.Metadata.Name = cfg.Name
	spec := &out.Spec.KubeadmConfigSpec
	spec.Files, spec.PreKubeadmCommands = files, cfg.commands()
	spec.ClusterConfiguration.ControlPlaneEndpoint = cfg.Endpoint.String()
	if len(cfg.CertSANs) > 0 || cfg.Spread {
		spec.ClusterConfiguration.APIServer = &apiServerPart{CertSANs: cfg.CertSANs}
	}
	if cfg.Spread {
		spec.ClusterConfiguration.APIServer.ExtraArgs = []argument{{goawayArg, goawayChance}}
	}
	return below(controlPlaneHead, out)
}

func (cfg ControlPlaneConfig) files() ([]fileEntry, error) {
	if cfg.Endpoint.Host == "" || cfg.Endpoint.Port == 0 {
		return nil, errors.New("kubeadm: no endpoint, want the virtual address and the apiserver's port")
	}
	if err := checkFiles(cfg.Files); err != nil {
		return nil, err
	}
	var out []fileEntry
	for _, f := range cfg.Files {
		out = append(out, entryOf(f, "base64"))
	}
	for _, s := range cfg.Secrets {
		if err := checkPath("secret file", s.Path); err != nil {
			return nil, err
		}
		if !secretName.MatchString(s.Name) || !secretKey.MatchString(s.Key) {
			return nil, fmt.Errorf("kubeadm: secret %q with the key %q, want the name of a Secret and of a key in it", s.Name, s.Key)
		}
		out = append(out, fileEntry{
			Path: s.Path, Owner: "root:root", Permissions: "0600", ContentFrom: &contentFrom{secretRef{s.Name, s.Key}},
		})
	}
	return out, nil
}

// Of a Secret (RFC 1123 subdomain), or a variable of clusterctl in it, and of a key in it.
var (
	secretName = regexp.MustCompile(`^([-a-z0-9.]|\$\{[A-Za-z0-9_]+\})+$`)
	secretKey  = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)
)

// commands are one line each, as Cluster API has them.
func (cfg ControlPlaneConfig) commands() []string {
	var out []string
	for _, c := range cfg.Commands {
		out = append(out, strings.Join(c, " "))
	}
	return out
}

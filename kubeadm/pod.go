package kubeadm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// ManifestPath is where the kubelet of a kubeadm cluster looks for static pods.
const ManifestPath = "/etc/kubernetes/manifests/keepvip.yaml"

// inlineVariable carries a configuration file's text into the pod.
const inlineVariable = "KEEPVIP_CONFIG_YAML"

// Node is how keepvip runs on a node, whether by a pod or by a unit of systemd. Paths are absolute and on the node.
type Node struct {
	Args       []string // flags for `keepvip run`, as "--vip=10.77.0.100"
	ConfigFile string   // a configuration file on the node; "": none
	Socket     string   // a pod sees its directory; a unit makes that, and may write it
	StateDir   string   // likewise

	// Follower is a host that is no member: it runs `keepvip follow`.
	Follower bool
	// Unsigned tells that a Follower has no key, and asks from a port that takes the capability NET_BIND_SERVICE.
	Unsigned bool

	Realtime bool // adds the capability SYS_NICE
	Tun      bool // sees /dev/net/tun: a route ends with the process that has a device open
}

// PodConfig is what a pod needs.
type PodConfig struct {
	Node

	Image      string // with a tag or a digest
	ConfigYAML []byte // a configuration file's text, carried in the manifest in place of ConfigFile
	// What the configuration names, because it has to be mounted. A file whose directory is called keepvip, such as
	// /etc/keepvip/key, is seen with its whole directory, so that replacing it is noticed; of any other directory the pod
	// sees that one file, as it was when the pod started.
	KeyFile     string
	SecretFiles []string // further keys, and passwords
	CAFiles     []string
	Watched     []string // files that may come and go: their directories are mounted
	Processes   bool     // sees the processes of the node
	Metrics     string   // host:port for the kubelet's probes; "": none
	// MetricsPort is where other hosts are told the metrics: a PodMonitor finds it by the name "metrics". 0: nowhere.
	MetricsPort int
}

// UnitConfig is what a unit of systemd needs.
type UnitConfig struct {
	Node

	Binary     string   // "/usr/bin/keepvip"
	Keepalived bool     // ConfigFile is a keepalived.conf
	Files      []string // what the configuration names, and has to be seen as others see it
	Writable   []string // directories that may be written, too, as others see them; made where they are missing
	SwitchUser bool     // adds the capabilities to run health checks and hooks as other users
	Chown      bool     // adds the capability to give the notify FIFO to another user
}

// podHead is a comment, which the kubelet ignores.
const podHead = `# keepvip as a static pod. The same file fits every control-plane node:
# put it there as ` + ManifestPath + ` before kubeadm init or join.
`

const podHeadFollower = `# keepvip follow as a static pod. The same file fits every worker:
# put it there as ` + ManifestPath + ` before kubeadm join.
`

// Pod renders a static pod. With an error nothing is rendered.
func Pod(cfg PodConfig) ([]byte, error) {
	spec, err := cfg.spec()
	if err != nil {
		return nil, err
	}
	// The class's value, too: no admission plugin sees a static pod before the kubelet decides about eviction.
	spec.Priority = 2000001000
	labels, head := map[string]string{nameLabel: cfg.name(), "component": "keepvip", "tier": "control-plane"}, podHead
	if cfg.Follower {
		delete(labels, "tier")
		head = podHeadFollower
	}
	out, err := yamledit.Marshal(pod{
		APIVersion: "v1", Kind: "Pod",
		Metadata: metadata{Name: cfg.name(), Namespace: "kube-system", Labels: labels},
		Spec:     spec,
	})
	if err != nil {
		return nil, fmt.Errorf("kubeadm: render the pod: %w", err)
	}
	return append([]byte(head), out...), nil
}

// name is that of the pod, or of the DaemonSet.
func (cfg PodConfig) name() string {
	if cfg.Follower {
		return "keepvip-follower"
	}
	return "keepvip"
}

// nameLabel is a label that every object has.
const nameLabel = "app.kubernetes.io/name"

// spec is the part that a static pod and a DaemonSet share.
func (cfg PodConfig) spec() (podSpec, error) {
	if err := cfg.validate(); err != nil {
		return podSpec{}, err
	}
	probes, err := probesAt(cfg.Metrics)
	if err != nil {
		return podSpec{}, err
	}
	m, err := cfg.mounts()
	if err != nil {
		return podSpec{}, err
	}
	c := container{
		Name: "keepvip", Image: cfg.Image, ImagePullPolicy: "IfNotPresent",
		Args: cfg.args(), Env: cfg.env(), Ports: cfg.ports(),
		LivenessProbe: probes.live, ReadinessProbe: probes.ready, StartupProbe: probes.startup,
		Resources: resources{
			// No CPU limit: throttling an election is an outage.
			Limits:   map[string]string{"memory": "128Mi"},
			Requests: map[string]string{"cpu": "100m", "memory": "32Mi"},
		},
		SecurityContext: confined(cfg.Realtime, cfg.Follower && cfg.Unsigned), VolumeMounts: m.mounts,
	}
	return podSpec{
		Containers:                    []container{c},
		DNSPolicy:                     "Default",
		HostNetwork:                   true,
		HostPID:                       cfg.Processes,
		PriorityClassName:             "system-node-critical",
		TerminationGracePeriodSeconds: 10,
		Tolerations:                   []toleration{{Operator: "Exists"}},
		Volumes:                       m.volumes,
		// EnableServiceLinks stays false: a Service called keepvip would set KEEPVIP_PORT to something else.
	}, nil
}

// confined is root without its powers: file capabilities do not survive no-new-privileges, so root it must be.
func confined(realtime, lowPort bool) securityContext {
	add := []string{"NET_ADMIN", "NET_RAW"}
	if realtime {
		add = append(add, "SYS_NICE")
	}
	if lowPort {
		add = append(add, "NET_BIND_SERVICE")
	}
	return securityContext{
		Capabilities:           capabilities{Add: add, Drop: []string{"ALL"}},
		ReadOnlyRootFilesystem: true,
		SeccompProfile:         seccompProfile{Type: "RuntimeDefault"},
	}
}

func (cfg PodConfig) validate() error {
	if err := checkImage(cfg.Image); err != nil {
		return err
	}
	if len(cfg.ConfigYAML) > 0 && cfg.ConfigFile != "" {
		return errors.New("kubeadm: a configuration both inline and as a file, want one of them")
	}
	if len(cfg.Args) == 0 && len(cfg.ConfigYAML) == 0 && cfg.ConfigFile == "" {
		return errors.New("kubeadm: neither arguments nor a configuration, want one of them")
	}
	return nil
}

func (cfg PodConfig) args() []string {
	args := []string{"run"}
	if cfg.Follower {
		args = []string{"follow"}
	}
	if cfg.ConfigFile != "" {
		args = append(args, "--config="+literal(cfg.ConfigFile))
	}
	for _, a := range cfg.Args {
		args = append(args, literal(a))
	}
	return args
}

func (cfg PodConfig) env() []envVar {
	if len(cfg.ConfigYAML) == 0 {
		return nil
	}
	return []envVar{{Name: inlineVariable, Value: literal(string(cfg.ConfigYAML))}}
}

func (cfg PodConfig) ports() []port {
	if cfg.MetricsPort == 0 {
		return nil
	}
	return []port{{Name: "metrics", ContainerPort: cfg.MetricsPort}}
}

// literal keeps the kubelet from expanding $(NAME) in arguments and variables.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

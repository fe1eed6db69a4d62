//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	manifestPath = "etc/kubernetes/manifests/keepvip.yaml"
	kubeadmPath  = "etc/kubernetes/kubeadm.yaml"
	adminConf    = "/etc/kubernetes/admin.conf"

	workRoot = "/var/tmp/keepvip-e2e-" // and the number of the process
)

// cluster is three machines, and what is put on each of them.
type cluster struct {
	lab      *lab.Lab
	machines []*machine
	dir      string
	tools    tools
	kubeadm  string // which kubeadm
	sandbox  string // the image of the pods' sandboxes
	images   []string
	image    string // keepvip's, by its name in containerd
	manifest []byte // keepvip's static pod, the same bytes for every machine
	config   []byte // kubeadm's
	join     string // the command that kubeadm init printed for control planes

	initTook  time.Duration
	joinsTook []time.Duration
}

// newCluster makes machines that are switched off, and images for them.
func newCluster(host *lab.Host, tools tools, kubeadm string) (*cluster, error) {
	sweepDead()
	c := &cluster{tools: tools, kubeadm: kubeadm, dir: workRoot + strconv.Itoa(os.Getpid())}
	if err := c.build(host); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cluster) build(host *lab.Host) (err error) {
	defer try.Catch(&err)
	try.Do(os.MkdirAll(c.dir, 0o700))
	c.lab = try.Get(host.Open(lab.Config{OffLink: true}))
	try.Do(c.makeImages())
	hosts := ""
	for _, n := range c.lab.Nodes {
		hosts += fmt.Sprintf("%s %s\n", n.Address, n.Label)
	}
	for _, n := range c.lab.Nodes {
		c.machines = append(c.machines, try.Get(newMachine(n, c.dir, c.sandbox, hosts, c.tools)))
	}
	return nil
}

// close switches all machines off and removes them.
func (c *cluster) close() {
	for _, m := range c.machines {
		m.remove()
	}
	if c.lab != nil {
		c.lab.Close()
	}
	for range 50 { // mounts end with the last process, a moment later
		if os.RemoveAll(c.dir) == nil {
			return
		}
		pause(100 * time.Millisecond)
	}
}

// sweepDead removes the directories and control groups of runs that were killed.
func sweepDead() {
	dirs, _ := filepath.Glob(workRoot + "*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(strings.TrimPrefix(dir, workRoot))
		if err != nil || unix.Kill(pid, 0) == nil {
			continue
		}
		for _, label := range []string{"n1", "n2", "n3"} {
			removeGroup(groupName(pid, label))
		}
		_ = os.RemoveAll(dir)
	}
}

// boot switches a machine on for the first time, with all images.
func (c *cluster) boot(m *machine) (err error) {
	defer try.Catch(&err)
	try.Do(m.boot())
	for _, image := range append(c.images, c.tools.image) {
		try.Get(m.run("ctr", "-n", "k8s.io", "images", "import", image))
	}
	if c.image != "" {
		return nil
	}
	names, err := m.run("ctr", "-n", "k8s.io", "images", "list", "-q")
	for _, name := range strings.Fields(names) {
		if strings.Contains(name, "/keepvip:") {
			c.image = name
		}
	}
	if err == nil && c.image == "" {
		err = fmt.Errorf("e2e: %s holds no image of keepvip", c.tools.image)
	}
	return err
}

// drop puts the manifest on a machine, as it is, before kubeadm was ever run.
func (c *cluster) drop(m *machine) (err error) {
	defer try.Say(&err, "e2e: manifest")
	try.Do(os.MkdirAll(filepath.Dir(m.file(manifestPath)), 0o755))
	return os.WriteFile(m.file(manifestPath), c.manifest, 0o600)
}

// kubectl runs kubectl on the first machine that is on, with the kubeconfig for people.
func (c *cluster) kubectl(args ...string) (string, error) {
	for _, m := range c.machines {
		if m.init != nil {
			return m.run(append([]string{filepath.Join(c.tools.bin, "kubectl"), "--kubeconfig", adminConf, "--request-timeout=5s"}, args...)...)
		}
	}
	return "", fmt.Errorf("e2e: no machine is on")
}

// holders are the machines that have the address.
func (c *cluster) holders() []*machine {
	return slices.DeleteFunc(slices.Clone(c.machines), func(m *machine) bool { return !m.Holds(lab.VIP4) })
}

// ready reports whether the apiserver answers at the machine's own address.
func (c *cluster) ready(m *machine) bool {
	_, err := c.lab.Ask(c.lab.Client.Namespace, m.Address, "/readyz", 2*time.Second)
	return err == nil
}

// settle waits until every machine that is on has an apiserver that is ready and
// a keepvip that takes part, and one of them has the address alone for a second.
func (c *cluster) settle(limit time.Duration) (*machine, error) {
	var holder *machine
	var since time.Time
	for end := time.Now().Add(limit); time.Now().Before(end); pause(100 * time.Millisecond) {
		holders := c.holders()
		if len(holders) != 1 || !c.allReady() {
			holder = nil
			continue
		}
		if holder != holders[0] {
			holder, since = holders[0], time.Now()
		}
		if time.Since(since) > time.Second {
			return holder, nil
		}
	}
	return nil, fmt.Errorf("e2e: not settled within %v:\n%s", limit, c.describe())
}

func (c *cluster) allReady() bool {
	return !slices.ContainsFunc(c.machines, func(m *machine) bool {
		if m.init == nil {
			return false
		}
		s, err := m.status()
		return err != nil || !s.Eligible || !c.ready(m)
	})
}

// describe is what one wants to know when something does not come.
func (c *cluster) describe() string {
	var b strings.Builder
	for _, m := range c.machines {
		if m.init == nil {
			fmt.Fprintf(&b, "%s is off\n", m.Label)
			continue
		}
		s, err := m.status()
		fmt.Fprintf(&b, "%s: apiserver ready %v, keepvip %+v %v\n%s%s%s", m.Label, c.ready(m), s, err, m.podLog("keepvip"), m.podLog("kube-apiserver"), m.logs("kubelet.log"))
	}
	return b.String()
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// kubeadmConfig is what people have before they know of a virtual address. The
// kubelet's part is what a machine on somebody else's kernel needs.
const kubeadmConfig = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: %s
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 1Mi, nodefs.available: 0%%, imagefs.available: 0%%}
`

// ignored is what kubeadm has against control groups of version 1.
const ignored = "--ignore-preflight-errors=SystemVerification"

// print has keepvip make the manifest, and complete kubeadm's configuration.
func (c *cluster) print() (err error) {
	defer try.Say(&err, "e2e: kubeadm configuration")
	given := filepath.Join(c.dir, "kubeadm.yaml")
	try.Do(os.WriteFile(given, fmt.Appendf(nil, kubeadmConfig, c.tools.version), 0o644))
	if c.manifest, err = output(c.tools.keepvip, "manifest", "pod", "--vip", lab.VIP4.String(), "--image", c.image); err != nil {
		return err
	}
	c.config, err = output(c.tools.keepvip, "manifest", "pod", "--vip", lab.VIP4.String(), "--image", c.image, "--kubeadm-config", given, "--print-kubeadm")
	return err
}

// init runs kubeadm init on the first machine.
func (c *cluster) init() (err error) {
	defer try.Catch(&err)
	m := c.machines[0]
	try.Do(c.boot(m))
	try.Do(c.print())
	try.Do(c.drop(m))
	try.Do(os.WriteFile(m.file(kubeadmPath), c.config, 0o644))
	began := time.Now()
	out, err := m.run(filepath.Join(c.tools.bin, c.kubeadm), "init", "--config", "/"+kubeadmPath, "--upload-certs", "--skip-phases=addon", ignored)
	c.initTook = time.Since(began)
	if err != nil {
		return fmt.Errorf("%w\n%s%s", err, m.logs("kubelet.log"), m.logs("containerd.log"))
	}
	c.join, err = joinCommand(out)
	return err
}

// joinCommand finds the command for control planes in what kubeadm init prints.
func joinCommand(out string) (string, error) {
	flat := strings.ReplaceAll(out, "\\\n", " ")
	found := regexp.MustCompile(`kubeadm (join \S+ .*--control-plane .*)`).FindStringSubmatch(flat)
	if found == nil {
		return "", fmt.Errorf("e2e: kubeadm init printed no command for control planes:\n%s", out)
	}
	return strings.Join(strings.Fields(found[1]), " "), nil
}

// joins makes a control plane of a machine, with the command that init printed.
func (c *cluster) joins(m *machine) (err error) {
	defer try.Catch(&err)
	try.Do(c.boot(m))
	try.Do(c.drop(m))
	began := time.Now()
	_, err = m.run(append(append([]string{filepath.Join(c.tools.bin, c.kubeadm)}, strings.Fields(c.join)...), ignored)...)
	c.joinsTook = append(c.joinsTook, time.Since(began))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, m.logs("kubelet.log"))
	}
	return nil
}

// form makes the cluster: init on the first machine, and the others join.
func (c *cluster) form() (err error) {
	defer try.Catch(&err)
	try.Do(c.init())
	for _, m := range c.machines[1:] {
		try.Do(c.joins(m))
	}
	return try.Err(c.settle(3 * time.Minute))
}

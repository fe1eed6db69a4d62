//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// tools are the programs and the image under test; `make e2e-kubeadm` makes
// them all and says where they are.
type tools struct {
	bin     string // directory of Kubernetes' and etcd's programs
	image   string // keepvip's image archive
	keepvip string // keepvip itself, to print manifests
	version string // of Kubernetes
}

func findTools() (_ tools, err error) {
	defer try.Catch(&err)
	t := tools{bin: os.Getenv("KEEPVIP_E2E_BIN"), image: os.Getenv("KEEPVIP_E2E_IMAGE")}
	if t.bin == "" || t.image == "" {
		return t, fmt.Errorf("e2e: KEEPVIP_E2E_BIN and KEEPVIP_E2E_IMAGE are not set: run `make e2e-kubeadm`")
	}
	if os.Geteuid() != 0 {
		return t, fmt.Errorf("e2e: this makes machines: run it as root (sudo make e2e-kubeadm)")
	}
	t.keepvip = try.Get(trial.Binary())
	for _, name := range []string{"containerd", "ctr", "runc", "ip", "nft", "nsenter", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			return t, fmt.Errorf("e2e: %w: run `make e2e-kubeadm`", err)
		}
	}
	t.version = strings.TrimSpace(string(try.Get(output(filepath.Join(t.bin, "kubeadm"), "version", "-o", "short"))))
	return t, nil
}

// output is what a program prints.
func output(program string, args ...string) ([]byte, error) {
	out, err := exec.Command(program, args...).Output()
	if failed, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("e2e: %s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
	}
	return out, nil
}

// makeImages makes an image for each program of the control plane, under the
// name that kubeadm gives it, and one for the sandboxes.
func (c *cluster) makeImages() (err error) {
	defer try.Catch(&err)
	out := try.Get(output(filepath.Join(c.tools.bin, c.kubeadm), "config", "images", "list", "--kubernetes-version", c.tools.version))
	sandbox := filepath.Join(c.dir, "pause")
	try.Do(c.buildPause(sandbox))
	for _, name := range strings.Fields(string(out)) {
		base, _, _ := strings.Cut(filepath.Base(name), ":")
		program := filepath.Join(c.tools.bin, base)
		if base == "pause" {
			c.sandbox, program = name, sandbox
		}
		if _, err := os.Stat(program); err != nil {
			continue // an addon
		}
		to := filepath.Join(c.dir, base+".tar")
		try.Do(writeImage(to, name, program))
		c.images = append(c.images, to)
	}
	if c.sandbox == "" {
		return fmt.Errorf("e2e: kubeadm names no image for sandboxes: %s", out)
	}
	return nil
}

func (c *cluster) buildPause(to string) (err error) {
	defer try.Catch(&err)
	dir := try.Get(trial.Root())
	cmd := exec.Command("go", "build", "-trimpath", "-o", to, "./netns-tests/e2e/pause")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("e2e: build pause: %w: %s", err, out)
	}
	return nil
}

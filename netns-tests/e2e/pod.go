//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// status asks the machine's keepvip, by the socket that the pod shares with it:
// that costs less than a process in its container.
func (m *machine) status() (trial.VIPStatus, error) {
	out, err := m.run(m.keepvip, "status", "-o", "json")
	if err != nil && out == "" { // a fault or a conflict has an exit code, beside an answer
		return trial.VIPStatus{}, err
	}
	var s trial.Status
	if err := json.Unmarshal([]byte(out), &s); err != nil || len(s.VIPs) != 1 {
		return trial.VIPStatus{}, fmt.Errorf("e2e: keepvip status on %s: %v: %s", m.Label, err, out)
	}
	return s.VIPs[0], nil
}

// inPod runs a command of keepvip inside its running container.
func (m *machine) inPod(args ...string) (_ string, err error) {
	defer try.Catch(&err)
	id := try.Get(m.container("keepvip"))
	exec := fmt.Sprintf("e2e-%d", m.execs.Add(1))
	return m.run(append([]string{"ctr", "-n", "k8s.io", "tasks", "exec", "--exec-id", exec, id, "/keepvip"}, args...)...)
}

// container is the id of the running container of that name: a process's
// control group ends in it.
func (m *machine) container(name string) (string, error) {
	for _, pid := range m.pids(name) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err != nil {
			continue
		}
		line, _, _ := strings.Cut(string(text), "\n")
		id := filepath.Base(line)
		if len(id) == 64 {
			return id, nil
		}
	}
	return "", fmt.Errorf("e2e: no container runs %s on %s", name, m.Label)
}

// podLog is the end of the newest log of a static pod.
func (m *machine) podLog(name string) string {
	logs, _ := filepath.Glob(filepath.Join(m.data, "overlay/var/log/pods", "kube-system_"+name+"-*", name, "*.log"))
	if len(logs) == 0 {
		return fmt.Sprintf("--- no log of %s on %s\n", name, m.Label)
	}
	newest := slices.MaxFunc(logs, func(a, b string) int {
		return int(modified(a) - modified(b))
	})
	rel, _ := filepath.Rel(m.data, newest)
	return m.logs(rel)
}

func modified(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

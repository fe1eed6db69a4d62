//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

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

const cgroupRoot = "/sys/fs/cgroup"

// hierarchies are the directories in which a control group has to be made.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		controllers := filepath.Join(cgroupRoot, "cgroup.subtree_control")
		for _, c := range []string{"+cpuset", "+cpu", "+memory", "+pids", "+io", "+hugetlb"} {
			_ = os.WriteFile(controllers, []byte(c), 0o644) // what is not there the kubelet will name
		}
		return []string{cgroupRoot}, nil
	}
	found, err := filepath.Glob(cgroupRoot + "/*/cgroup.procs")
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("e2e: no control groups in %s", cgroupRoot)
	}
	var out []string
	for _, f := range found {
		out = append(out, filepath.Dir(f))
	}
	return out, err
}

// makeGroup makes a control group for a machine, on the processors that this
// process may use: whoever confined the tests to some means their containers, too.
func makeGroup(name string) (err error) {
	defer try.Say(&err, "e2e: control group")
	all := try.Get(hierarchies())
	for _, h := range all {
		dir := filepath.Join(h, name)
		try.Do(os.MkdirAll(dir, 0o755))
		// A machine is no process among the others of this one: it gets the weight of many.
		_ = os.WriteFile(filepath.Join(dir, "cpu.shares"), []byte("20480"), 0o644)
		_ = os.WriteFile(filepath.Join(dir, "cpu.weight"), []byte("2000"), 0o644)
		if mems, err := os.ReadFile(filepath.Join(h, "cpuset.mems")); err == nil {
			try.Do(errors.Join(
				os.WriteFile(filepath.Join(dir, "cpuset.mems"), mems, 0o644),
				os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte(processors()), 0o644),
			))
		}
	}
	return nil
}

func processors() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return ""
	}
	var list []string
	for i := range 1024 {
		if set.IsSet(i) {
			list = append(list, fmt.Sprint(i))
		}
	}
	return strings.Join(list, ",")
}

// removeGroup removes the group and those in it; the kernel empties them in its
// own time after the last process.
func removeGroup(name string) {
	all, _ := hierarchies()
	for _, h := range all {
		for range 50 {
			if removeTree(filepath.Join(h, name)) {
				break
			}
			pause(100 * time.Millisecond)
		}
	}
}

func removeTree(root string) (gone bool) {
	var dirs []string
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, p)
		}
		return nil
	})
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = os.Remove(dirs[i])
	}
	_, err := os.Stat(root)
	return errors.Is(err, fs.ErrNotExist)
}

// pause lets real time pass: what is waited for happens in other processes.
func pause(d time.Duration) { <-time.After(d) }

// writeImage writes an image with one static program, /usr/local/bin/PROGRAM, as
// the archive that `docker save` writes and `ctr images import` reads.
func writeImage(to, name, program string) (err error) {
	defer try.Catch(&err)
	layer, err := os.CreateTemp(path.Dir(to), "layer")
	if err != nil {
		return fmt.Errorf("e2e: image %s: %w", name, err)
	}
	defer os.Remove(layer.Name())
	defer layer.Close()
	hash := sha256.New()
	if err := writeLayer(io.MultiWriter(layer, hash), program); err != nil {
		return fmt.Errorf("e2e: image %s: %w", name, err)
	}
	diff := hex.EncodeToString(hash.Sum(nil))
	binary := "/usr/local/bin/" + path.Base(program)
	config := try.Get(json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Env": []string{"PATH=/usr/local/bin"}, "Entrypoint": []string{binary}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + diff}},
	}))
	return writeArchive(to, name, config, layer, diff+"/layer.tar")
}

func writeLayer(w io.Writer, program string) (err error) {
	defer try.Catch(&err)
	f := try.Get(os.Open(program))
	defer f.Close()
	info := try.Get(f.Stat())
	t := tar.NewWriter(w)
	for _, dir := range []string{"usr/", "usr/local/", "usr/local/bin/", "tmp/"} {
		try.Do(t.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}))
	}
	try.Do(t.WriteHeader(&tar.Header{Name: "usr/local/bin/" + path.Base(program), Mode: 0o755, Size: info.Size()}))
	try.Get(io.Copy(t, f))
	return t.Close()
}

func writeArchive(to, name string, config []byte, layer *os.File, layerName string) (err error) {
	defer try.Catch(&err)
	sum := sha256.Sum256(config)
	configName := hex.EncodeToString(sum[:]) + ".json"
	manifest := try.Get(json.Marshal([]map[string]any{{"Config": configName, "RepoTags": []string{name}, "Layers": []string{layerName}}}))
	size := try.Get(layer.Seek(0, io.SeekEnd))
	try.Get(layer.Seek(0, io.SeekStart))
	out := try.Get(os.Create(to))
	defer out.Close()
	t := tar.NewWriter(out)
	for _, f := range []struct {
		name string
		size int64
		from io.Reader
	}{
		{configName, int64(len(config)), bytes.NewReader(config)},
		{layerName, size, layer},
		{"manifest.json", int64(len(manifest)), bytes.NewReader(manifest)},
	} {
		try.Do(t.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: f.size}))
		try.Get(io.Copy(t, f.from))
	}
	return t.Close()
}

package kubeadm

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// mounts collects the pod's host paths, each under its own path inside.
type mounts struct {
	volumes []volume
	mounts  []volumeMount
}

func (cfg PodConfig) mounts() (mounts, error) {
	var m mounts
	// What keepvip writes is always mounted: a hold must survive a reboot, and status needs the socket.
	if err := m.directory("run", "socket", cfg.Socket, path.Dir(cfg.Socket), false); err != nil {
		return mounts{}, err
	}
	if err := m.directory("state", "state directory", cfg.StateDir, cfg.StateDir, false); err != nil {
		return mounts{}, err
	}
	files := []namedFile{{"config", cfg.ConfigFile}, {"key", cfg.KeyFile}}
	files = append(files, numbered("secret", cfg.SecretFiles)...)
	files = append(files, numbered("ca", cfg.CAFiles)...)
	for _, f := range files {
		if f.path == "" {
			continue
		}
		if err := m.file(f.name, f.path); err != nil {
			return mounts{}, err
		}
	}
	if cfg.Tun {
		m.add("tun", "/dev/net/tun", "CharDevice", false)
	}
	for _, f := range cfg.Watched { // they need not be there
		if err := m.directory("watched", "watched file", f, path.Dir(f), true); err != nil {
			return mounts{}, err
		}
	}
	return m, nil
}

// namedFile is a file with the name of its volume.
type namedFile struct{ name, path string }

// numbered names each file once: the first alone, the others with their number.
func numbered(name string, paths []string) []namedFile {
	var out []namedFile
	for i, p := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		volume := name
		if i > 0 {
			volume = fmt.Sprintf("%s-%d", name, i+1)
		}
		out = append(out, namedFile{volume, p})
	}
	return out
}

// directory mounts the directory of a path, made where it is missing. One that others use as well is refused.
func (m *mounts) directory(name, what, p, dir string, readOnly bool) error {
	if err := checkPath(what, p); err != nil {
		return err
	}
	if strings.Count(dir, "/") < 2 {
		return fmt.Errorf("kubeadm: %s %s, want a directory of its own such as /run/keepvip: the pod would see all of %s", what, p, dir)
	}
	if !m.covers(p) {
		m.add(name, dir, "DirectoryOrCreate", readOnly)
	}
	return nil
}

// file mounts one file read-only. A bind mount of a file shows that inode for ever, also when the file is replaced by a
// rename, so a directory of our own is mounted whole. Others may hold what the pod has no business with.
func (m *mounts) file(name, file string) error {
	if err := checkPath(name+" file", file); err != nil {
		return err
	}
	dir := path.Dir(file)
	switch {
	case m.covers(file):
	case path.Base(dir) == "keepvip":
		m.add("etc", dir, "Directory", true)
	default:
		m.add(name, file, "File", true)
	}
	return nil
}

// covers tells that a path is seen already.
func (m *mounts) covers(p string) bool {
	return slices.ContainsFunc(m.volumes, func(v volume) bool {
		return p == v.HostPath.Path || strings.HasPrefix(p, v.HostPath.Path+"/")
	})
}

func (m *mounts) add(name, p, kind string, readOnly bool) {
	if slices.ContainsFunc(m.volumes, func(v volume) bool { return v.Name == name }) {
		name = fmt.Sprintf("%s-%d", name, len(m.volumes))
	}
	m.volumes = append(m.volumes, volume{Name: name, HostPath: hostPath{Path: p, Type: kind}})
	m.mounts = append(m.mounts, volumeMount{Name: name, MountPath: p, ReadOnly: readOnly})
}

// checkPath refuses what would mean something else, or nothing, on the node. A mount path may not hold a colon.
func checkPath(what, p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsAny(p, ":\n\r\t\x00") {
		return fmt.Errorf("kubeadm: %s %q, want an absolute, clean path on the node", what, p)
	}
	return nil
}

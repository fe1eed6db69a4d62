package gather

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

const (
	kubeletName = "kubelet"
	kubeletPort = "10250"
	staticPods  = "/etc/kubernetes/manifests/"
)

// kubeletFiles have flags of the kubelet, where it does not run or is not seen: kubeadm's own, and those of the packages for a person.
func kubeletFiles() []string {
	return []string{"/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "/etc/sysconfig/kubelet"}
}

// kubelet is nil where there is none, as far as this process sees.
func kubelet(
	ctx context.Context, root string, resolve func(context.Context, string) []netip.Addr, read func(context.Context, *url.URL, *doctor.Serving) error,
) *doctor.Kubelet {
	flags, from := kubeletFlags(root)
	if from == "" {
		return nil
	}
	k := &doctor.Kubelet{From: from, Name: flagOf(flags, "--hostname-override")}
	for s := range strings.SplitSeq(flagOf(flags, "--node-ip"), ",") {
		if a, err := netip.ParseAddr(strings.TrimSpace(s)); err == nil && !a.IsUnspecified() { // which would name a family alone
			k.NodeIPs = append(k.NodeIPs, a.Unmap())
		}
	}
	if k.Name == "" {
		name, _ := regular.Read(filepath.Join(root, "/proc/sys/kernel/hostname"), mostText)
		k.Name = strings.ToLower(strings.TrimSpace(string(name)))
	}
	if len(k.NodeIPs) == 0 && k.Name != "" {
		k.Resolves = resolve(ctx, k.Name)
	}
	at := "127.0.0.1"
	if len(k.NodeIPs) > 0 {
		at = k.NodeIPs[0].String()
	}
	u := &url.URL{Scheme: "https", Host: net.JoinHostPort(at, kubeletPort)}
	if s := (doctor.Serving{URL: u.String()}); read(ctx, u, &s) == nil {
		k.Serving = &s
	}
	_, k.Verified = podFlag(root, "kube-apiserver.yaml", "--kubelet-certificate-authority")
	return k
}

// kubeletFlags are those of the kubelet that runs, or those that files have for it, and which of these it was; "": there is no kubelet.
func kubeletFlags(root string) (flags []string, from string) {
	dirs, _ := filepath.Glob(filepath.Join(root, "/proc/[0-9]*"))
	for _, dir := range dirs {
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil || strings.TrimSpace(string(comm)) != kubeletName {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && len(line) > 0 {
			return strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"), "by its command line"
		}
	}
	for _, file := range kubeletFiles() {
		text, err := regular.Read(filepath.Join(root, file), mostText)
		if err != nil {
			continue
		}
		from = cmp.Or(from, "by "+file)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
				flags = append(flags, strings.FieldsFunc(line, func(r rune) bool { return r == '"' || r == '\'' || r == ' ' || r == '\t' })...)
			}
		}
	}
	return flags, from
}

// flagOf is the last value of a flag, as --flag=value or in two words.
func flagOf(flags []string, name string) (value string) {
	for i, f := range flags {
		if v, ok := strings.CutPrefix(f, name+"="); ok {
			value = v
		} else if f == name && i+1 < len(flags) {
			value = flags[i+1]
		}
	}
	return value
}

// flagAt is a value of a flag in a file of a static pod.
type flagAt struct {
	file  string
	line  int
	value string
}

// podFlag is the value of a flag of a static pod.
func podFlag(root, file, flag string) (flagAt, bool) {
	file = staticPods + file
	text, err := regular.Read(filepath.Join(root, file), mostText)
	if err != nil {
		return flagAt{}, false
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if v, ok := strings.CutPrefix(strings.Trim(strings.TrimSpace(line), `-"' `), strings.TrimLeft(flag, "-")+"="); ok {
			return flagAt{file, n, v}, true
		}
	}
	return flagAt{}, false
}

// clusterSubnets are those of services and pods, as the static pods of this node have them.
func clusterSubnets(root string) (out []doctor.ClusterSubnet) {
	for _, of := range [][2]string{{"kube-apiserver.yaml", "--service-cluster-ip-range"}, {"kube-controller-manager.yaml", "--cluster-cidr"}} {
		found, ok := podFlag(root, of[0], of[1])
		if !ok {
			continue
		}
		for s := range strings.SplitSeq(found.value, ",") {
			if p, err := netip.ParsePrefix(strings.TrimSpace(s)); err == nil {
				out = append(out, doctor.ClusterSubnet{File: found.file, Line: found.line, Flag: of[1], Subnet: p})
			}
		}
	}
	return out
}

// certificateFiles are kubeadm's, and those that options of keepvip name. What this user may not read says nothing.
func certificateFiles(root string, cfg *config.Config, now time.Time) (out []doctor.CertificateFile) {
	add := func(file string, text []byte, own bool) {
		if ends, ok := endOf(text); ok {
			out = append(out, doctor.CertificateFile{File: file, Ends: ends, Left: ends.Sub(now), Own: own})
		}
	}
	for _, pattern := range []string{"/etc/kubernetes/pki/*.crt", "/etc/kubernetes/pki/etcd/*.crt", "/var/lib/kubelet/pki/kubelet-client-current.pem"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, path := range found {
			if text, err := regular.Read(path, mostText); err == nil {
				add(strings.TrimPrefix(path, root), text, false)
			}
		}
	}
	for _, name := range []string{"admin", "super-admin", "controller-manager", "scheduler"} {
		file := "/etc/kubernetes/" + name + ".conf"
		if text, err := regular.Read(filepath.Join(root, file), mostText); err == nil {
			add(file, embedded(text), false)
		}
	}
	var named []string
	for _, v := range cfg.VIPs {
		for _, c := range v.AllChecks() {
			named = append(named, c.ClientCert)
		}
	}
	for _, path := range append(named, cfg.Raft.Certificate, cfg.Metrics.Certificate) {
		if path == "" || slices.ContainsFunc(out, func(c doctor.CertificateFile) bool { return c.File == path }) {
			continue
		}
		if text, err := regular.Read(path, mostText); err == nil {
			add(path, text, true)
		}
	}
	return out
}

// embedded is the client's certificate in a kubeconfig.
func embedded(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if v, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("client-certificate-data:")); ok {
			out, _ := base64.StdEncoding.DecodeString(string(bytes.Trim(v, ` "'`)))
			return out
		}
	}
	return nil
}

// endOf is when the first certificate in a text expires: the others are of its issuers.
func endOf(text []byte) (time.Time, bool) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}, false
		}
		return c.NotAfter, true
	}
	return time.Time{}, false
}

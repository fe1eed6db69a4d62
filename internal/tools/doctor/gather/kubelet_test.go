package gather

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

func TestKubeletIsRead(t *testing.T) {
	own, named := netip.MustParseAddr("10.0.0.11"), netip.MustParseAddr("10.0.0.12")
	resolve := func(_ context.Context, name string) []netip.Addr {
		assert.Equal(t, "n1", name)
		return []netip.Addr{named}
	}
	var asked string
	read := func(_ context.Context, u *url.URL, s *doctor.Serving) error {
		asked = u.Host
		s.DNS = []string{"n1"}
		return nil
	}
	look := func(files map[string]string) *doctor.Kubelet {
		root := t.TempDir()
		for path, text := range files {
			write(t, root+path, text)
		}
		return kubelet(t.Context(), root, resolve, read)
	}
	const host, env = "/proc/sys/kernel/hostname", "/var/lib/kubelet/kubeadm-flags.env"
	assert.Nil(t, look(map[string]string{host: "N1\n", "/proc/7/comm": "kubelet-wrapper\n", "/proc/7/cmdline": "kubelet\x00"}))

	serving := &doctor.Serving{URL: "https://10.0.0.11:10250", DNS: []string{"n1"}}
	running := map[string]string{
		host: "N1\n", "/proc/7/comm": "kubelet\n", "/proc/7/cmdline": "/usr/bin/kubelet\x00--node-ip\x00" + own.String() + "\x00--v=2\x00",
		env: "KUBELET_KUBEADM_ARGS=\"--node-ip=10.9.9.9\"\n", staticPods + "kube-apiserver.yaml": "  - kube-apiserver\n    - --kubelet-certificate-authority=/ca\n",
	}
	assert.Equal(t, &doctor.Kubelet{From: "by its command line", Name: "n1", NodeIPs: []netip.Addr{own}, Serving: serving, Verified: true}, look(running))
	assert.Equal(t, "10.0.0.11:10250", asked)

	serving = &doctor.Serving{URL: "https://127.0.0.1:10250", DNS: []string{"n1"}}
	assert.Equal(t, &doctor.Kubelet{From: "by " + env, Name: "n1", Resolves: []netip.Addr{named}, Serving: serving}, look(map[string]string{
		host: "n1", env: "# --node-ip=10.0.0.11\nKUBELET_KUBEADM_ARGS=\"--v=2 --node-ip=::\"\n",
	}), "the unspecified address names a family")
	found := look(map[string]string{host: "n1", env: "KUBELET_KUBEADM_ARGS=\"--v=2\"\n", "/etc/default/kubelet": "KUBELET_EXTRA_ARGS='--node-ip=10.0.0.11,fd00::b'\n"})
	assert.Equal(t, []netip.Addr{own, netip.MustParseAddr("fd00::b")}, found.NodeIPs)

	found = kubelet(t.Context(), func() string { root := t.TempDir(); write(t, root+env, ""); return root }(), resolve,
		func(context.Context, *url.URL, *doctor.Serving) error { return errors.New("refused") })
	assert.Equal(t, &doctor.Kubelet{From: "by " + env}, found)
}

func TestClusterSubnetsOfStaticPods(t *testing.T) {
	root := t.TempDir()
	assert.Empty(t, clusterSubnets(root))
	write(t, root+staticPods+"kube-apiserver.yaml", "spec:\n  containers:\n  - command:\n    - kube-apiserver\n    - --service-cluster-ip-range=10.96.0.0/16,fd96::/108\n")
	write(t, root+staticPods+"kube-controller-manager.yaml", "    - \"--cluster-cidr=10.244.0.0/16\"\n    - --cluster-cidr-x=1\n")
	const services, pods = "--service-cluster-ip-range", "--cluster-cidr"
	assert.Equal(t, []doctor.ClusterSubnet{
		{File: staticPods + "kube-apiserver.yaml", Line: 5, Flag: services, Subnet: netip.MustParsePrefix("10.96.0.0/16")},
		{File: staticPods + "kube-apiserver.yaml", Line: 5, Flag: services, Subnet: netip.MustParsePrefix("fd96::/108")},
		{File: staticPods + "kube-controller-manager.yaml", Line: 1, Flag: pods, Subnet: netip.MustParsePrefix("10.244.0.0/16")},
	}, clusterSubnets(root))
}

func TestCertificateFilesOfTheClusterAndOfKeepvip(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.StartTLS()
	defer s.Close()
	ends := s.Certificate().NotAfter
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	root, now := t.TempDir(), ends.Add(-time.Hour)
	const etcd, admin = "/etc/kubernetes/pki/etcd/server.crt", "/etc/kubernetes/admin.conf"
	write(t, root+etcd, "a comment\n"+text+text)
	write(t, root+"/etc/kubernetes/pki/sa.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	write(t, root+admin, "users:\n- name: a\n  user:\n    client-certificate-data: "+base64.StdEncoding.EncodeToString([]byte(text))+"\n")
	write(t, root+"/etc/kubernetes/scheduler.conf", "client-certificate-data: nonsense\n")
	own := root + "/raft.pem"
	write(t, own, text)
	cfg := &config.Config{VIPs: []config.VIP{{Checks: []config.ListedCheck{{ClientCert: own}, {ClientCert: root + "/none"}}}}}
	cfg.Raft.Certificate = own
	got := certificateFiles(root, cfg, now)
	require.Len(t, got, 3)
	assert.Equal(t, []doctor.CertificateFile{
		{File: etcd, Ends: ends, Left: time.Hour}, {File: admin, Ends: ends, Left: time.Hour}, {File: own, Ends: ends, Left: time.Hour, Own: true},
	}, got)
	_, ok := endOf(nil)
	assert.False(t, ok)
}

package gather

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

func advertFrom(a netip.Addr) doctor.Advert { return doctor.Advert{Source: a} }
func helloFrom(a netip.Addr) doctor.Hello   { return doctor.Hello{Source: a} }
func claimOf(a netip.Addr) doctor.Claim     { return doctor.Claim{Address: a} }

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestEndpointsOfTheClustersFiles(t *testing.T) {
	root := t.TempDir()
	write(t, root+adminFile, "apiVersion: v1\nkind: Config\nclusters:\n- name: kubernetes\n  cluster:\n    server: https://10.0.0.100:6443\n")
	kubeadm := filepath.Join(root, "kubeadm.yaml")
	write(t, kubeadm, "kind: InitConfiguration\n---\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: \"[fd00::1]:6443\"\n")
	assert.Equal(t, []doctor.Endpoint{
		{File: adminFile, Key: "server", Host: "10.0.0.100", Address: netip.MustParseAddr("10.0.0.100")},
		{File: kubeadm, Key: "controlPlaneEndpoint", Host: "fd00::1", Address: netip.MustParseAddr("fd00::1")},
	}, endpoints(t.Context(), Options{Root: root, Kubeadm: kubeadm}))
}

func TestEndpointsOfFilesThatSayNothing(t *testing.T) {
	root := t.TempDir()
	assert.Empty(t, endpoints(t.Context(), Options{Root: root, Kubeadm: root + "/none"}))
	write(t, root+adminFile, "clusters: 5")
	assert.Empty(t, endpoints(t.Context(), Options{Root: root, Kubeadm: root}))
	write(t, root+"/kubeadm.yaml", "kind: ClusterConfiguration\n")
	assert.Equal(t, []doctor.Endpoint{{File: root + "/kubeadm.yaml", Key: "controlPlaneEndpoint"}}, endpoints(t.Context(), Options{Root: root, Kubeadm: root + "/kubeadm.yaml"}))
}

func TestServicesAreAskedAtTheSameTime(t *testing.T) {
	const services = 5
	cfg := &config.Config{VIPs: []config.VIP{{Name: "a"}}}
	for i := range services {
		cfg.VIPs[0].Checks = append(cfg.VIPs[0].Checks, config.ListedCheck{Kind: config.CheckHTTPS, URL: fmt.Sprintf("https://s%d.example.org", i)})
	}
	bubble.Test(t, func(t *testing.T) {
		var certs, names sync.WaitGroup // nobody is answered before all have asked
		certs.Add(services)
		names.Add(services)
		served, silent := certificates(t.Context(), cfg, func(_ context.Context, _ *url.URL, s *doctor.Serving) error {
			certs.Done()
			certs.Wait()
			s.DNS = []string{apiserverName}
			if s.URL == "https://s4.example.org" {
				return errors.New("connection refused")
			}
			return nil
		})
		assert.Len(t, served, services-1)
		assert.Equal(t, []doctor.Serving{{VIP: "a", URL: "https://s4.example.org", DNS: []string{apiserverName}}}, silent)
		assert.Len(t, checkNames(t.Context(), cfg, func(context.Context, string) []netip.Addr {
			names.Done()
			names.Wait()
			return nil
		}), services)
	})
}

func TestHostPart(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.100": "10.0.0.100", "10.0.0.100:6443": "10.0.0.100", "api.example.org:6443": "api.example.org", "fd00::1": "fd00::1",
		"[fd00::1]:6443": "fd00::1", "[fd00::1]": "fd00::1",
	} {
		assert.Equal(t, want, hostPart(text), text)
	}
}

func TestMachineAndSysctlsOfARoot(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
	write(t, root+"/proc/sys/net/ipv4/conf/all/arp_ignore", "2\n")
	write(t, root+"/proc/sys/net/ipv4/conf/all/arp_filter", "nonsense\n")
	assert.Equal(t, doctor.Machine{Vendor: "Amazon EC2"}, machine(root))
	values, noIPv6 := sysctls(root, nil)
	assert.Equal(t, map[string]int{"net/ipv4/conf/all/arp_ignore": 2}, values)
	assert.True(t, noIPv6)
}

func TestCertificateIsReadWithItsEnd(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	var s doctor.Serving
	require.NoError(t, readCertificate(t.Context(), u, &s))
	ends := server.Certificate().NotAfter
	assert.Equal(t, ends, s.Ends)
	assert.InDelta(t, time.Until(ends), s.Left, float64(time.Minute))
}

package gather

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// apiserverName is in the certificate of every apiserver.
const apiserverName = "kubernetes"

// certificates reads the names in the certificates of the apiservers that are checked, by read and of all at the same time. What does not
// answer is silent.
func certificates(
	ctx context.Context, cfg *config.Config, read func(context.Context, *url.URL, *doctor.Serving) error,
) (served, silent []doctor.Serving) {
	var out []*doctor.Serving
	var errs []*error
	var wg sync.WaitGroup
	for _, v := range cfg.VIPs {
		for _, c := range v.AllChecks() {
			u, err := url.Parse(c.URL)
			if c.Kind != config.CheckHTTPS || err != nil {
				continue
			}
			s := &doctor.Serving{VIP: v.Name, URL: u.Scheme + "://" + u.Host}
			failed := new(error)
			out, errs = append(out, s), append(errs, failed)
			wg.Go(func() { *failed = read(ctx, u, s) })
		}
	}
	wg.Wait()
	for i, s := range out {
		switch {
		case *errs[i] != nil:
			silent = append(silent, *s)
		case slices.Contains(s.DNS, apiserverName):
			served = append(served, *s)
		}
	}
	return served, silent
}

// readCertificate looks at the names and the end alone: whether the certificate is to be believed is the health check's question.
func readCertificate(ctx context.Context, u *url.URL, s *doctor.Serving) error {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, ServerName: u.Hostname()}}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
	if err != nil {
		return err
	}
	defer conn.Close()
	secure, ok := conn.(*tls.Conn)
	if !ok || len(secure.ConnectionState().PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	leaf := secure.ConnectionState().PeerCertificates[0]
	s.DNS, s.Ends, s.Left = leaf.DNSNames, leaf.NotAfter, time.Until(leaf.NotAfter)
	for _, ip := range leaf.IPAddresses {
		if a, ok := netip.AddrFromSlice(ip); ok {
			s.Addresses = append(s.Addresses, a.Unmap())
		}
	}
	return nil
}

// adminFile is the kubeconfig that kubeadm writes for clients of the whole cluster: those of the node's own components may name the node.
const adminFile = "/etc/kubernetes/admin.conf"

// endpoints reads where the files of the cluster say that the apiserver is. A file that is not there, or that this user may not read, says nothing.
func endpoints(ctx context.Context, o Options) (out []doctor.Endpoint) {
	ctx, cancel := context.WithTimeout(ctx, 2*quick) // for all names
	defer cancel()
	var admin struct {
		Clusters []struct {
			Cluster struct {
				Server string `yaml:"server"`
			} `yaml:"cluster"`
		} `yaml:"clusters"`
	}
	if text, err := regular.Read(filepath.Join(o.Root, adminFile), mostText); err == nil && yaml.Unmarshal(text, &admin) == nil {
		for _, c := range admin.Clusters {
			if u, err := url.Parse(c.Cluster.Server); err == nil && u.Hostname() != "" {
				out = append(out, endpoint(ctx, adminFile, "server", u.Hostname()))
			}
		}
	}
	if o.Kubeadm == "" {
		return out
	}
	text, err := regular.Read(o.Kubeadm, mostText)
	if err != nil {
		return out
	}
	const key = "controlPlaneEndpoint"
	named := false
	for doc := range bytes.SplitSeq(text, []byte("\n---")) {
		var cluster struct {
			ControlPlaneEndpoint string `yaml:"controlPlaneEndpoint"`
		}
		if yaml.Unmarshal(doc, &cluster) == nil && cluster.ControlPlaneEndpoint != "" {
			named, out = true, append(out, endpoint(ctx, o.Kubeadm, key, hostPart(cluster.ControlPlaneEndpoint)))
		}
	}
	if !named {
		out = append(out, doctor.Endpoint{File: o.Kubeadm, Key: key})
	}
	return out
}

// hostPart takes a port off.
func hostPart(s string) string {
	if host, port, err := net.SplitHostPort(s); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err == nil {
			return host
		}
	}
	return strings.Trim(s, "[]")
}

func endpoint(ctx context.Context, file, key, host string) doctor.Endpoint {
	e := doctor.Endpoint{File: file, Key: key, Host: host}
	if a, err := netip.ParseAddr(host); err == nil {
		e.Address = a.Unmap()
		return e
	}
	e.Resolves = resolve(ctx, host)
	return e
}

func resolve(ctx context.Context, host string) (out []netip.Addr) {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, a := range found {
		out = append(out, a.Unmap())
	}
	return out
}

// checkNames resolves the names that checks ask, all at the same time.
func checkNames(ctx context.Context, cfg *config.Config, resolve func(context.Context, string) []netip.Addr) map[string][]netip.Addr {
	var hosts []string
	for _, v := range cfg.VIPs {
		for _, c := range v.AllChecks() {
			host := doctor.HostOf(c)
			if _, err := netip.ParseAddr(host); host != "" && err != nil && !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	found := make([][]netip.Addr, len(hosts))
	var wg sync.WaitGroup
	for i, host := range hosts {
		wg.Go(func() { found[i] = resolve(ctx, host) })
	}
	wg.Wait()
	out := map[string][]netip.Addr{}
	for i, host := range hosts {
		out[host] = found[i]
	}
	return out
}

// connectFor has room for a second SYN, which the kernel sends after a second.
const connectFor = 2 * quick

// connections tries the TCP port of each other voter of Raft.
func connections(ctx context.Context, cfg *config.Config, links []link.Link) []doctor.Connect {
	if len(cfg.ByRaft()) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectFor)
	defer cancel()
	var out []doctor.Connect
	for _, a := range cfg.Raft.Peers {
		if !doctor.OnLinks(links, a) {
			out = append(out, doctor.Connect{To: netip.AddrPortFrom(a, cfg.Port)})
		}
	}
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "tcp", out[i].To.String())
			if err == nil {
				_ = conn.Close()
			}
			out[i].Err, out[i].Refused = err, errors.Is(err, syscall.ECONNREFUSED)
		})
	}
	wg.Wait()
	return out
}

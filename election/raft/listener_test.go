package raft

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// refusals counts what a listener has refused.
type refusals struct {
	mu     sync.Mutex
	counts map[string]int
}

func (r *refusals) add(_ netip.Addr, reason string, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[reason]++
}

func (r *refusals) of(reason string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[reason]
}

// server is a listener on loopback that echoes to members.
func server(t *testing.T, id *Identity) (dialer, *refusals) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refused := &refusals{counts: map[string]int{}}
	l := newListener(inner, id, func(netip.Addr) bool { return true }, refused.add, map[string]func(net.Conn){
		protocolMember: func(c net.Conn) {
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		},
	})
	go l.serve()
	t.Cleanup(func() { assert.NoError(t, l.close()) })
	self := netip.MustParseAddr("127.0.0.1")
	return dialer{id: id, self: self, port: inner.Addr().(*net.TCPAddr).AddrPort().Port()}, refused
}

func identity(t *testing.T, keys ...byte) *Identity {
	t.Helper()
	var secrets [][]byte
	for _, k := range keys {
		secrets = append(secrets, bytes.Repeat([]byte{k}, 32))
	}
	id := &Identity{}
	require.NoError(t, id.UseKeys(secrets...))
	return id
}

// echoed tells whether a connection carries data: with TLS 1.3 a client learns of its refusal only then.
func echoed(t *testing.T, d dialer, protocol string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, err := d.dial(ctx, d.self, protocol)
	if err != nil {
		return err
	}
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(5*time.Second)))
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

func TestListenerKeys(t *testing.T) {
	for _, c := range []struct {
		name           string
		server, client []byte
		want           bool
	}{
		{"the same key", []byte{1}, []byte{1}, true},
		{"another key", []byte{1}, []byte{2}, false},
		{"rotation, the client is ahead", []byte{1, 2}, []byte{2, 1}, true},
		{"rotation, the server is ahead", []byte{2, 1}, []byte{1, 2}, true},
		{"rotation, the client does not know the new key yet", []byte{2, 1}, []byte{1}, false},
		{"rotation, the server does not know the new key yet", []byte{1}, []byte{2, 1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, refused := server(t, identity(t, c.server...))
			d.id = identity(t, c.client...)
			err := echoed(t, d, protocolMember)
			if c.want {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Eventually(t, func() bool { return refused.of(rejectKey) == 1 }, 5*time.Second, time.Millisecond)
		})
	}
}

func TestListenerRefuses(t *testing.T) {
	id := identity(t, 1)
	d, refused := server(t, id)
	raw := func(data string) {
		c, err := net.Dial("tcp", netip.AddrPortFrom(d.self, d.port).String())
		require.NoError(t, err)
		defer c.Close()
		_, _ = c.Write([]byte(data))
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, _ = io.Copy(io.Discard, c)
	}
	raw("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	assert.Eventually(t, func() bool { return refused.of(rejectPlain) == 1 }, 5*time.Second, time.Millisecond)
	raw("\x16\x03\x01\x00\x05junk!")
	assert.Eventually(t, func() bool { return refused.of(rejectGarbage) == 1 }, 5*time.Second, time.Millisecond)
	require.Error(t, echoed(t, d, "another/1"), "another protocol")
	old := tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true, NextProtos: []string{protocolMember}}
	_, err := tls.Dial("tcp", netip.AddrPortFrom(d.self, d.port).String(), &old)
	require.Error(t, err, "TLS 1.2")
	bare := tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocolMember}}
	c, err := tls.Dial("tcp", netip.AddrPortFrom(d.self, d.port).String(), &bare)
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	require.Error(t, err, "no certificate")
	assert.NoError(t, echoed(t, d, protocolMember), "members are not disturbed")
}

func TestListenerBoundsSilentCallers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, refused := listenInMemory(t)
		for range maxFromMember + 3 {
			p.from(t, addr(0).String())
		}
		for range maxFromUnknown + 3 {
			p.from(t, "10.77.1.1")
		}
		synctest.Wait()
		assert.Equal(t, 6, refused.of(rejectCrowd))
		time.Sleep(unknownTime + time.Millisecond)
		assert.Equal(t, maxFromUnknown, refused.of(rejectSlow))
		time.Sleep(handshakeTime - unknownTime)
		assert.Equal(t, maxFromUnknown+maxFromMember, refused.of(rejectSlow))
	})
}

func TestIdentityHasTheSameAuthorityOnEveryNode(t *testing.T) {
	a, err := newAuthority(bytes.Repeat([]byte{1}, 32))
	require.NoError(t, err)
	b, err := newAuthority(bytes.Repeat([]byte{1}, 32))
	require.NoError(t, err)
	assert.Equal(t, a.cert.Raw, b.cert.Raw)
	_, err = newAuthority(make([]byte, 31))
	assert.ErrorContains(t, err, "key of 31 bytes, want 32 to 64")
	assert.ErrorIs(t, (&Identity{}).UseKeys(), errNoKey)
}

func TestIdentityOfFiles(t *testing.T) {
	ca, err := newAuthority(bytes.Repeat([]byte{9}, 32))
	require.NoError(t, err)
	id := &Identity{}
	require.NoError(t, id.UseFiles(files(t, ca, time.Now().Add(time.Hour))))
	d, _ := server(t, id)
	assert.NoError(t, echoed(t, d, protocolMember))
	d.id = identity(t, 1)
	assert.Error(t, echoed(t, d, protocolMember))
	expired := &Identity{}
	require.NoError(t, expired.UseFiles(files(t, ca, time.Now().Add(-time.Hour))))
	d.id = expired
	assert.Error(t, echoed(t, d, protocolMember), "own certificates are judged by the clock")
	assert.ErrorContains(t, id.UseFiles(Files{Cert: "/none", Key: "/none", CA: "/none"}), "/none")
}

// files writes a certificate of ca.
func files(t *testing.T, ca authority, until time.Time) Files {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotBefore: notBefore, NotAfter: until,
	}, ca.cert, public, ca.key)
	require.NoError(t, err)
	key, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	return Files{Cert: write("crt", "CERTIFICATE", der), Key: write("key", "PRIVATE KEY", key), CA: write("ca", "CERTIFICATE", ca.cert.Raw)}
}

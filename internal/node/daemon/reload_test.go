package daemon

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election/raft"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

// reloading is a daemon that has one network, 10.77.0.0/24, and is not running. DIR in a configuration is its directory.
type reloading struct {
	*Daemon
	dir string
}

func newReloading(t *testing.T, text string) reloading {
	t.Helper()
	r := reloading{dir: t.TempDir()}
	for name, data := range map[string]string{
		"key1": strings.Repeat("01", 32), "key2": strings.Repeat("02", 32), "short": "02", "open": strings.Repeat("02", 32), "text": "text",
		"one": string(ownPair(t)), "two": string(ownPair(t)),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte(data), 0o600))
	}
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "open"), 0o644))
	r.write(t, text)
	load := func() (*config.Config, error) {
		return config.Load(config.Input{File: filepath.Join(r.dir, "keepvip.yaml")})
	}
	cfg, err := load()
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	h := newHost(nil, log)
	h.seen.setVirtual(virtualAddresses(cfg))
	require.True(t, h.seen.keep([]link.Link{{
		Index: 7, Name: "eth7", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}},
	}}, 0))
	r.Daemon = compose(cfg, h, Options{Load: load, Version: "v1", Log: log})
	secrets, err := loadSecrets(cfg, cfg)
	require.NoError(t, err)
	use, err := r.prepare(cfg, secrets)
	require.NoError(t, err)
	use()
	r.build.groups.set(cfg.VIPs)
	return r
}

func (r reloading) write(t *testing.T, text string) {
	t.Helper()
	text = fileHead + strings.ReplaceAll(text, "DIR", r.dir)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "keepvip.yaml"), []byte(text), 0o600))
}

const fileHead = "apiVersion: keepvip/v1\nkind: Config\n"

// inForce is all that a reload could have changed.
type inForce struct {
	cfg, raft *config.Config
	keys      keyStatus
	identity  [][]byte
	virtual   []netip.Addr
	names     []string
	groups    int
}

func (r reloading) inForce() inForce {
	f := inForce{
		cfg: r.cfg, raft: r.build.raft.cfg, identity: slices.Clone(r.build.raft.secrets), virtual: slices.Clone(r.host.seen.now().virtual),
		groups: len(r.build.groups.byName),
	}
	if k := r.keys.status(); k != nil {
		f.keys = *k
	}
	for _, s := range r.set.Status() {
		f.names = append(f.names, s.Name)
	}
	return f
}

func TestFailedReloadChangesNothing(t *testing.T) {
	const (
		vip    = "vips:\n- {name: a, addresses: [10.77.0.100], check: none, group: g"
		key1   = "key: {id: 1, file: DIR/key1}\n"
		key2   = "key: {id: 2, file: DIR/key2, accept: [1=DIR/key1]}\n"
		raft   = "raft: {peers: [10.77.0.11, 10.77.0.12, 10.77.0.13]}\n"
		byRaft = "vips:\n- {name: a, addresses: [10.77.0.100], check: none, election: raft"
		more   = "- {name: b, addresses: [10.77.0.101], check: none, vrrp: {id: 9}}\n"
	)
	tests := []struct{ name, before, after, want string }{
		{"syntax", key1 + vip + "}\n", key2 + vip + "]\n", "keepvip.yaml"},
		{"unknown key", key1 + vip + "}\n", key2 + vip + ", prio: 3}\n", "prio"},
		{"no key file", key1 + vip + "}\n", "key: {id: 2, file: DIR/none}\n" + vip + "}\n" + more, "DIR/none"},
		{"short key", key1 + vip + "}\n", "key: {id: 2, file: DIR/short}\n" + vip + "}\n" + more, "DIR/short"},
		{"open key file", key1 + vip + "}\n", "key: {id: 2, file: DIR/open}\n" + vip + "}\n" + more, "DIR/open"},
		{"second key", key1 + vip + "}\n", "key: {id: 2, file: DIR/key2, accept: [1=DIR/none]}\n" + vip + "}\n" + more, "DIR/none"},
		{"address of no network", key1 + vip + "}\n", key2 + vip + "}\n- {name: b, addresses: [192.0.2.1], check: none, vrrp: {id: 9}}\n", "192.0.2.1"},
		{"no such user", key1 + vip + "}\n", key2 + "vips:\n- {name: a, addresses: [10.77.0.100], checks: [{name: x, kind: exec, command: [/bin/sh], user: none-such}]}\n", "none-such"},
		{"missing program", key1 + vip + "}\n", key2 + "vips:\n- {name: a, addresses: [10.77.0.100], checks: [{name: x, kind: exec, command: [/none/x], user: '65534'}]}\n", "/none/x"},
		{
			"raft without certificates", key1 + vip + "}\n",
			key2 + "raft: {peers: [10.77.0.11], certificate: DIR/none, privateKey: DIR/none, ca: DIR/none}\n" + byRaft + "}\n", "DIR/none",
		},
		{
			"raft with files that are none", key1 + vip + "}\n",
			key2 + "raft: {peers: [10.77.0.11], certificate: DIR/text, privateKey: DIR/text, ca: DIR/text}\n" + byRaft + "}\n", "DIR/text",
		},
		{
			"raft: certificates instead of keys", key1 + raft + byRaft + "}\n",
			key2 + "raft: {peers: [10.77.0.11, 10.77.0.12, 10.77.0.13], certificate: DIR/none, privateKey: DIR/none, ca: DIR/none}\n" + byRaft + "}\n", "DIR/none",
		},
		{"raft: address of no network", key1 + raft + byRaft + "}\n", key2 + raft + byRaft + "}\n- {name: b, addresses: [192.0.2.1], check: none, election: raft}\n", "192.0.2.1"},
		{"raft: no keys any more", key1 + raft + byRaft + "}\n", raft + byRaft + "}\n", "key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newReloading(t, tt.before)
			before := r.inForce()
			r.write(t, tt.after)
			_, err := r.reload(t.Context())
			require.ErrorContains(t, err, strings.ReplaceAll(tt.want, "DIR", r.dir))
			assert.Equal(t, before, r.inForce())
		})
	}
}

// A file that is replaced between two looks must not leave half of the process with another key.
func TestReloadTakesTheKeysOver(t *testing.T) {
	r := newReloading(t, "key: {id: 1, file: DIR/key1}\nraft: {peers: [10.77.0.11]}\nvips:\n- {name: a, addresses: [10.77.0.100], check: none, election: raft}\n")
	before := r.inForce()
	r.write(t, "key: {id: 2, file: DIR/key2}\nraft: {peers: [10.77.0.11]}\nvips:\n- {name: a, addresses: [10.77.0.100], check: none, election: raft}\n")
	_, err := r.reload(t.Context())
	require.NoError(t, err)
	after := r.inForce()
	assert.Equal(t, uint8(2), after.keys.Signs.ID)
	assert.NotEqual(t, before.identity, after.identity)
	assert.Same(t, r.cfg, after.raft)
}

// What makes a configuration of another file fails before anything of it is looked at, and a secret in memory is taken over like a file's.
func TestReloadOfAKeepalivedConf(t *testing.T) {
	r := newReloading(t, "key: {file: DIR/key1}\nvips:\n- {name: a, addresses: [10.77.0.100], check: none}\n")
	key, refusal := strings.Repeat("03", 32), error(nil)
	r.opts.Load = func() (*config.Config, error) {
		return config.Load(config.Input{Conf: "k.conf", Convert: func(string) (config.Converted, error) {
			at, d := config.Origin{Source: config.File, Name: "k.conf", Line: 1}, &config.Draft{}
			d.Set("key.file", at, "auth_hmac key 1")
			d.Entry("vips", at)
			for _, o := range [][2]string{{"name", "a"}, {"addresses", "10.77.0.100"}, {"check", "none"}} {
				d.Set("vips[]."+o[0], at, o[1])
			}
			return config.Converted{Draft: d, Secrets: map[string][]byte{"auth_hmac key 1": []byte(key)}}, refusal
		}})
	}
	_, err := r.reload(t.Context())
	require.NoError(t, err)
	before := r.inForce()
	assert.Equal(t, config.Fingerprint([]byte(strings.Repeat("\x03", 32))), before.keys.Signs.Fingerprint)

	key, refusal = strings.Repeat("04", 32), errors.New("k.conf:4: error unsupported: use_ipvlan")
	_, err = r.reload(t.Context())
	require.ErrorIs(t, err, refusal)
	assert.Equal(t, before, r.inForce())

	refusal = nil
	_, err = r.reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, config.Fingerprint([]byte(strings.Repeat("\x04", 32))), r.inForce().keys.Signs.Fingerprint)
}

func TestStatusSaysWhyAReloadWasRefusedUntilOneIsNot(t *testing.T) {
	const good = "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\n"
	r := newReloading(t, good)
	r.write(t, "vips:\n- {name: a, addresses: [10.77.0.100], prio: 3, check: 7}\n")
	_, err := r.reload(t.Context())
	require.Error(t, err)
	refused := r.reloads.Status().Refused
	require.NotNil(t, refused)
	assert.Equal(t, strings.Split(err.Error(), "\n"), refused.Reasons)

	r.write(t, good)
	_, err = r.reload(t.Context())
	require.NoError(t, err)
	assert.Nil(t, r.reloads.Status().Refused)
	assert.Equal(t, filepath.Join(r.dir, "keepvip.yaml"), r.reloads.Status().Path)
}

// All files have been read before the lock is taken: one whose file system dies meanwhile holds up nobody.
func TestReloadReadsNoFileBehindItsLock(t *testing.T) {
	r := newReloading(t, "vips: [{addresses: [10.77.0.100], check: none}]\n")
	pair := filepath.Join(r.dir, "pair")
	require.NoError(t, os.WriteFile(pair, ownPair(t), 0o600))
	r.write(t, "raft: {peers: [10.77.0.11], certificate: DIR/pair, privateKey: DIR/pair, ca: DIR/pair}\nkey: {file: DIR/key1}\n"+
		"vips: [{addresses: [10.77.0.100], check: none, election: raft}]\n")
	next, err := r.opts.load(r.cfg, r.departures)
	require.NoError(t, err)
	for _, path := range []string{pair, filepath.Join(r.dir, "key1"), filepath.Join(r.dir, "keepvip.yaml")} {
		require.NoError(t, os.Remove(path))
	}
	_, err = r.prepare(next.cfg, next.secrets)
	assert.NoError(t, err)
}

// What a reload adds may hang on the loopback device, in a table of its own, when this process is killed. A reload writes it down while it reads: with the
// lock it makes instances without a file.
func TestReloadRemembersTheTablesOfRoutes(t *testing.T) {
	r := newReloading(t, "stateDir: DIR/state\nvips: [{addresses: [10.77.0.100], check: none}]\n")
	routed := config.VIP{Announce: config.Announce{Table: 100, Protocol: 77}}
	r.write(t, "stateDir: DIR/state\nvips: [{addresses: [10.77.0.100], check: none, announce: {by: route, table: 100, protocol: 77}}]\n")
	next, err := r.opts.load(r.cfg, r.departures)
	require.NoError(t, err)
	_, err = r.build.instances(next.cfg.VIPs, next.cfg)
	require.NoError(t, err)
	assert.NoDirExists(t, r.cfg.StateDir)
	_, _ = r.reload(t.Context())
	tables, err := route.Tables(r.cfg.StateDir)
	require.NoError(t, err)
	assert.Contains(t, tables, route.TableOf(routed))
}

// ownPair is a certificate that has signed itself, with its key, in PEM.
func ownPair(t *testing.T) []byte {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(nil, template, template, public, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
}

// A file system that never answers holds up the reload, and nobody else: what ends the process takes the same lock.
func TestReloadThatHangsEndsWithTheProcess(t *testing.T) {
	r := newReloading(t, "vips: [{addresses: [10.77.0.100], check: none}]\n")
	load, asked, hangs := r.opts.Load, make(chan struct{}), make(chan struct{})
	r.opts.Load = func() (*config.Config, error) { close(asked); <-hangs; return load() }
	ctx, end := context.WithCancel(t.Context())
	reloaded := make(chan error, 1)
	go func() {
		_, err := r.reload(ctx)
		reloaded <- err
	}()
	<-asked
	assert.NotNil(t, r.settled())
	r.stopDepartures()
	end()
	assert.ErrorIs(t, <-reloaded, reloads.ErrProcessEnds)
	close(hangs)
}

// shows tells whether the identity is what it was.
func (r reloading) shows(t *testing.T) (same func() bool) {
	t.Helper()
	var was raft.Identity
	require.True(t, was.Become(&r.build.raft.identity))
	return func() bool {
		var is raft.Identity
		is.Become(&r.build.raft.identity)
		return !is.Become(&was)
	}
}

// The other members know a running one by what it has shown them: what it shows after a restart, a reload leaves alone.
func TestReloadLeavesTheCertificatesOfARunningMember(t *testing.T) {
	const (
		entry = "vips: [{name: a, addresses: [10.77.0.100], check: none, election: raft}]\n"
		key   = "key: {id: 1, file: DIR/key1}\n"
		peers = "raft: {peers: [10.77.0.11]"
		one   = peers + ", certificate: DIR/one, privateKey: DIR/one, ca: DIR/one}\n"
		two   = peers + ", certificate: DIR/two, privateKey: DIR/two, ca: DIR/two}\n"
	)
	all := []string{"raft.certificate", "raft.privateKey", "raft.ca"}
	for _, tt := range []struct {
		name, before, after, gone string // gone: a file that is not there any more
		same                      bool
		restart                   []string
	}{
		{"added", key + peers + "}\n", key + one, "", true, all},
		{"added in place of the key", key + peers + "}\n", one, "key1", true, all},
		{"dropped", one, key + peers + "}\n", "", true, all},
		{"dropped with its files", one, key + peers + "}\n", "one", true, all},
		{"renamed", one, two, "", true, all},
		{"renamed with its files", one, two, "one", true, all},
		{"the same", one, one + "log: {level: debug}\n", "", true, []string{}},
		{"renewed", one, one, "renewed", false, []string{}},
		{"another key", key + peers + "}\n", "key: {id: 2, file: DIR/key2}\n" + peers + "}\n", "", false, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReloading(t, "vips: [{addresses: [10.77.0.100], check: none}]\n")
			reload := func(text string) Reloaded {
				r.write(t, text+entry)
				done, err := r.reload(t.Context())
				require.NoError(t, err)
				return done
			}
			assert.Empty(t, reload(tt.before).Restart)
			same := r.shows(t)
			switch tt.gone {
			case "":
			case "renewed":
				require.NoError(t, os.WriteFile(filepath.Join(r.dir, "one"), ownPair(t), 0o600))
			default:
				require.NoError(t, os.Remove(filepath.Join(r.dir, tt.gone)))
			}
			assert.ElementsMatch(t, tt.restart, reload(tt.after).Restart)
			assert.Equal(t, tt.same, same())
			assert.ElementsMatch(t, tt.restart, reload(tt.after).Restart, "they go on waiting")
			assert.Equal(t, tt.same, same())
		})
	}
}

// While the last address of the cluster becomes external, this node shows what it has shown as a member before.
func TestReloadToExternalLeavesTheCertificatesOfAMember(t *testing.T) {
	const (
		entry   = "vips: [{name: a, addresses: [10.77.0.100], check: 'tcp://127.0.0.1:6443', externalAddress: lb.example.org"
		inside  = entry + ", election: raft}]\n"
		outside = entry + ", mode: external, externalGrace: 1h"
		one     = "raft: {peers: [10.77.0.11], certificate: DIR/one, privateKey: DIR/one, ca: DIR/one}\n"
		key     = "key: {id: 1, file: DIR/key1}\n"
	)
	for name, tt := range map[string]struct{ before, after, gone string }{
		"certificates":                   {one, one + outside + ", election: raft}]\n", ""},
		"certificates beside a key":      {key + one, key + one + outside + ", election: raft}]\n", ""},
		"certificates that go with it":   {key + one, key + outside + "}]\n", "one"},
		"certificates and nothing after": {one, outside + "}]\n", "one"},
		"a key that goes with it":        {key + "raft: {peers: [10.77.0.11]}\n", outside + "}]\n", "key1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReloading(t, tt.before+inside)
			same := r.shows(t)
			if tt.gone != "" {
				require.NoError(t, os.Remove(filepath.Join(r.dir, tt.gone)))
			}
			defer r.stopDepartures()
			r.write(t, tt.after)
			for range 2 {
				_, err := r.reload(t.Context())
				require.NoError(t, err)
				assert.Len(t, r.departures, 1)
				assert.True(t, same())
			}
		})
	}
}

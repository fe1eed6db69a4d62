package release

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/packaging/packages"
	"github.com/keepvip/keepvip/packaging/signing"
)

// documented are the commands of docs/install.md that check a release, one box after the other.
func documented(t *testing.T) (list []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/install.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## Check what you have got\n")
	require.True(t, found)
	for i, part := range strings.Split(section, "```\n") {
		if i%2 == 1 && !strings.HasPrefix(part, "make ") {
			list = append(list, part)
		}
	}
	return list
}

func testKey(t *testing.T) *signing.Key {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 3072)
	require.NoError(t, err)
	key, err := signing.New(private, time.Unix(1700000000, 0))
	require.NoError(t, err)
	return key
}

func signedRelease(t *testing.T) results {
	t.Helper()
	r := Release{Version: "0.1.0", Revision: "5cc79fdc", Time: time.Unix(1700000000, 0), Key: testKey(t), Targets: Targets()}
	out := results{"keepvip-0.1.0-linux-amd64.tar.gz": []byte("archive"), "apt/dists/stable/Release": []byte("list")}
	require.NoError(t, r.attest(out))
	out["SHA256SUMS"] = sums(out)
	require.NoError(t, r.sign(out))
	return out
}

// What the page tells a user to do finds a changed byte in whatever is signed.
func TestDocumentedCommandsFindAChangedByte(t *testing.T) {
	commands := documented(t)
	require.Len(t, commands, 2)
	out := signedRelease(t)
	run := func(dir, script string) (string, error) {
		cmd := exec.Command("sh", "-e")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	good := t.TempDir()
	require.NoError(t, Write(good, out))
	for _, script := range commands {
		text, err := run(good, script)
		assert.NoError(t, err, text)
	}
	for name, by := range map[string]string{
		"keepvip-0.1.0-linux-amd64.tar.gz": commands[0], "apt/dists/stable/Release": commands[0], "SHA256SUMS": commands[0],
		"SHA256SUMS.sig": commands[0], "keepvip-0.1.0.provenance.json": commands[0], "keepvip-0.1.0.intoto.jsonl": commands[1],
	} {
		changed := results{}
		for n, data := range out {
			changed[n] = append([]byte(nil), data...)
		}
		changed[name][len(changed[name])/2] ^= 1
		dir := t.TempDir()
		require.NoError(t, Write(dir, changed))
		text, err := run(dir, by)
		assert.Error(t, err, "%s: %s", name, text)
	}
}

func TestStatementNamesEveryFileAndWhatItWasMadeOf(t *testing.T) {
	var s struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		PredicateType string
		Predicate     struct {
			BuildDefinition struct {
				ExternalParameters   struct{ Command string }
				ResolvedDependencies []struct {
					URI    string
					Digest map[string]string
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(signedRelease(t)["keepvip-0.1.0.provenance.json"], &s))
	require.Len(t, s.Subject, 2)
	assert.Equal(t, "apt/dists/stable/Release", s.Subject[0].Name)
	assert.Len(t, s.Subject[0].Digest["sha256"], 64)
	assert.Equal(t, "https://slsa.dev/provenance/v1", s.PredicateType)
	assert.Equal(t, "make release VERSION=0.1.0", s.Predicate.BuildDefinition.ExternalParameters.Command)
	assert.Equal(t, "5cc79fdc", s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"])
}

func TestUnsignedReleaseHasNoKeyInIt(t *testing.T) {
	r := Release{Version: "0.1.0", Time: time.Unix(1700000000, 0)}
	out := results{"keepvip-0.1.0-linux-amd64.tar.gz": []byte("archive")}
	require.NoError(t, r.attest(out))
	out["SHA256SUMS"] = sums(out)
	require.NoError(t, r.sign(out))
	assert.Len(t, out, 3, "the archive, the statement and the sums")
}

func TestRepositoriesNeedPackages(t *testing.T) {
	r := Release{Version: "0.1.0"}
	assert.ErrorContains(t, r.repositories(nil, nil, results{}), "-only packages,repositories")
}

// packaged has small packages, their repositories, and what is made of all files.
func packaged(t *testing.T, key *signing.Key) results {
	t.Helper()
	r := Release{Version: "0.1.0", Revision: "5cc79fdc", Time: time.Unix(1700000000, 0), Key: key, Targets: Targets()}
	out := results{"keepvip-0.1.0-linux-amd64.tar.gz": []byte("archive")}
	cfg := packages.Config{Version: "0.1.0", Deb: "amd64", RPM: "x86_64", Time: r.Time, Files: []packages.File{{Path: "/usr/bin/keepvip", Data: []byte("program"), Mode: 0o755}}}
	if key != nil {
		cfg.Sign = key.Detached
	}
	for _, pack := range []func(packages.Config) (string, []byte, error){packages.Deb, packages.RPM} {
		name, data, err := pack(cfg)
		require.NoError(t, err)
		out[name] = data
	}
	require.NoError(t, r.repositories(nil, nil, out))
	require.NoError(t, r.attest(out))
	out["SHA256SUMS"] = sums(out)
	require.NoError(t, r.sign(out))
	return out
}

// A forge takes files and no directories: release.yml uploads what lies at the top.
func TestRepositoriesAreArchivesAtTheTop(t *testing.T) {
	out := packaged(t, testKey(t))
	packed, below := results{}, results{}
	for name, data := range out {
		if strings.Contains(name, "/") {
			below[name] = data
		}
	}
	for _, kind := range []string{"apt", "rpm"} {
		name := "keepvip-0.1.0-" + kind + ".tar"
		require.Contains(t, out, name)
		for r := tar.NewReader(bytes.NewReader(out[name])); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if h.Typeflag == tar.TypeReg {
				packed[h.Name], err = io.ReadAll(r)
				require.NoError(t, err)
			}
		}
		page, err := os.ReadFile("../../docs/install.md")
		require.NoError(t, err)
		assert.Contains(t, string(page), "tar -xf "+name+"\n")
	}
	assert.Contains(t, below, "apt/dists/stable/InRelease")
	assert.Contains(t, below, "rpm/repodata/repomd.xml")
	assert.Equal(t, below, packed)
	workflow, err := os.ReadFile("../../.github/workflows/release.yml")
	require.NoError(t, err)
	assert.Contains(t, string(workflow), "find dist -maxdepth 1 -type f ")
}

// docs/install.md says what is the same bits without the key.
func TestOnlyWhatASignatureIsInDependsOnTheKey(t *testing.T) {
	unsigned, signed := packaged(t, nil), packaged(t, testKey(t))
	var other []string // or gone; below rpm nearly all is, as names there have sums in them
	for name, data := range unsigned {
		if !bytes.Equal(data, signed[name]) && !strings.HasPrefix(name, "rpm/") {
			other = append(other, name)
		}
	}
	slices.Sort(other)
	assert.Equal(t, []string{
		"SHA256SUMS", "keepvip-0.1.0-1.x86_64.rpm", "keepvip-0.1.0-apt.tar", "keepvip-0.1.0-rpm.tar", "keepvip-0.1.0.provenance.json",
	}, other)
	const name = "keepvip-0.1.0-1.x86_64.rpm"
	assert.Equal(t, behindSignature(unsigned[name]), behindSignature(signed[name]))
}

// behindSignature is an rpm package without its lead and its first header, which is that of signatures and padded to eight octets.
func behindSignature(rpm []byte) []byte {
	const lead, intro, entry = 96, 16, 16
	entries, store := binary.BigEndian.Uint32(rpm[lead+8:]), binary.BigEndian.Uint32(rpm[lead+12:])
	end := lead + intro + entry*int(entries) + int(store)
	return rpm[(end+7)/8*8:]
}

func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	changelog := []byte("# Changelog\n\n## Unreleased\n\n- next\n\n## 0.2.0 (2026-11-26)\n\n- second\n\n## v0.1.0\n\n- first\n")
	for v, want := range map[Version]string{"0.1.0": "- first", "0.2.0": "- second", "0.3.0": "- next"} {
		text, err := notes(changelog, v)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(text), "# keepvip "+v.Tag()+"\n\n"+want+"\n\n## Install"), string(text))
	}
	_, err := notes([]byte("# Changelog\n"), "0.1.0")
	assert.ErrorContains(t, err, "no section ## 0.1.0")
}

func TestDocumentsKeepTheirPlaces(t *testing.T) {
	r := Release{Source: "../.."}
	all, err := r.documents()
	require.NoError(t, err)
	for _, name := range []string{"README.md", "SECURITY.md", "docs/install.md", "docs/pictures/failover.svg", "docs/schema/Status.json"} {
		assert.NotEmpty(t, all[name], name)
	}
	for name := range all {
		assert.NotEqual(t, ".go", filepath.Ext(name))
	}
}

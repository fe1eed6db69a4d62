package release

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func signedRelease(t *testing.T) results {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 3072)
	require.NoError(t, err)
	at := time.Unix(1700000000, 0)
	key, err := signing.New(private, at)
	require.NoError(t, err)
	r := Release{Version: "0.1.0", Revision: "5cc79fdc", Time: at, Key: key, Targets: Targets()}
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

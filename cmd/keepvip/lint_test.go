package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lintSamples = "../../internal/tools/keepalived/lint/testdata/"

func TestLintExitStatusIsThatOfTheWorst(t *testing.T) {
	for file, want := range map[string]struct {
		code int
		errs string
	}{
		"clean.conf":        {exitOK, ""},
		"loadbalancer.conf": {exitOK, ""},
		"kubeadm.conf":      {exitFailure, "keepvip: 0 errors, 2 warnings, 2 notes\n"},
		"openshift.conf":    {exitFailure, "keepvip: 0 errors, 1 warning, 4 notes\n"}, // keepalived logs that it cuts auth_pass, and works
		"traps.conf":        {exitUsage, ""},
	} {
		code, out, errs := keepvip(t, "lint", lintSamples+file)
		assert.Equal(t, want.code, code, file)
		assert.NotEmpty(t, out, file)
		if want.errs != "" || want.code == exitOK {
			assert.Equal(t, want.errs, errs, file)
		}
	}
}

func TestLintNamesFileAndLine(t *testing.T) {
	_, out, _ := keepvip(t, "lint", lintSamples+"kubeadm.conf")
	assert.Contains(t, out, lintSamples+"kubeadm.conf:9: warning slow-check: check_apiserver acts after 10 failures")
	_, out, _ = keepvip(t, "lint", lintSamples+"clean.conf")
	assert.Equal(t, lintSamples+"clean.conf: no traps\n", out)
}

// A file of another kind is one error, and not one for each of its lines.
func TestLintSaysThatAFileIsOfAnotherKind(t *testing.T) {
	for name, text := range map[string]string{
		"keepvip.yaml": "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n",
		"kube-vip":     "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: kube-vip, image: ghcr.io/kube-vip/kube-vip:v1.0.0, args: [manager]}\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		code, out, errs := keepvip(t, "lint", path)
		assert.Equal(t, exitUsage, code, name)
		assert.Empty(t, out, name)
		assert.Equal(t, "keepvip: "+path+": YAML, want a keepalived.conf: keepvip config validate checks a configuration of keepvip, and keepvip convert reads a kube-vip\n", errs)
	}
}

// What to do about a file that cannot be read depends on why, and on what the command reads.
func TestFilesThatCannotBeReadAreExplained(t *testing.T) {
	_, _, errs := keepvip(t, "lint", "/none/k.conf")
	assert.Equal(t, "keepvip: /none/k.conf: no such file or directory: want the path of a keepalived.conf\n", errs)
	_, _, errs = keepvip(t, "convert", "/none/kube-vip.yaml")
	assert.Equal(t, "keepvip: /none/kube-vip.yaml: no such file or directory: want the path of a keepalived.conf, or of a kube-vip manifest\n", errs)
	err := unreadable("/k.conf", &fs.PathError{Op: "open", Path: "/k.conf", Err: fs.ErrPermission}, aKeepalivedConf)
	assert.EqualError(t, err, "/k.conf: permission denied: run the command as a user who may read the file")
}

// The lines in the document are those that the program prints.
func TestMigrateKeepalivedShowsWhatLintPrints(t *testing.T) {
	_, out, _ := keepvip(t, "lint", lintSamples+"kubeadm.conf")
	text, err := os.ReadFile("../../docs/migrate-keepalived.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), "$ keepvip lint keepalived.conf\n"+strings.ReplaceAll(out, lintSamples+"kubeadm.conf", "keepalived.conf")+"```\n")
}

// Each code that the samples of package lint bring about is explained.
func TestMigrateKeepalivedExplainsEveryCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/migrate-keepalived.md")
	require.NoError(t, err)
	samples, err := filepath.Glob(lintSamples + "*.conf")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	for _, path := range samples {
		_, out, _ := keepvip(t, "lint", path)
		for line := range strings.Lines(out) {
			if words := strings.Fields(line); len(words) > 2 && strings.HasSuffix(words[2], ":") {
				assert.Contains(t, string(text), "`"+strings.TrimSuffix(words[2], ":")+"`")
			}
		}
	}
}

func TestLintAsJSON(t *testing.T) {
	code, out, _ := keepvip(t, "lint", "-o", "json", lintSamples+"openshift.conf")
	assert.Equal(t, exitFailure, code)
	var doc struct {
		File                    string
		Errors, Warnings, Notes int
		Findings                []struct {
			Severity, Code, File, Text, Remedy string
			Line                               int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	assert.Equal(t, []int{0, 1, 4}, []int{doc.Errors, doc.Warnings, doc.Notes})
	require.Len(t, doc.Findings, 5)
	first := doc.Findings[0]
	assert.Equal(t, "script-shell", first.Code)
	assert.Equal(t, "warning", first.Severity)
	assert.Equal(t, 16, first.Line)
	assert.Equal(t, lintSamples+"openshift.conf", first.File)

	_, out, _ = keepvip(t, "lint", "-o", "json", lintSamples+"clean.conf")
	assert.Contains(t, out, `"findings": []`)
}

func TestLintReadsForANode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.conf")
	require.NoError(t, os.WriteFile(path, []byte("@here typo\n@^here other\n"), 0o600))
	_, out, _ := keepvip(t, "lint", "--config-id", "here", path)
	assert.Contains(t, out, `"typo"`)
	assert.NotContains(t, out, `"other"`)
	_, out, _ = keepvip(t, "lint", "-i", "there", path)
	assert.Contains(t, out, `"other"`)
	assert.NotContains(t, out, `"typo"`)
}

func TestLintBadInputIsOneError(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"no file":     {"lint"},
		"missing":     {"lint", filepath.Join(dir, "none")},
		"a directory": {"lint", dir},
		"two files":   {"lint", lintSamples + "clean.conf", lintSamples + "clean.conf"},
		"a format":    {"lint", "-o", "xml", lintSamples + "clean.conf"},
	} {
		code, out, errs := keepvip(t, args...)
		assert.Equal(t, exitUsage, code, name)
		assert.Empty(t, out, name)
		assert.Equal(t, 1, strings.Count(errs, "\n"), "%s: %s", name, errs)
	}
}

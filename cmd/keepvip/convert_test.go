package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

const convertSamples = "../../internal/tools/keepalived/convert/testdata/"

func TestConvertPrintsTheFileAndSaysTheRest(t *testing.T) {
	code, out, errs := keepvip(t, "convert", convertSamples+"kubeadm-master.conf")
	assert.Equal(t, exitOK, code)
	assert.Contains(t, out, "# Converted from "+convertSamples+"kubeadm-master.conf.")
	assert.Contains(t, out, "priority: 101  # kubeadm-master.conf:17\n")
	assert.Contains(t, errs, convertSamples+"kubeadm-master.conf:20: warning secret:")
}

// What is printed is a configuration that validates, once the operator has made the files.
func TestConvertedFileValidates(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "keepvip-convert-") // t.TempDir is its owner's alone
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	script, conf, file := filepath.Join(dir, "check.sh"), filepath.Join(dir, "keepalived.conf"), filepath.Join(dir, "keepvip.yaml")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	text, err := os.ReadFile(convertSamples + "kubeadm-master.conf")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(conf, []byte(strings.Replace(string(text), "/etc/keepalived/check_apiserver.sh", script, 1)), 0o600))

	code, out, _ := keepvip(t, "convert", "--secrets", dir, conf)
	require.Equal(t, exitOK, code)
	require.NoError(t, os.WriteFile(file, []byte(out), 0o600))
	code, _, errs := keepvip(t, "config", "validate", file)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, filepath.Join(dir, "vi-1.password"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "vi-1.password"), []byte("42\n"), 0o600))
	code, out, errs = keepvip(t, "config", "validate", file)
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, "the configuration is valid\n", out)
}

func TestConvertRefusedPrintsNothing(t *testing.T) {
	code, out, errs := keepvip(t, "convert", convertSamples+"use-ipvlan.conf")
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, convertSamples+"use-ipvlan.conf:4: error unsupported: use_ipvlan:")
	assert.True(t, strings.HasSuffix(errs, "keepvip: nothing is printed, for the error above: repair the file, or take what can be carried over with --partial\n"), errs)

	code, out, errs = keepvip(t, "convert", "--partial", convertSamples+"use-ipvlan.conf")
	assert.Equal(t, exitOK, code)
	assert.Contains(t, errs, ":4: error unsupported: use_ipvlan:")
	_, err := config.Load(config.Input{Env: []string{config.EnvInline + "=" + out}, Elsewhere: true})
	require.NoError(t, err)

	code, out, _ = keepvip(t, "convert", "--partial", convertSamples+"invalid.conf")
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
}

func TestConvertAsAnObject(t *testing.T) {
	var doc conversionDoc
	object := func(want int, args ...string) {
		t.Helper()
		doc = conversionDoc{}
		code, out, errs := keepvip(t, append([]string{"convert", "-o", "json"}, args...)...)
		require.Equal(t, want, code, errs)
		printsObject(t, kindConversion, out)
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		assert.Equal(t, args[len(args)-1], doc.File)
		if want == exitOK {
			assert.Empty(t, errs, "all is in the object")
		} else {
			assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
		}
	}
	sample := convertSamples + "kubeadm-master.conf"
	object(exitOK, sample)
	_, plain, _ := keepvip(t, "convert", sample)
	assert.Equal(t, plain, doc.Result)
	assert.Contains(t, doc.Findings[0].File, sample)
	assert.Equal(t, doc.Errors+doc.Warnings+doc.Notes, len(doc.Findings))

	object(exitUsage, convertSamples+"use-ipvlan.conf")
	assert.Empty(t, doc.Result)
	assert.Positive(t, doc.Errors)
	assert.Equal(t, "unsupported", doc.Findings[0].Code)
	object(exitOK, "--partial", convertSamples+"use-ipvlan.conf")
	assert.NotEmpty(t, doc.Result)

	object(exitOK, fixture("v1.0-pod.yaml"))
	_, plain, lines := keepvip(t, "convert", fixture("v1.0-pod.yaml"))
	assert.Equal(t, plain, doc.Result)
	assert.Len(t, doc.Findings, strings.Count(lines, "\n")-strings.Count(lines, "note: no registry has the image "))
	assert.Positive(t, doc.Warnings)

	object(exitUsage, fixture("v1.0-services.yaml"))
	assert.Empty(t, doc.Result)
	assert.Equal(t, 1, doc.Errors)
	assert.Equal(t, fixture("v1.0-services.yaml"), doc.Findings[0].File)
	assert.Equal(t, 48, doc.Findings[0].Line)
	assert.Equal(t, "refused", doc.Findings[0].Code)
	assert.Contains(t, doc.Findings[0].Text, "svc_enable true without cp_enable")
	object(exitUsage, write(t, "kind: Pod\nkind: [\n"))
	assert.Equal(t, 2, doc.Findings[0].Line)
	object(exitUsage, write(t, classTemplate(classKubeVIP)))
	assert.Equal(t, 9, doc.Findings[0].Line)

	code, out, errs := keepvip(t, "convert", "-o", "json", filepath.Join(t.TempDir(), "none"))
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
}

func TestConvertBadInputIsOneError(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"no file":          {"convert"},
		"missing":          {"convert", filepath.Join(dir, "none")},
		"a directory":      {"convert", dir},
		"a relative place": {"convert", "--secrets", "here", convertSamples + "kubeadm-master.conf"},
	} {
		code, out, errs := keepvip(t, args...)
		assert.Equal(t, exitUsage, code, name)
		assert.Empty(t, out, name)
		assert.Equal(t, 1, strings.Count(errs, "\n"), "%s: %s", name, errs)
	}
}

// The document shows what the program prints, and explains every code.
func TestMigrateKeepalivedShowsWhatConvertPrints(t *testing.T) {
	page, err := os.ReadFile("../../docs/migrate-keepalived.md")
	require.NoError(t, err)
	_, out, _ := keepvip(t, "convert", convertSamples+"kubeadm-master.conf")
	assert.Contains(t, string(page), "$ keepvip convert /etc/keepalived/keepalived.conf\n"+strings.NewReplacer(convertSamples+"kubeadm-master.conf", "/etc/keepalived/keepalived.conf", "kubeadm-master.conf", "keepalived.conf").Replace(out)+"```\n")

	samples, err := filepath.Glob(convertSamples + "*.conf")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	for _, path := range samples {
		_, _, errs := keepvip(t, "convert", path)
		for line := range strings.Lines(errs) {
			if words := strings.Fields(line); strings.HasPrefix(line, path) {
				assert.Contains(t, string(page), "`"+strings.TrimSuffix(words[2], ":")+"`")
			}
		}
	}
}

// What docs/migrate-keepalived.md says to write in the place of the script that asks HAProxy.
func TestMigrateKeepalivedShowsAFileThatValidates(t *testing.T) {
	text, err := os.ReadFile("../../docs/migrate-keepalived.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```yaml\nvips:\n")
	require.True(t, found)
	sample, _, found := strings.Cut(rest, "```\n")
	require.True(t, found)
	_, err = config.Load(config.Input{Env: []string{config.EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n" + sample}, Elsewhere: true})
	require.NoError(t, err)
}

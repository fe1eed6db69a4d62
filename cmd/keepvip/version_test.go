package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionComesFromTheBuildInformation(t *testing.T) {
	vcs := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
	}
	const commit = "5cc79fdc0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		name, main string
		settings   []debug.BuildSetting
		want       string
		pulled     bool
	}{
		{"go install of a release", "v0.1.0", nil, "v0.1.0", true},
		{"go install of a candidate", "v0.1.0-rc.1", nil, "v0.1.0-rc.1", true},
		{"go install of a commit", "v0.0.0-20261126191530-5cc79fdc0123", nil, "v0.0.0-dev.g5cc79fdc0123", false},
		{"go install of a commit after a release", "v0.1.1-0.20261126191530-5cc79fdc0123", nil, "v0.0.0-dev.g5cc79fdc0123", false},
		{"go build in a checkout", "v0.0.0-20261126191530-5cc79fdc0123", vcs(commit, "false"), "v0.0.0-dev.g5cc79fdc0123", false},
		{"with changes", "v0.0.0-20261126191530-5cc79fdc0123+dirty", vcs(commit, "true"), "v0.0.0-dev.g5cc79fdc0123.dirty", false},
		{"at a release", "v0.1.0", vcs(commit, "false"), "v0.1.0", true},
		{"at a release, with changes", "v0.1.0+dirty", vcs(commit, "true"), "v0.0.0-dev.g5cc79fdc0123.dirty", false},
		{"an older toolchain", "(devel)", vcs(commit, "false"), "v0.0.0-dev.g5cc79fdc0123", false},
		{"without version control", "(devel)", nil, "v0.0.0-dev", false},
	} {
		got := versionOf(&debug.BuildInfo{Main: debug.Module{Version: c.main}, Settings: c.settings})
		assert.Equal(t, c.want, got, c.name)
		assert.Equal(t, c.pulled, released(got), c.name)
	}
	assert.Equal(t, "v0.0.0-dev", versionOf(nil))
}

// A manifest of a version that no registry has says where its image comes from.
func TestManifestSaysWhereTheImageOfAnUnreleasedVersionComesFrom(t *testing.T) {
	code, out, errs := keepvip(t, "manifest", "pod", "--vip", "10.0.0.100")
	assert.Zero(t, code)
	assert.Contains(t, out, "image: "+imageName+":"+programVersion()+"\n")
	assert.Contains(t, errs, "no registry has the image "+imageName+":"+programVersion())
	assert.Contains(t, errs, "make image")

	_, _, errs = keepvip(t, "manifest", "pod", "--vip", "10.0.0.100", "--image", "registry.example/keepvip:v7")
	assert.NotContains(t, errs, "no registry")
}

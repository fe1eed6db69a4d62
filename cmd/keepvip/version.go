package main

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the linker, for a release and by the Makefile. Without it the build information has the version.
var version string

const (
	// unreleased begins every version that is no release.
	unreleased = "v0.0.0-dev"
	// revisionLength is as much of a commit as versions have, also those of the Makefile.
	revisionLength = 12
)

var (
	releaseVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	// pseudoVersion is how Go calls a commit without a tag: its time and the beginning of its hash.
	pseudoVersion = regexp.MustCompile(`[-.][0-9]{14}-([0-9a-f]{12})(\+dirty)?$`)
)

// programVersion is what this program calls itself: v1.2.3 for a release, v0.0.0-dev.gCOMMIT for what was built from a commit, with
// .dirty where files were changed. The image of the same sources has it as its tag.
func programVersion() string {
	info, _ := debug.ReadBuildInfo()
	return cmp.Or(version, versionOf(info))
}

// versionOf is the version by the build information, which is nil where there is none.
func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return unreleased
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision, dirty := settings["vcs.revision"], settings["vcs.modified"] == "true"
	switch pseudo := pseudoVersion.FindStringSubmatch(info.Main.Version); {
	case pseudo != nil:
		revision, dirty = pseudo[1], dirty || pseudo[2] != ""
	case releaseVersion.MatchString(info.Main.Version):
		return info.Main.Version
	}
	if revision == "" {
		return unreleased
	}
	name := unreleased + ".g" + revision[:min(revisionLength, len(revision))]
	if dirty {
		name += ".dirty"
	}
	return name
}

// released reports whether a version can be a release: then there is an image that a node can pull.
func released(version string) bool { return !strings.HasPrefix(version, unreleased) }

// versionDoc is what version prints as JSON.
type versionDoc struct {
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Go      string `json:"go"` // the version of Go that it was built with
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: noArguments}
	output := bindOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		doc := versionDoc{Version: programVersion(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version()}
		return output.print(cmd.OutOrStdout(), kindVersion, doc, func() string { return versionText() + "\n" })
	}
	return cmd
}

func versionText() string {
	return fmt.Sprintf("keepvip %s %s/%s %s", programVersion(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

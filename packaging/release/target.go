package release

import (
	"fmt"
	"runtime"
	"strings"
)

// Target is one machine that keepvip is built for, under everybody's name for it.
type Target struct {
	Name    string // in the names of files, "linux-armv7"
	Arch    string // GOARCH, and OCI's architecture
	ARM     string // GOARM
	Variant string // OCI's
	Deb     string
	RPM     string
}

// Targets is everything that is released.
func Targets() []Target {
	return []Target{
		{Name: "linux-amd64", Arch: "amd64", Deb: "amd64", RPM: "x86_64"},
		{Name: "linux-arm64", Arch: "arm64", Variant: "v8", Deb: "arm64", RPM: "aarch64"},
		{Name: "linux-armv7", Arch: "arm", ARM: "7", Variant: "v7", Deb: "armhf", RPM: "armv7hl"},
		{Name: "linux-ppc64le", Arch: "ppc64le", Deb: "ppc64el", RPM: "ppc64le"},
		{Name: "linux-riscv64", Arch: "riscv64", Deb: "riscv64", RPM: "riscv64"},
		{Name: "linux-s390x", Arch: "s390x", Deb: "s390x", RPM: "s390x"},
	}
}

// SelectTargets turns "all", "host" or a list such as "linux-amd64,linux-arm64" into targets.
func SelectTargets(list string) ([]Target, error) {
	if list == "all" {
		return Targets(), nil
	}
	var out []Target
	for _, want := range strings.Split(list, ",") {
		t, err := oneTarget(strings.ReplaceAll(want, "/", "-"))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func oneTarget(want string) (Target, error) {
	var names []string
	for _, t := range Targets() {
		if t.Name == want || (want == "host" && t.Arch == runtime.GOARCH) {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Target{}, fmt.Errorf("release: platform %q, want all, host, or some of %s", want, strings.Join(names, ","))
}

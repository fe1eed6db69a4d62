package release

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binary compiles the program for one target. The result depends on the sources, the version and the toolchain alone.
func (r *Release) binary(ctx context.Context, t Target) ([]byte, error) {
	dir, err := os.MkdirTemp("", "keepvip-build-")
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "keepvip")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath",
		"-ldflags", "-s -w -buildid= -X main.version="+r.Version.Tag(), "-o", out, "./cmd/keepvip")
	cmd.Dir = r.Source
	cmd.Env = buildEnv(t)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("release: compile for %s: %w\n%s", t.Name, err, bytes.TrimSpace(text))
	}
	return os.ReadFile(out)
}

// buildEnv sets whatever changes the result.
func buildEnv(t Target) []string {
	return append(os.Environ(),
		"GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOFIPS140=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+t.Arch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOPPC64=power8", "GORISCV64=rva20u64", "GOARM="+cmp.Or(t.ARM, "7"))
}

// run runs the program, built for this machine.
func run(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("release: keepvip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out, nil
}

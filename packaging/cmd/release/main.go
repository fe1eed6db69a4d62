// Command release makes the image, the packages and the archives of a version, with their checksums.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keepvip/keepvip/packaging/release"
	"github.com/keepvip/keepvip/packaging/signing"
)

func main() {
	if err := execute(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func execute(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("release", flag.ExitOnError)
	version := fs.String("version", "", "the version, as 1.2.3")
	revision := fs.String("revision", "", "the commit that it is made of")
	epoch := fs.String("epoch", "", "the time of all files, in seconds since 1970: that of the commit")
	source := fs.String("source", "..", "the directory of the program's module")
	out := fs.String("out", "../dist", "where the results go; results of an earlier run there are removed")
	platforms := fs.String("platforms", "all", "all, host, or a list such as linux-amd64,linux-arm64")
	kinds := fs.String("only", strings.Join(release.Kinds(), ","), "what to make")
	key := fs.String("key", "", "the file of an RSA key that signs; without it nothing is signed")
	if err := fs.Parse(args); err != nil {
		return err
	}
	r := release.Release{Revision: *revision, Source: *source}
	var errs []error
	var err error
	r.Version, err = release.ParseVersion(*version)
	errs = append(errs, err)
	r.Time, err = parseEpoch(*epoch)
	errs = append(errs, err)
	r.Targets, err = release.SelectTargets(*platforms)
	errs = append(errs, err)
	wanted := strings.Split(*kinds, ",")
	for _, k := range wanted {
		if !slices.Contains(release.Kinds(), k) {
			errs = append(errs, fmt.Errorf("release: -only %q, want some of %s", k, strings.Join(release.Kinds(), ",")))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if *key != "" {
		if r.Key, err = signing.Load(*key, r.Time); err != nil {
			return err
		}
	}
	files, err := r.Make(ctx, wanted)
	if err != nil {
		return err
	}
	return release.Write(*out, files)
}

func parseEpoch(s string) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, fmt.Errorf("release: -epoch %q, want seconds since 1970 (SOURCE_DATE_EPOCH, or that of a git commit)", s)
	}
	return time.Unix(n, 0).UTC(), nil
}

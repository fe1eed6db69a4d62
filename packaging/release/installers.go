package release

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/keepvip/keepvip/packaging/archive"
)

// unreleased is the version in the chart's sources.
const unreleased = "0.0.0-dev"

// installers packs what installers of clusters take: the Helm chart as `helm package` would, and the rest in one archive.
func (r *Release) installers(out results) error {
	chart, err := r.tree("packaging/helm/keepvip", "keepvip")
	if err != nil {
		return err
	}
	for i := range chart {
		if chart[i].Path == "keepvip/Chart.yaml" {
			chart[i].Data = bytes.ReplaceAll(chart[i].Data, []byte(unreleased), []byte(r.Version))
		}
	}
	top := "keepvip-" + string(r.Version) + "-installers"
	var rest []archive.File
	for _, dir := range []string{"ansible", "clusterapi", "k0s", "kubespray", "kustomize"} {
		files, err := r.tree("packaging/"+dir, top+"/"+dir)
		if err != nil {
			return err
		}
		rest = append(rest, files...)
	}
	for name, files := range map[string][]archive.File{"keepvip-" + string(r.Version) + ".tgz": chart, top + ".tar.gz": rest} {
		data, err := archive.Tar(files, r.Time)
		if err != nil {
			return err
		}
		if out[name], err = archive.Gzip(data); err != nil {
			return err
		}
	}
	return nil
}

// tree reads the files below a directory of the sources; in the archive they are below top.
func (r *Release) tree(dir, top string) (files []archive.File, err error) {
	root := filepath.Join(r.Source, dir)
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, p)
		files = append(files, archive.File{Path: path.Join(top, filepath.ToSlash(below)), Mode: 0o644, Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return files, nil
}

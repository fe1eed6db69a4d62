package image

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/keepvip/keepvip/packaging/archive"
)

// Archive is an index as an OCI image layout in a tar archive, under the name (with its tag) that an importer gives it.
func Archive(index v1.ImageIndex, name string, t time.Time) ([]byte, error) {
	dir, err := os.MkdirTemp("", "keepvip-image-")
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	defer os.RemoveAll(dir)
	root, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, fmt.Errorf("image: make the layout: %w", err)
	}
	tag := name[strings.LastIndexByte(name, ':')+1:]
	err = root.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          name, // containerd
		"org.opencontainers.image.ref.name": tag,  // everybody else
	}))
	if err != nil {
		return nil, fmt.Errorf("image: write the layout: %w", err)
	}
	files, err := read(dir)
	if err != nil {
		return nil, fmt.Errorf("image: read the layout: %w", err)
	}
	return archive.Tar(files, t)
}

func read(dir string) ([]archive.File, error) {
	var files []archive.File
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		files = append(files, archive.File{Path: filepath.ToSlash(rel), Mode: 0o644, Data: data})
		return nil
	})
	return files, err
}

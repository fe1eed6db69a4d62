package image

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// AtMost is an error if a node would pull more than so many octets for any platform: the configuration and the layers, compressed.
func AtMost(index v1.ImageIndex, most int64) error {
	m, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("image: read the index: %w", err)
	}
	for _, d := range m.Manifests {
		img, err := index.Image(d.Digest)
		if err != nil {
			return fmt.Errorf("image: read %s: %w", d.Platform, err)
		}
		manifest, err := img.Manifest()
		if err != nil {
			return fmt.Errorf("image: read %s: %w", d.Platform, err)
		}
		size := manifest.Config.Size
		for _, layer := range manifest.Layers {
			size += layer.Size
		}
		if size > most {
			return fmt.Errorf("image: %s has %d octets compressed, want at most %d", d.Platform, size, most)
		}
	}
	return nil
}

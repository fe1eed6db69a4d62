package repository

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/packaging/packages"
)

var at = time.Unix(1700000000, 0).UTC()

func config(deb, rpm string) packages.Config {
	return packages.Config{Version: "1.2.3", Deb: deb, RPM: rpm, Time: at, Files: []packages.File{
		{Path: "/usr/bin/keepvip", Data: []byte("for " + deb), Mode: 0o755},
		{Path: "/usr/share/doc/keepvip/docs/page.md", Data: []byte("text"), Mode: 0o644},
	}}
}

func made(t *testing.T, pack func(packages.Config) (string, []byte, error)) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, cfg := range []packages.Config{config("amd64", "x86_64"), config("arm64", "aarch64")} {
		name, data, err := pack(cfg)
		require.NoError(t, err)
		out[name] = data
	}
	return out
}

// signs says who was asked.
type signs struct{}

func (signs) Armored([]byte) ([]byte, error)    { return []byte("signature"), nil }
func (signs) Clear(text []byte) ([]byte, error) { return append([]byte("signed "), text...), nil }

func TestAptIndexesNameEveryPackageWithItsSum(t *testing.T) {
	debs := made(t, packages.Deb)
	files, err := Apt(debs, at, signs{})
	require.NoError(t, err)
	release := string(files["dists/stable/Release"])
	assert.Contains(t, release, "Architectures: amd64 arm64\nComponents: main\n")
	assert.Contains(t, release, "Date: Tue, 14 Nov 2023 22:13:20 UTC\n")
	assert.Equal(t, "signed "+release, string(files["dists/stable/InRelease"]))
	assert.NotEmpty(t, files["dists/stable/Release.gpg"])
	for _, m := range regexp.MustCompile(`(?m)^ ([0-9a-f]{64}) (\d+) (\S+)$`).FindAllStringSubmatch(release, -1) {
		data := files["dists/stable/"+m[3]]
		assert.Equal(t, fmt.Sprintf("%x %d", sha256.Sum256(data), len(data)), m[1]+" "+m[2], m[3])
	}
	for name, deb := range debs {
		arch, _, _ := strings.Cut(name[strings.LastIndexByte(name, '_')+1:], ".")
		list := string(files["dists/stable/main/binary-"+arch+"/Packages"])
		assert.Contains(t, list, "Package: keepvip\nVersion: 1.2.3-1\n")
		assert.Contains(t, list, fmt.Sprintf("Filename: pool/main/k/keepvip/%s\nSize: %d\nSHA256: %x\n", name, len(deb), sha256.Sum256(deb)))
		assert.Equal(t, deb, files["pool/main/k/keepvip/"+name])
		assert.Equal(t, list, unzipped(t, files["dists/stable/main/binary-"+arch+"/Packages.gz"]))
	}

	unsigned, err := Apt(debs, at, nil)
	require.NoError(t, err)
	assert.NotContains(t, unsigned, "dists/stable/InRelease")
	again, err := Apt(debs, at, signs{})
	require.NoError(t, err)
	assert.Equal(t, files, again)
}

func TestRPMDataDescribeEveryPackage(t *testing.T) {
	rpms := made(t, packages.RPM)
	files, err := RPM(rpms, at, signs{})
	require.NoError(t, err)
	md := string(files["repodata/repomd.xml"])
	texts := map[string]string{}
	for _, m := range regexp.MustCompile(`<location href="(repodata/([0-9a-f]+)-([a-z]+)\.xml\.gz)">`).FindAllStringSubmatch(md, -1) {
		assert.Equal(t, m[2], fmt.Sprintf("%x", sha256.Sum256(files[m[1]])))
		texts[m[3]] = unzipped(t, files[m[1]])
	}
	require.Len(t, texts, 3)
	for name, rpm := range rpms {
		id := fmt.Sprintf("%x", sha256.Sum256(rpm))
		assert.Contains(t, texts["primary"], `<checksum type="sha256" pkgid="YES">`+id+`</checksum>`)
		assert.Contains(t, texts["primary"], `<location href="Packages/`+name+`">`)
		for _, part := range []string{"filelists", "other"} {
			assert.Contains(t, texts[part], `<package pkgid="`+id+`" name="keepvip"`)
		}
		assert.Equal(t, rpm, files[path.Join("Packages", name)])
	}
	assert.Contains(t, texts["primary"], `<version epoch="0" ver="1.2.3" rel="1"></version>`)
	assert.Contains(t, texts["primary"], `<file>/usr/bin/keepvip</file>`)
	assert.Contains(t, texts["filelists"], `<file type="dir">/usr/share/doc/keepvip/docs</file>`)
	assert.NotEmpty(t, files["repodata/repomd.xml.asc"])
}

func TestWhatIsNoPackageIsAnError(t *testing.T) {
	_, err := Apt(map[string][]byte{"a.deb": []byte("nothing")}, at, nil)
	assert.EqualError(t, err, "repository: a.deb: no ar archive")
	_, err = RPM(map[string][]byte{"a.rpm": []byte("nothing")}, at, nil)
	assert.EqualError(t, err, "repository: a.rpm: no RPM package")
	for name, rpm := range made(t, packages.RPM) {
		for _, n := range []int{100, 500, 1500} {
			_, err = RPM(map[string][]byte{name: rpm[:n]}, at, nil)
			assert.Error(t, err, "%d octets of %s", n, name)
		}
	}
}

func unzipped(t *testing.T, data []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

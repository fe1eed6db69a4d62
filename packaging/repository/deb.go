package repository

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// control is the file of that name in a Debian package.
func control(deb []byte) (string, error) {
	member, err := arMember(deb, "control.tar.gz")
	if err != nil {
		return "", err
	}
	z, err := gzip.NewReader(bytes.NewReader(member))
	if err != nil {
		return "", fmt.Errorf("control.tar.gz: %w", err)
	}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return "", errors.New("control.tar.gz has no file control")
		}
		if err != nil {
			return "", fmt.Errorf("control.tar.gz: %w", err)
		}
		if path.Clean(h.Name) == "control" {
			text, err := io.ReadAll(t)
			return string(text), err
		}
	}
}

// arMember is a file of an ar archive: a header of 60 octets before each, whose name has 16 and whose size 10 octets from 48 on.
func arMember(archive []byte, name string) ([]byte, error) {
	const magic, headerLength = "!<arch>\n", 60
	rest, ok := bytes.CutPrefix(archive, []byte(magic))
	if !ok {
		return nil, errors.New("no ar archive")
	}
	for len(rest) >= headerLength {
		header := rest[:headerLength]
		size, err := strconv.Atoi(strings.TrimSpace(string(header[48:58])))
		if err != nil || size < 0 || size > len(rest)-headerLength {
			return nil, fmt.Errorf("ar: size %q of a member", header[48:58])
		}
		if strings.TrimRight(string(header[:16]), " /") == name {
			return rest[headerLength : headerLength+size], nil
		}
		rest = rest[min(headerLength+size+size%2, len(rest)):]
	}
	return nil, fmt.Errorf("ar: no member %s", name)
}

// field is a field of a control file, without the lines that go on below it.
func field(control, name string) string {
	for line := range strings.Lines(control) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

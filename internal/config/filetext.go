package config

import (
	"cmp"
	"fmt"

	"github.com/keepvip/keepvip/internal/base/regular"
)

// Converted is a configuration that was made of a keepalived.conf.
type Converted struct {
	Draft    *Draft
	Text     []byte            // as a file of keepvip has it, for what carries one; nil: nothing does
	Secrets  map[string][]byte // of files that it names: these are in memory alone
	Warnings []string
}

// fileText is what the options of a file are read from.
type fileText struct {
	Converted
	path string // "" for none
	conf bool   // path is that of a keepalived.conf
}

// read finds the one file, if there is one.
func (in Input) read(vars map[string]string) (fileText, error) {
	inline, hasInline := vars[EnvInline]
	file, conf := in.File, cmp.Or(in.Conf, vars[EnvConf])
	if file == "" && !hasInline {
		file = vars[EnvFile]
	}
	named := cmp.Or(file, conf)
	switch {
	case file != "" && conf != "":
		return fileText{}, fmt.Errorf("config: the keepalived.conf %s: set together with the file %s, want one of them", conf, file)
	case named != "" && hasInline:
		return fileText{}, fmt.Errorf("config: %s: set together with the file %s, want one of them", EnvInline, named)
	case hasInline:
		return fileText{path: EnvInline, Converted: Converted{Text: []byte(inline)}}, nil
	case conf != "":
		return in.convert(conf)
	case file == "":
		return fileText{}, nil
	}
	data, err := regular.Read(file, maxFile)
	if err != nil {
		return fileText{}, fmt.Errorf("config: %s: %w", file, err)
	}
	return fileText{path: file, Converted: Converted{Text: data}}, nil
}

func (in Input) convert(path string) (fileText, error) {
	if in.Convert == nil {
		return fileText{}, fmt.Errorf("config: %s: this reads no keepalived.conf, want keepvip's own file: keepvip convert %s", path, path)
	}
	c, err := in.Convert(path)
	return fileText{path: path, conf: true, Converted: c}, err
}

// held are secrets that are in no file, by the names that stand for paths in the configuration.
type held map[string][]byte

// read is what a file of a secret holds.
func (h held) read(path string) ([]byte, error) {
	if secret, ok := h[path]; ok {
		return secret, nil
	}
	return ReadSecret(path)
}

package kubevip

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// argSettings reads the command line of a container, by the rules of pflag: a switch takes its value after an equals sign only, any
// other flag may take the next argument.
func argSettings(words []*yaml.Node) (out settings) {
	for i := 0; i < len(words); i++ {
		n := words[i]
		name, value, joined := strings.Cut(n.Value, "=")
		if !strings.HasPrefix(name, "-") || strings.Trim(name, "-") == "" {
			continue // the command: manager
		}
		s := setting{name: name, value: value, line: n.Line, rank: inArgs, row: rowOf(func(r *row) bool {
			return r.flag != "" && (name == "--"+r.flag || name == "-n" && r.flag == "namespace")
		})}
		switch {
		case joined:
		case s.row != nil && s.row.isSwitch:
			s.value = "true"
		case i+1 < len(words) && (s.row != nil || !strings.HasPrefix(words[i+1].Value, "-")):
			i++
			s.value = words[i].Value
		}
		out = append(out, s)
	}
	return out
}

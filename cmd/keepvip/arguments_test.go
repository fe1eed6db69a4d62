package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestArgumentsThatAreNotTakenAreExplained(t *testing.T) {
	valid := write(t, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n")
	tests := []struct {
		line string
		want string
	}{
		{"run --vip 10.0.0.1 --preempt no", `"no" is an argument of its own: a flag that is true or false takes its value after an equals sign, as --preempt=false`},
		{"config validate --vip 10.0.0.1 --realtime true", `"true" is an argument of its own: a flag that is true or false takes its value after an equals sign, as --realtime=true`},
		{"hold --force no", `"no" is an argument of its own: a flag that is true or false takes its value after an equals sign, as --force=false`},
		{"run 10.0.0.1", `keepvip run takes no argument, but "10.0.0.1" is given, want --vip 10.0.0.1`},
		{"manifest pod 10.0.0.1/24", `keepvip manifest pod takes no argument, but "10.0.0.1/24" is given, want --vip 10.0.0.1/24`},
		{"run keepvip.yaml", `keepvip run takes no argument, but "keepvip.yaml" is given, want --config keepvip.yaml if that is the configuration`},
		{"check --once keepvip.yaml", `keepvip check takes no argument, but "keepvip.yaml" is given, want --config keepvip.yaml if that is the configuration`},
		{"reload apiserver", `keepvip reload takes no argument, but "apiserver" is given`},
		{"key generate /etc/keepvip/key", `keepvip key generate takes no argument, but "/etc/keepvip/key" is given, want --out /etc/keepvip/key`},
		{"key fingerprint", "keepvip key fingerprint needs the FILE of a key"},
		{"member add", "keepvip member add needs the ADDRESS of a node"},
		{"member remove 10.0.0.1 10.0.0.2", `keepvip member remove takes one argument, the ADDRESS of a node, but "10.0.0.2" is given besides`},
		{"config validate " + valid + " b.yaml", `keepvip config validate takes one argument, FILE, but "b.yaml" is given besides`},
		{"config validate " + valid + " --config b.yaml", "the configuration is given twice, by --config b.yaml and as " + valid + ": want one of them"},
		{"config show a.yaml --config b.yaml", "the configuration is given twice, by --config b.yaml and as a.yaml: want one of them"},
		{"config fix", `unknown command "fix" for "keepvip config", want one of schema, show, validate`},
		{"config valdate", `unknown command "valdate" for "keepvip config", did you mean validate?`},
		{"member 10.0.0.1", `unknown command "10.0.0.1" for "keepvip member", want one of add, list, recover, remove`},
		{"statis", `unknown command "statis" for "keepvip", did you mean status?`},
		{"help statis", `unknown command "statis" for "keepvip", did you mean status?`},
		{"help config fix", `unknown command "fix" for "keepvip config", want one of schema, show, validate`},
		{"run -config a.yaml", "-config has one dash, want --config"},
		{"run -vip=10.0.0.1", "-vip has one dash, want --vip"},
		{"status --sockte /s", "unknown flag: --sockte, did you mean --socket?"},
		{"status --yaml", "unknown flag: --yaml; keepvip status --help has all of them"},
		{"run --address 10.0.0.1", "unknown flag: --address is kube-vip's: --vip ADDRESS"},
		{"run --controlplane", "unknown flag: --controlplane is kube-vip's: leave it out: keepvip always does this, or does not need it"},
		{"run --enableLoadBalancer", "unknown flag: --enableLoadBalancer is kube-vip's: --spread direct has every healthy node serve its share"},
		{"status -x", "unknown shorthand flag: 'x' in -x; keepvip status --help has all of them"},
		{"status --interval 5", `--interval "5", want a duration with its unit, such as 100ms or 2s`},
		{"handover --timeout soon", `--timeout "soon", want a duration with its unit, such as 100ms or 2s`},
		{"hold --force=maybe", `--force "maybe", want true or false`},
		{"status -w=maybe", `--watch "maybe", want true or false`},
		{"drill --port 66443 apiserver", `--port "66443", want a number from 0 to 65535`},
		{"drill --stop --check apiserver", "--stop and --check are given, want one of them"},
		{"drill --everywhere --watch 5s apiserver", "--watch and --everywhere are given, want one of them"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			code, out, errs := keepvip(t, strings.Fields(tt.line)...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, out)
			assert.Equal(t, "keepvip: "+strings.TrimPrefix(tt.want, "keepvip: ")+"\n", errs)
		})
	}
}

func TestConfigCommandsTakeTheFileAsArgument(t *testing.T) {
	file := write(t, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n")
	code, out, errs := keepvip(t, "config", "validate", file)
	require.Equal(t, exitOK, code, errs)
	assert.Equal(t, "the configuration is valid\n", out)
	code, out, errs = keepvip(t, "config", "show", file)
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "vips[0].addresses: 10.0.0.1 # "+file+":4\n")
	code, _, errs = keepvip(t, "config", "validate", "/no/such/file")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "/no/such/file: no such file")
}

func TestEveryCommandJudgesItsArguments(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		assert.NotNil(t, cmd.Args, "%s would refuse an argument with cobra's text, or ignore it", cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
}

func TestGroupsAloneAndHelpPrintTheHelp(t *testing.T) {
	for _, line := range []string{"", "config", "help", "help config", "help config show", "config show --help"} {
		code, out, errs := keepvip(t, strings.Fields(line)...)
		assert.Equal(t, exitOK, code, line)
		assert.Contains(t, out, "Usage:", line)
		assert.Empty(t, errs, line)
	}
}

func TestVersionFlagPrintsTheVersion(t *testing.T) {
	_, want, _ := keepvip(t, "version")
	code, out, errs := keepvip(t, "--version")
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, strings.Replace(want, "keepvip ", "keepvip version ", 1), out)
}

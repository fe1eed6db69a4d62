package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
)

// newRoot makes the command line with all commands.
func newRoot() *cobra.Command {
	root := rootOf(
		newRun(), newFollow(), newKeepalived(), newStatus(), newHistory(), newExplain(), newSpread(), newEndpoint(), newCheck(), newDoctor(), newManifest(), newConfig(), newLint(), newConvert(), newKey(), newAnnounce(), newHandover(), newDrill(), newDrain(), newHold(), newResume(), newReload(), newLogLevel(), newMember(), newCleanup(), newCommands(), newVersion(),
	)
	for _, c := range root.Commands() {
		c.SuggestFor = alsoCalled(c.Name())
	}
	// cobra's own takes a shell that it does not know for a question about itself.
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Args, c.SuggestionsMinimumDistance = noWord, 2
		c.RunE = func(cmd *cobra.Command, _ []string) error { return failed(cmd.Help()) } // without it the arguments are not looked at
	}
	return root
}

// alsoCalled are the words by which other programs know what a command does.
func alsoCalled(command string) []string {
	return map[string][]string{
		"handover": {"failover", "failback", "move", "switchover", "switch", "transfer", "stepdown", "step-down", "takeover"},
		"status":   {"list", "ls", "get", "show", "info", "ps", "who", "describe"},
		"run":      {"start", "daemon", "serve", "server", "manager", "up"},
		"drain":    {"cordon", "evacuate", "stop", "release"},
		"resume":   {"uncordon", "unhold", "undrain", "release"},
		"hold":     {"pause", "freeze", "maintenance", "disable", "stop"},
		"history":  {"events", "log", "logs"},
		"doctor":   {"diagnose", "preflight", "verify", "validate"},
		"convert":  {"migrate", "import"},
	}[command]
}

// rootFor makes as much of it as a command line needs. Of a process that goes on for months that is its own command: the flags of all others
// are half of the memory that a daemon with one virtual address has allocated.
func rootFor(args []string) *cobra.Command {
	if len(args) > 0 {
		switch args[0] {
		case "run":
			return rootOf(newRun())
		case "follow":
			return rootOf(newFollow())
		case "keepalived":
			return rootOf(newKeepalived())
		}
	}
	return newRoot()
}

// rootOf makes a command line with these commands. It sets no template of cobra: one alone brings text/template, by which the linker keeps
// every method that there is, and the binary grows by 2 MB.
func rootOf(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Version: strings.TrimPrefix(versionText(), "keepvip "),
		Use:     "keepvip",
		Short:   "Keep a virtual IP address on one of several nodes",
		Long: "keepvip keeps a virtual IP address on one of several nodes: one unchanged configuration on every node,\n" +
			"an election by VRRP or Raft, and a health check of the local apiserver that decides who is fit to hold it.\n\n" +
			"When something is wrong: `keepvip status` says who holds the address, `explain` why and what to do, `history` what\n" +
			"has happened, and `doctor` what is wrong with this host and its network. Each names causes by a code, KV and three\n" +
			"digits, which docs/troubleshooting.md explains.",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	setHelp(root)
	return group(root, commands...)
}

// configFlags are the flags of a command that reads the configuration.
type configFlags struct {
	file  string
	conf  keepalivedConf
	flags *config.Flags
}

// bindConfig gives cmd a flag for every option that there is.
func bindConfig(cmd *cobra.Command) *configFlags {
	f := &configFlags{flags: config.NewFlags()}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.file, "config", "", "the configuration file")
	standsFor(cmd, "config", config.EnvFile)
	f.conf.options.InMemory = true
	fs.StringVar(&f.conf.path, "keepalived-conf", "", "a keepalived.conf that is run as it is, in place of --config")
	standsFor(cmd, "keepalived-conf", config.EnvConf)
	fs.BoolVar(&f.conf.options.Strict, "strict", false, "with --keepalived-conf, refuse what keepalived -t complains of, although keepalived runs it by other values")
	for o, v := range f.flags.All() {
		flag := fs.VarPF(v, o.Flag, "", o.Help)
		standsFor(cmd, o.Flag, o.Env())
		if o.IsBool() {
			flag.NoOptDefVal = "true"
		}
	}
	return f
}

// argument takes the file that is named without --config.
func (f *configFlags) argument(args []string) error {
	switch {
	case len(args) == 0:
	case f.file != "":
		return fmt.Errorf("the configuration is given twice, by --config %s and as %s: want one of them", f.file, args[0])
	default:
		f.file = args[0]
	}
	return nil
}

func (f *configFlags) input() config.Input {
	return config.Input{File: f.file, Conf: f.conf.path, Convert: f.conf.read, Flags: f.flags.Given(), Env: os.Environ()}
}

// setFlag gives an option a value as the command line would.
func (f *configFlags) setFlag(name, value string) error {
	for o, v := range f.flags.All() {
		if o.Flag == name {
			return v.Set(value)
		}
	}
	return fmt.Errorf("no option --%s", name)
}

// load reads the configuration from all its sources.
func (f *configFlags) load() (*config.Config, error) { return config.Load(f.input()) }

// bindSocket is the socket of a command that asks a running keepvip.
func bindSocket(cmd *cobra.Command) *string {
	return bindOption(cmd, "socket", "the unix socket of the running keepvip")
}

// bindStateDir is the state directory of the keepvip of this node.
func bindStateDir(cmd *cobra.Command) *string {
	return bindOption(cmd, "stateDir", "the state directory, for when no keepvip runs")
}

// bindOption gives cmd one option of the configuration: its value from any source but a file, without the need for a
// configuration that is valid here.
func bindOption(cmd *cobra.Command, key, help string) *string {
	all := config.Options()
	o := all[slices.IndexFunc(all, func(o config.Option) bool { return o.Key == key })]
	value := cmd.Flags().String(o.Flag, cmp.Or(os.Getenv(o.Env()), o.Default), help)
	standsFor(cmd, o.Flag, o.Env())
	return value
}

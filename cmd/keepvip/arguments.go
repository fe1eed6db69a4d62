package main

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/kubevip"
)

// group makes a command that only holds others: alone it prints its help, and what is none of them is an error.
func group(cmd *cobra.Command, of ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(of...)
	cmd.SuggestionsMinimumDistance = 2 // letters
	cmd.Args = noWord
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return failed(cmd.Help()) }
	return cmd
}

func unknownCommand(of *cobra.Command, word string) error {
	like := meant(of, word)
	if like == nil {
		like = of.SuggestionsFor(word)
	}
	if len(like) > 0 {
		return fmt.Errorf("unknown command %q for %q, did you mean %s?", word, of.CommandPath(), strings.Join(like, " or "))
	}
	var have []string
	for _, c := range of.Commands() {
		if c.IsAvailableCommand() {
			have = append(have, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q, want one of %s", word, of.CommandPath(), strings.Join(have, ", "))
}

// noWord refuses what is none of the commands below this one.
func noWord(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

// meant are the commands that say of themselves that the word means them: other programs call them so.
func meant(of *cobra.Command, word string) (out []string) {
	for _, c := range of.Commands() {
		if slices.ContainsFunc(c.SuggestFor, func(s string) bool { return strings.EqualFold(s, word) }) {
			out = append(out, c.Name())
		}
	}
	return out
}

// newHelp replaces cobra's, which prints its error on standard output and exits with 0.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(of, slices.Concat(rest, args)[0])
			}
			of.InitDefaultHelpFlag()
			return failed(of.Help())
		},
	}
}

// noArguments says where the value belongs that somebody has given as an argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if err := noLoneBool(cmd, args); err != nil || len(args) == 0 {
		return err
	}
	remedy := ""
	switch {
	case cmd.Flags().Lookup("vip") != nil && isAddress(args[0]):
		remedy = ", want --vip " + args[0]
	case cmd.Flags().Lookup("config") != nil:
		remedy = fmt.Sprintf(", want --config %s if that is the configuration", args[0])
	case cmd.Flags().Lookup("out") != nil:
		remedy = ", want --out " + args[0]
	}
	return fmt.Errorf("%s takes no argument, but %q is given%s", cmd.CommandPath(), args[0], remedy)
}

func isAddress(s string) bool {
	address, _, _ := strings.Cut(s, "/")
	_, err := netip.ParseAddr(address)
	return err == nil
}

// noLoneBool refuses `--preempt no`: a flag that may stand alone takes its value after an equals sign only.
func noLoneBool(cmd *cobra.Command, args []string) error {
	words := map[string]bool{"true": true, "yes": true, "on": true, "false": false, "no": false, "off": false}
	for _, a := range args {
		value, ok := words[a]
		if !ok {
			continue
		}
		var err error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" && err == nil {
				err = fmt.Errorf("%q is an argument of its own: a flag that is true or false takes its value after an equals sign, as --%s=%t", a, f.Name, value)
			}
		})
		return err
	}
	return nil
}

// arguments wants at least `least` of what is called name and at most `most` of them.
func arguments(name string, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := noLoneBool(cmd, args); err != nil {
			return err
		}
		switch {
		case len(args) < least:
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), name)
		case len(args) > most:
			return fmt.Errorf("%s takes one argument, %s, but %q is given besides", cmd.CommandPath(), name, args[most])
		}
		return nil
	}
}

// anyNumber is for arguments that may be repeated without end.
const anyNumber = math.MaxInt

// flagError says what is wrong with a flag, and what to write instead: the words of the parser are Go's.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return unknownFlag(cmd, unknown)
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f := invalid.GetFlag()
	want, ok := map[string]string{
		"bool": "true or false", "duration": "a duration with its unit, such as 100ms or 2s", "uint16": "a number from 0 to 65535",
	}[f.Value.Type()]
	if !ok {
		return err // a value of keepvip's own, which says what it wants
	}
	return fmt.Errorf("--%s %q, want %s", f.Name, invalid.GetValue(), want)
}

func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "=")
	if cmd.Flags().Lookup(name) != nil {
		return fmt.Errorf("-%s has one dash, want --%s", name, name)
	}
	if remedy := kubevip.FlagRemedy(unknown.GetSpecifiedName()); remedy != "" {
		return fmt.Errorf("%w is kube-vip's: %s", unknown, remedy)
	}
	var have []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { have = append(have, f.Name) })
	if like := config.Nearest(unknown.GetSpecifiedName(), have); like != "" {
		return fmt.Errorf("%w, did you mean --%s?", unknown, like)
	}
	return fmt.Errorf("%w; %s --help has all of them", unknown, cmd.CommandPath())
}

// oneOf refuses flags that exclude each other.
func oneOf(cmd *cobra.Command, flags ...string) error {
	var given []string
	for _, f := range flags {
		if cmd.Flags().Changed(f) {
			given = append(given, "--"+f)
		}
	}
	if len(given) < 2 {
		return nil
	}
	return fmt.Errorf("%s are given, want one of them", strings.Join(given, " and "))
}

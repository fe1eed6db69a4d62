package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// helpWidth bounds the lines of a help text, in columns.
	helpWidth = 100
	// annotationEnv is the annotation of a flag that an environment variable can stand for.
	annotationEnv = "keepvip_env"
)

// standsFor says on cmd's help which environment variable gives a flag its value.
func standsFor(cmd *cobra.Command, flag, env string) {
	_ = cmd.Flags().SetAnnotation(flag, annotationEnv, []string{env}) // the flag is there
}

// envOf is the environment variable of a flag; empty for one that has none.
func envOf(f *pflag.Flag) string { return strings.Join(f.Annotations[annotationEnv], "") }

// setHelp has every command below root explained in lines of at most helpWidth columns.
func setHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = io.WriteString(cmd.OutOrStdout(), helpText(cmd)) // cobra has no way for the error
	})
}

func helpText(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString(wrapped(cmp.Or(cmd.Long, cmd.Short+"."), "") + "\nUsage:\n")
	b.WriteString(wrapped(cmd.UseLine(), "  "))
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				list := wrapped(sub.Short, strings.Repeat(" ", sub.NamePadding()+3))
				fmt.Fprintf(&b, "  %-*s %s", sub.NamePadding(), sub.Name(), strings.TrimLeft(list, " "))
			}
		}
		b.WriteString(wrapped(fmt.Sprintf("\n`%s COMMAND --help` says more about each.", cmd.CommandPath()), ""))
	}
	b.WriteString(allFlagsText(cmd.LocalFlags()))
	return b.String()
}

// commonFlags are those that most people need of a command that has every option as a flag.
var commonFlags = []string{"config", "vip", "interface", "election", "priority", "check", "peer", "key-file", "spread", "socket", "output", "help"}

// manyFlags is how many a reader looks through.
const manyFlags = 30

// allFlagsText has the flags of a command, the common ones first where there are very many.
func allFlagsText(all *pflag.FlagSet) string {
	var count int
	all.VisitAll(func(*pflag.Flag) { count++ })
	common := func(f *pflag.Flag) bool { return slices.Contains(commonFlags, f.Name) || envOf(f) == "" }
	switch text := flagsText(all, func(*pflag.Flag) bool { return true }); {
	case text == "":
		return ""
	case count <= manyFlags:
		return "\nFlags:\n" + text
	}
	return "\nCommon flags:\n" + flagsText(all, common) + "\nOther flags (docs/configuration.md has them by subject):\n" +
		flagsText(all, func(f *pflag.Flag) bool { return !common(f) })
}

// flagsText has two lines and more for each flag that is wanted: its names with its environment variable, and what it does.
func flagsText(all *pflag.FlagSet, wanted func(*pflag.Flag) bool) string {
	var b strings.Builder
	all.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || !wanted(f) {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		head := "    --" + f.Name
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", --" + f.Name
		}
		if value != "" && value != "bool" {
			head += " " + value
		}
		if env := envOf(f); env != "" {
			head += "  (" + env + ")"
		}
		none := []string{"", "false", "[]"}
		if envOf(f) == "" {
			none = append(none, "0", "0s") // what the command does without it its help says; an option of the configuration may be 0
		}
		if !slices.Contains(none, f.DefValue) {
			help += " (default " + f.DefValue + ")"
		}
		b.WriteString("  " + head + "\n" + wrapped(help, strings.Repeat(" ", 10)))
	})
	return b.String()
}

// wrapped sets text in lines of at most helpWidth columns, each behind indent. Lines that begin with a space, and empty ones, stay as they
// are; others that follow one another are one paragraph.
func wrapped(text, indent string) string {
	var b, line strings.Builder
	end := func() {
		if line.Len() > 0 {
			b.WriteString(indent + line.String() + "\n")
			line.Reset()
		}
	}
	for given := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if given == "" || given[0] == ' ' {
			end()
			b.WriteString(given + "\n")
			continue
		}
		for word := range strings.FieldsSeq(given) {
			if utf8.RuneCountInString(indent+line.String()+" "+word) > helpWidth {
				end()
			}
			if line.Len() > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(word)
		}
	}
	end()
	return b.String()
}

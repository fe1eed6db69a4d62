package main

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandDoc is one command as a manual describes it.
type commandDoc struct {
	Path     string       `json:"path"` // "keepvip config show"
	Usage    string       `json:"usage"`
	Short    string       `json:"short"`
	Long     string       `json:"long,omitempty"`
	Example  string       `json:"example,omitempty"`
	Flags    []flagDoc    `json:"flags,omitempty"`
	Commands []commandDoc `json:"commands,omitempty"`
}

type flagDoc struct {
	Name    string `json:"name"`            // without dashes
	Short   string `json:"short,omitempty"` // the letter that stands for it
	Env     string `json:"env,omitempty"`   // the environment variable that stands for it
	Value   string `json:"value,omitempty"`
	Default string `json:"default,omitempty"`
	Help    string `json:"help"`
}

// newCommands is hidden: manual pages are made from it, so that what renders them is no part of this program.
func newCommands() *cobra.Command {
	return &cobra.Command{
		Use:    "commands",
		Short:  "Print every command and flag as JSON",
		Args:   noArguments,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return failed(enc.Encode(describe(cmd.Root())))
		},
	}
}

func describe(cmd *cobra.Command) commandDoc {
	doc := commandDoc{Path: cmd.CommandPath(), Usage: cmd.UseLine(), Short: cmd.Short, Long: cmd.Long, Example: cmd.Example}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		doc.Flags = append(doc.Flags, flagDoc{Name: f.Name, Short: f.Shorthand, Env: envOf(f), Value: value, Default: f.DefValue, Help: help})
	})
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !sub.Hidden {
			doc.Commands = append(doc.Commands, describe(sub))
		}
	}
	return doc
}

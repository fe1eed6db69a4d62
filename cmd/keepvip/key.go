package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
)

func newKey() *cobra.Command {
	return group(&cobra.Command{Use: "key", Short: "Make, derive or compare keys"}, newKeyGenerate(), newKeyDerive(), newKeyFingerprint())
}

func newKeyGenerate() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "generate",
		Short:   "Make a random key",
		Long:    "Makes a random key of 32 bytes and prints it in hex, or writes it to a new file that only its owner can read.",
		Example: "  keepvip key generate --out /etc/keepvip/key",
		Args:    noArguments,
	}
	out := cmd.Flags().String("out", "", "the file to write; it must not exist yet")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return failed(writeKey(cmd, *out, config.NewKey()))
	}
	return cmd
}

// purposes are what a key can be derived for.
func purposes() []string { return []string{config.ForFollowers} }

func newKeyDerive() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "derive --for followers FILE",
		Short: "Derive the key of followers from the shared key",
		Long: "Derives the followers' key from the shared key in FILE, and prints it in hex, or writes it to a new file that only its owner can read.\n" +
			"With the followers' key a host can ask members who they are (`keepvip follow`, follow.keyFile), and nothing else: it cannot hold an address, ask\n" +
			"for one, or speak as a member. Nobody can compute the shared key from it. After a change of the shared key derive the followers' key again.",
		Example: "  keepvip key derive --for followers --out follower.key /etc/keepvip/key",
		Args:    arguments("the FILE of the shared key", 1, 1),
	}
	purpose := cmd.Flags().String("for", "", "for whom the key is: followers")
	out := cmd.Flags().String("out", "", "the file to write; it must not exist yet")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(purposes(), cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if !slices.Contains(purposes(), *purpose) {
			return fmt.Errorf("--for %q, want %s", *purpose, strings.Join(purposes(), " or "))
		}
		secret, err := config.LoadKey(paths[0])
		if err != nil {
			return failed(err)
		}
		return failed(writeKey(cmd, *out, config.KeyFile(config.DeriveKey(secret, *purpose))))
	}
	return cmd
}

// writeKey prints a key, or writes it to a new file.
func writeKey(cmd *cobra.Command, path string, key []byte) error {
	if path != "" {
		return writeNew(path, key)
	}
	_, err := cmd.OutOrStdout().Write(key)
	return err
}

// writeNew writes a file that was not there, for its owner alone.
func writeNew(path string, data []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already and was not touched: remove it, or name another file with --out", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: make its directory first, with mkdir -p -m 750 %s", err, filepath.Dir(path))
	case err != nil:
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// fingerprintDoc is what key fingerprint prints as JSON.
type fingerprintDoc struct {
	Keys []keyPrint `json:"keys"`
}

type keyPrint struct {
	File        string `json:"file"`
	Fingerprint string `json:"fingerprint"`
}

func newKeyFingerprint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fingerprint FILE...",
		Short: "Print what tells keys apart without giving them away",
		Long:  "Prints the fingerprint of each key file, as `keepvip status` shows it: nodes with the same key have the same one.",
		Args:  arguments("the FILE of a key", 1, anyNumber),
	}
	output := bindOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		var doc fingerprintDoc
		for _, path := range paths {
			secret, err := config.LoadKey(path)
			if err != nil {
				return failed(err)
			}
			doc.Keys = append(doc.Keys, keyPrint{File: path, Fingerprint: config.Fingerprint(secret)})
		}
		return output.print(cmd.OutOrStdout(), kindFingerprint, doc, doc.text)
	}
	return cmd
}

func (d fingerprintDoc) text() string {
	var b strings.Builder
	for _, k := range d.Keys {
		b.WriteString(k.Fingerprint + "  " + k.File + "\n")
	}
	return b.String()
}

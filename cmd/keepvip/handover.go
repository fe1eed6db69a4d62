package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/node/control"
)

const (
	exitCodes      = "\n\nExit codes: 0 done, 3 no other node could take it, 4 it was not taken in time (the address stays here then)."
	drainExitCodes = "\n\nExit codes: 0 done, 3 no other node could take it, 4 it was not taken in time (the address stays here then), or with\n" +
		"--wait connections were left. After 3 and 4 this node remains drained."
)

func newHandover() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "handover [NAME ...]",
		Args:  arguments("NAME", 0, anyNumber),
		Short: "Pass the address on to another node, without loss",
		Long: "Passes the named virtual addresses, or all that this node holds, on to another node, and returns when that node\n" +
			"has announced them. With preemption and the highest priority this node asks for them again immediately: drain it instead." + exitCodes,
	}
	to := cmd.Flags().String("to", "", "the node, by its name or address; without it the fittest")
	timeout := cmd.Flags().Duration("timeout", 10*time.Second, "how long it may take")
	asking(cmd, func(ctx context.Context, c *control.Client, names []string) error {
		return c.Handover(ctx, names, *to, *timeout)
	})
	_ = cmd.RegisterFlagCompletionFunc("to", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		socket := cmd.Flag("socket").Value.String()
		return names(&socket, otherNodes)(cmd, nil, typed)
	}) // the flag is there
	return cmd
}

func newDrain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain [NAME ...]",
		Args:  arguments("NAME", 0, anyNumber),
		Short: "Pass the address on, and keep it away from this node until resume",
		Long: "Makes this node come last for the named virtual addresses, or for all, until `keepvip resume` or a restart, and\n" +
			"passes on what it holds. It takes an address only if no other node is fit.\n\n" +
			"With --wait the TCP connections that came through this node go on here, while new ones begin at the next node: keepvip\n" +
			"there sends on what clients say on the older ones. The command returns when they have ended; at the timeout it resets\n" +
			"them and returns 4, and the address is at the next node." + drainExitCodes,
	}
	wait := cmd.Flags().Bool("wait", false, "return when the connections that came through this node have ended")
	timeout := cmd.Flags().Duration("timeout", time.Minute, "how long it may take")
	return asking(cmd, func(ctx context.Context, c *control.Client, names []string) error {
		return c.Drain(ctx, names, *wait, *timeout)
	})
}

func newHold() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hold [NAME ...]",
		Args:  arguments("NAME", 0, anyNumber),
		Short: "Keep this node out until resume, over restarts",
		Long: "Passes on what this node holds of the named virtual addresses, or of all, and keeps it out of their elections until\n" +
			"`keepvip resume`, also over a restart or a reboot. While no other node could take an address nothing changes, unless\n" +
			"--force says that nobody has it then." + exitCodes,
	}
	reason := cmd.Flags().String("reason", "", "why, as status shows it on every node; at most 120 bytes")
	force := cmd.Flags().Bool("force", false, "give the address up even if no other node could take it")
	timeout := cmd.Flags().Duration("timeout", time.Minute, "how long it may take")
	return asking(cmd, func(ctx context.Context, c *control.Client, names []string) error {
		return c.Hold(ctx, names, *reason, *force, *timeout)
	})
}

func newResume() *cobra.Command {
	return asking(&cobra.Command{
		Use:   "resume [NAME ...]",
		Args:  arguments("NAME", 0, anyNumber),
		Short: "End drain and hold",
		Long:  "Lets this node take part again in the elections of the named virtual addresses, or of all. It does not take an address by itself, unless it has the higher priority.",
	}, func(ctx context.Context, c *control.Client, names []string) error {
		return c.Resume(ctx, names)
	})
}

// asking makes cmd one that asks the running keepvip to do something to virtual addresses, and confirms it.
func asking(cmd *cobra.Command, ask func(ctx context.Context, c *control.Client, args []string) error) *cobra.Command {
	socket, output := bindSocket(cmd), bindOutput(cmd)
	cmd.ValidArgsFunction = names(socket, vipNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, begin := control.NewClient(*socket), time.Now()
		if err := ask(cmd.Context(), c, args); err != nil {
			return moved(err)
		}
		doc := confirm(cmd.Context(), c, cmd.Name(), args, time.Since(begin))
		if err := doc.stayed(); err != nil {
			return err
		}
		return output.print(cmd.OutOrStdout(), kindConfirmation, doc, doc.text)
	}
	return cmd
}

// moved gives an error the exit code that scripts look for.
func moved(err error) error {
	var kind *control.KindError
	if !errors.As(err, &kind) {
		return failed(err)
	}
	switch kind.Kind {
	case control.KindNoTaker:
		return codedError{error: err, code: exitNoTaker}
	case control.KindTimeout:
		return codedError{error: err, code: exitTimeout}
	}
	return failed(err)
}

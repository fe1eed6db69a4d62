package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/control"
)

const exitCodes = "\n\nExit codes: 0 done, 3 no other node could take it, 4 it was not taken in time (the address stays here then)."

func newHandover() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "handover [NAME ...]",
		Short: "Pass the address on to another node, without loss",
		Long: "Passes the named virtual addresses, or all that this node holds, on to another node, and returns when that node\n" +
			"has announced them. With preemption and the highest priority this node asks for them again at once: drain it instead." + exitCodes,
	}
	socket := bindSocket(cmd)
	to := cmd.Flags().String("to", "", "the node, by its name or address; without it the fittest")
	timeout := cmd.Flags().Duration("timeout", 10*time.Second, "how long it may take")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return moved(control.NewClient(*socket).Handover(cmd.Context(), names, *to, *timeout))
	}
	return cmd
}

func newDrain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain [NAME ...]",
		Short: "Pass the address on, and keep it away from this node until resume",
		Long: "Makes this node come last for the named virtual addresses, or for all, until `keepvip resume` or a restart, and\n" +
			"passes on what it holds. It takes an address only if no other node is fit." + exitCodes,
	}
	socket := bindSocket(cmd)
	timeout := cmd.Flags().Duration("timeout", time.Minute, "how long it may take")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return moved(control.NewClient(*socket).Drain(cmd.Context(), names, *timeout))
	}
	return cmd
}

func newResume() *cobra.Command {
	cmd := &cobra.Command{Use: "resume [NAME ...]", Short: "End drain"}
	socket := bindSocket(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return failed(control.NewClient(*socket).Resume(cmd.Context(), names))
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

func (d *daemon) handover(ctx context.Context, names []string, to string) error {
	return kindOf(d.agent.Handover(ctx, names, to))
}

func (d *daemon) drain(ctx context.Context, names []string) error {
	return kindOf(d.agent.Drain(ctx, names))
}

// kindOf tells the client what to make of an error of the election.
func kindOf(err error) error {
	switch {
	case errors.Is(err, election.ErrTimeout):
		return &control.KindError{Kind: control.KindTimeout, Err: err}
	case errors.Is(err, election.ErrNoTaker):
		return &control.KindError{Kind: control.KindNoTaker, Err: err}
	}
	return err
}

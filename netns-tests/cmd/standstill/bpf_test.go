package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// Each call is of the function after the end of the program, whose loop ends by itself alone.
func TestProgramCallsItsLoopOnceForEachQuarter(t *testing.T) {
	for quarters := 1; quarters <= maxQuarters; quarters++ {
		code, calls := program(quarters), 0
		exit := instruction{Code: unix.BPF_JMP | unix.BPF_EXIT}
		for i, in := range code {
			if in.Code == unix.BPF_JMP|unix.BPF_CALL {
				calls++
				assert.Equal(t, quarters+2, i+1+int(in.Immediate))
			}
		}
		loop := code[quarters+2:]
		assert.Equal(t, quarters, calls)
		assert.Equal(t, exit, code[quarters+1])
		assert.Equal(t, []instruction{{Code: moveR0}, {Code: mayGoto, Offset: 1}, {Code: unix.BPF_JMP | unix.BPF_JA, Offset: -2}, exit}, loop)
	}
}

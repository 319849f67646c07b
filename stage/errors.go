package stage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What takes the place of a stage's index in [StageError] and [AbandonedError].
const (
	StageSource = -1 // the source
	StageSink   = -2 // the sink
)

// StageError says where in a pipeline an error occurred.
type StageError struct {
	Stage int // the stage's index from 0, StageSource or StageSink
	Err   error
}

// Error names stage and cause.
func (e *StageError) Error() string { return stageName(e.Stage) + ": " + e.Err.Error() }

// Unwrap returns what the processor, source or sink reported.
func (e *StageError) Unwrap() error { return e.Err }

// AbandonedError says how many goroutines were still inside user code when a run ended, because
// they were given up by [Detach] or [Pipeline.ProcessUntil]. They leave when that code returns.
type AbandonedError struct {
	Stages map[int]int // goroutines by stage index, StageSource or StageSink
}

// Error says how many were left behind.
func (e *AbandonedError) Error() string {
	var b strings.Builder
	for _, stage := range slices.Sorted(maps.Keys(e.Stages)) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: %d", stageName(stage), e.Stages[stage])
	}
	return "stage: workers left behind: " + b.String()
}

func stageName(stage int) string {
	switch stage {
	case StageSource:
		return "source"
	case StageSink:
		return "sink"
	}
	return fmt.Sprintf("stage %d", stage)
}

package fetch

import "time"

// share is a body's part of the budget.
type share struct {
	reserved int64 // bytes of the hold that belong to the body
	windows  int64 // bytes that its decoders keep
	counted  int64 // of them, in the hold
}

// freeWindows is how many bytes the decoders of a small body may keep before they count as part of it. Common decoders ask
// for that much and take less. The bytes that those of a large body keep count from the first one.
const freeWindows = 4 << 20

// smallBody is how many decoded bytes make a body a large one when there are more.
const smallBody = 1 << 20

// takeWindow waits until the decoders of the body may keep n more bytes.
func (b *body) takeWindow(n int64) error {
	b.share.windows += n
	return b.countWindows()
}

// countWindows waits until all that the decoders keep may be in memory.
func (b *body) countWindows() error {
	n := b.share.windows - b.share.counted
	if b.got <= smallBody {
		n -= freeWindows
	}
	if n <= 0 {
		return nil
	}
	if err := b.claim(n); err != nil {
		return err
	}
	b.share.counted += n
	return nil
}

// reserve waits until n more bytes of body may be in memory.
func (b *body) reserve(n int64) error {
	if err := b.claim(n); err != nil {
		return err
	}
	b.share.reserved += n
	return nil
}

// claim adds n bytes to the hold, and waits until it may. The clock stands still meanwhile: the server is not to blame.
func (b *body) claim(n int64) error {
	x := b.of
	budget, hold := x.client.config.Bodies, x.r.Hold
	if x.r.Unbounded {
		budget.Add(hold, n)
		return nil
	}
	if budget.TryGrow(hold, n) {
		return nil
	}
	x.clock.pause()
	defer x.clock.goOn()
	if x.r.Progress != nil {
		x.r.Progress.Enter(StepMemory)
		began := time.Now()
		defer func() { x.r.Progress.WaitedForMemory(time.Since(began)); x.r.Progress.Enter(StepBody) }()
	}
	return budget.Grow(x.life, hold, n)
}

// keepReserved gives back the reserved bytes above n.
func (b *body) keepReserved(n int) {
	b.of.client.config.Bodies.Shrink(b.of.r.Hold, b.share.reserved-int64(n))
	b.share.reserved = int64(n)
}

// giveWindows gives back the bytes that the decoders have kept.
func (b *body) giveWindows() { b.of.client.config.Bodies.Shrink(b.of.r.Hold, b.share.counted) }

package browser

// MembersOf returns the processes of a group that have not ended.
func MembersOf(group int) []int { return membersOf(group) }

// AwaitEnd waits until a group that was killed has ended.
func AwaitEnd(group int) { awaitEnd(group) }

package tegenaria

// RaceEnabled tells that the race detector is on.
const RaceEnabled = raceEnabled

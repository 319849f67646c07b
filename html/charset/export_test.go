package charset

// MaxLabel is the length of the longest label.
const MaxLabel = maxLabel

// Labels returns all labels and what they mean.
func Labels() map[string]Encoding { return labelled() }

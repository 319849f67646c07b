// Package setting reads and sets the fields of structs by name and as text: settings by their dotted JSON names, arguments of
// spiders by theirs. [Fill], [LeftOut] and [Negative] look at all fields, or several. It knows no setting itself.
//
// The way of a setting: [Split] takes its name apart, [Set] finds the field and reads the text by the field's type with [Parse].
// The other way, [List] returns all fields with their names and texts, and [JSON] writes them.
//
//	var s tegenaria.Settings
//	err := setting.Set(&s, setting.Split("politeness.delay"), "1s")
//	for _, leaf := range setting.List(&s) {
//		fmt.Println(leaf.Key, leaf.Text)
//	}
package setting

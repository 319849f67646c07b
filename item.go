package tegenaria

// ItemInterface is the type of items: any value that a parser extracts.
type ItemInterface interface{}

// ItemMeta is an item on its way through the pipelines. CtxId is that of the Context it came from.
type ItemMeta struct {
	CtxId string
	Item  ItemInterface
}

// NewItem makes an item from a value found in ctx's response.
func NewItem(ctx *Context, item ItemInterface) *ItemMeta {
	return &ItemMeta{CtxId: ctx.CtxId, Item: item}
}

// ItemEnd is how an item has ended, for the ItemEnded of [Events].
type ItemEnd struct {
	Item    *ItemMeta
	Request *Request // of the page that it came from; not to be changed
	Outcome string   // "scraped", "dropped" or "failed", as in Stats.ItemReasons
	Reason  string   // why it was dropped or has failed, in a few words, as in Stats.ItemReasons
	Err     error    // why in full, nil for a scraped item; of a dropped one the reason that was given to DropItem
}

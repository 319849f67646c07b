// The contestant of the race that is written on Crawlee, as its documentation shows it.
//
//	node main.mjs -url URL -out FILE [-c N] [-dir DIR]
//
// With -dir it keeps its queue and its items there, goes on with them when it is started again, and exports the items at its end, to a
// file that ends in .json.

import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";

import { CheerioCrawler, Configuration, log } from "@crawlee/cheerio";

// The race's flags have one dash.
const { values } = parseArgs({
	args: process.argv.slice(2).map((a) => a.replace(/^-(?=[a-z]+$)/, "--")),
	options: { url: { type: "string" }, out: { type: "string" }, c: { type: "string", default: "16" }, dir: { type: "string" } },
});
log.setLevel(log.LEVELS.OFF);
if (values.dir) {
	process.env.CRAWLEE_STORAGE_DIR = values.dir;
}
const items = values.dir ? undefined : createWriteStream(values.out);
const concurrency = Number(values.c);
const crawler = new CheerioCrawler(
	{
		minConcurrency: concurrency,
		maxConcurrency: concurrency,
		async requestHandler({ $, enqueueLinks, pushData }) {
			const product = $("div.product").first();
			if (product.length > 0) {
				const item = {
					sku: product.find(".sku").text(),
					title: product.find("h1.title").text(),
					price: product.find(".price").text(),
					description: product.find("p.description").text(),
					tags: product.find(".tags li").map((_, e) => $(e).text()).get(),
				};
				if (items) {
					items.write(`${JSON.stringify(item)}\n`);
				} else {
					await pushData(item);
				}
			}
			await enqueueLinks({ strategy: "same-hostname" });
		},
	},
	new Configuration(values.dir ? { purgeOnStart: false } : { persistStorage: false }),
);
await crawler.run([values.url]);
if (items) {
	items.end();
	await finished(items);
} else {
	await crawler.exportData(values.out);
}

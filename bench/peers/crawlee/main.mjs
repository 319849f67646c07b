// The contestant of the race that is written on Crawlee, as its documentation shows it.
//
//	node main.mjs -url URL -out FILE [-c N]

import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";

import { CheerioCrawler, Configuration, log } from "@crawlee/cheerio";

// The race's flags have one dash.
const { values } = parseArgs({
	args: process.argv.slice(2).map((a) => a.replace(/^-(?=[a-z]+$)/, "--")),
	options: { url: { type: "string" }, out: { type: "string" }, c: { type: "string", default: "16" } },
});
log.setLevel(log.LEVELS.OFF);
const items = createWriteStream(values.out);
const concurrency = Number(values.c);
const crawler = new CheerioCrawler(
	{
		minConcurrency: concurrency,
		maxConcurrency: concurrency,
		async requestHandler({ $, enqueueLinks }) {
			const product = $("div.product").first();
			if (product.length > 0) {
				const item = {
					sku: product.find(".sku").text(),
					title: product.find("h1.title").text(),
					price: product.find(".price").text(),
					description: product.find("p.description").text(),
					tags: product.find(".tags li").map((_, e) => $(e).text()).get(),
				};
				items.write(`${JSON.stringify(item)}\n`);
			}
			await enqueueLinks({ strategy: "same-hostname" });
		},
	},
	new Configuration({ persistStorage: false }),
);
await crawler.run([values.url]);
items.end();
await finished(items);

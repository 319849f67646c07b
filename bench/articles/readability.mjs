// Prints the main text that Readability.js finds in pages, as JSON, one line for each.
//
//	node readability.mjs FOLDER-OF-PACKAGES < paths

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "node_modules") + "/");
const { JSDOM, VirtualConsole } = require("jsdom");
const { Readability } = require("@mozilla/readability");

for (const path of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
	const dom = new JSDOM(readFileSync(path, "utf8"), { url: "http://localhost/page.html", virtualConsole: new VirtualConsole() });
	const article = new Readability(dom.window.document).parse();
	process.stdout.write(`${JSON.stringify(article?.textContent ?? "")}\n`);
	dom.window.close();
}

// Prints the Markdown that turndown makes of HTML. Both are JSON strings, one on each line.
//
//	node turndown.mjs FOLDER-OF-PACKAGES < pages

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "node_modules") + "/");
const TurndownService = require("turndown");
const { gfm } = require("turndown-plugin-gfm");

const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced" });
service.use(gfm);
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
	process.stdout.write(`${JSON.stringify(service.turndown(JSON.parse(line)))}\n`);
}

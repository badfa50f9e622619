// One file comes out for each page: its template with script and style inside, and a policy that
// allows these two by their hashes and nothing else; the explorer's may ask its own server.
// `--mode explore` makes the explorer. Non-goals: what stands on a report's page (lbolt writes it).
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");

/** Who made what the script consists of, and on which terms; of one licence the text stands once. */
function thanks(modules: Iterable<string>): string {
  const texts = new Map<string, string[]>();
  const homes = new Set<string>();
  for (const id of modules) {
    const home = /^.*\/node_modules\/(@[^/]+\/)?[^/]+\//.exec(id)?.[0];
    if (home !== undefined) homes.add(home);
  }
  for (const home of [...homes].sort()) {
    const { name, version } = JSON.parse(readFileSync(`${home}package.json`, "utf8"));
    const licence = readFileSync(`${home}LICENSE`, "utf8").replaceAll("--", "- -").trim();
    const lines = licence.split("\n");
    const whose = lines.filter((line) => /^copyright/i.test(line)).join("; ");
    const terms = lines.filter((line) => !/^copyright/i.test(line)).join("\n").trim();
    texts.set(terms, [...(texts.get(terms) ?? []), `${name} ${version}: ${whose}`]);
  }
  const parts = [...texts].map(([terms, whose]) => `${whose.join("\n")}\n\n${terms}`);
  return `<!--\nThe script has parts of these packages.\n\n${parts.join("\n\n")}\n-->`;
}

const hash = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** A text within a script or style element must not end it. */
function inline(name: string, text: string): string {
  const trimmed = text.trim();
  if (/<\/(script|style)|<!--/i.test(trimmed)) throw new Error(`${name} would end its element`);
  return trimmed;
}

/** A page: its template, its script, what comes of them, and whom it may ask. */
interface Page {
  template: string;
  script: string;
  built: string;
  asks: string[];
}

const REPORT: Page = {
  template: "page.html",
  script: "src/main.ts",
  built: "viewer.html",
  asks: [],
};
const EXPLORE: Page = {
  template: "explore.html",
  script: "src/explore/main.ts",
  built: "explore.html",
  asks: ["connect-src 'self'"],
};

function onePage(page: Page): Plugin {
  return {
    name: "one-page",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") script += part.code;
        else if (name.endsWith(".css")) style += part.source.toString();
        delete bundle[name];
      }
      const parts = {
        boot: inline("boot", read("src/boot.js")),
        script: inline("script", script),
        style: inline("style", style),
      };
      const policy = [
        "default-src 'none'",
        `script-src ${hash(parts.boot)} ${hash(parts.script)}`,
        `style-src ${hash(parts.style)}`,
        "img-src data: blob:",
        ...page.asks,
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      const values: Record<string, string> = {
        ...parts,
        policy,
        thanks: thanks(this.getModuleIds()),
      };
      const source = read(page.template).replace(/%(\w+)%/g, (whole, key: string) => {
        return values[key] ?? whole;
      });
      this.emitFile({ type: "asset", fileName: page.built, source });
    },
  };
}

export default defineConfig(({ mode }) => {
  const page = mode === "explore" ? EXPLORE : REPORT;
  return {
    // What is built is the same in every mode.
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    plugins: [onePage(page)],
    build: {
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      reportCompressedSize: false,
      rolldownOptions: { input: page.script, output: { format: "iife" } },
    },
  };
});

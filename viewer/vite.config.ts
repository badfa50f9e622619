// One file comes out: the template with script and style inside, and a policy that allows these two
// by their hashes and nothing else. Non-goals: what stands on a page (lbolt writes it).
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");

const hash = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** A text within a script or style element must not end it. */
function inline(name: string, text: string): string {
  const trimmed = text.trim();
  if (/<\/(script|style)|<!--/i.test(trimmed)) throw new Error(`${name} would end its element`);
  return trimmed;
}

function onePage(): Plugin {
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
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      const values: Record<string, string> = { ...parts, policy };
      const source = read("page.html").replace(/%(\w+)%/g, (whole, key: string) => {
        return values[key] ?? whole;
      });
      this.emitFile({ type: "asset", fileName: "viewer.html", source });
    },
  };
}

export default defineConfig({
  plugins: [onePage()],
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: { input: "src/main.ts", output: { format: "iife" } },
  },
});

/** The page as a plugin: its HTML, and its script bundled for browsers when the gateway starts. */
import { fileURLToPath } from 'node:url'
import { Elysia } from 'elysia'
import { build } from 'esbuild'

/** Under Node the programs run in compiled form. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL(`page.${extension}`, import.meta.url))],
  platform: 'browser',
  format: 'esm',
  bundle: true,
  minify: true,
  write: false
})
const script = outputFiles[0]?.text ?? ''

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Shop</title>
<h1>Shop</h1>
<form>
  <label>What <select name="sku"><option>tea<option>cake<option>air</select></label>
  <label>How many <input name="count" type="number" value="2" min="1" max="100"></label>
  <button>Order</button>
</form>
<ol aria-live="polite"></ol>
<script type="module" src="/page.js"></script>
</html>`

const answer = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } })

export const page = new Elysia()
  .get('/', () => answer(HTML, 'text/html; charset=utf-8'), { detail: { hide: true } })
  .get('/page.js', () => answer(script, 'text/javascript; charset=utf-8'), { detail: { hide: true } })

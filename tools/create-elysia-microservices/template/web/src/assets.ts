/** The web page as a plugin: its HTML, and its script, which is bundled when the program starts. */
import { fileURLToPath } from 'node:url'
import { Elysia } from 'elysia'
import { build } from 'esbuild'

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL(`page.${extension}`, import.meta.url))],
  platform: 'browser',
  format: 'esm',
  bundle: true,
  minify: true,
  write: false
})

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Orders</title>
<h1>Orders</h1>
<form><label>What <input name="item" value="tea" required></label> <button>Order</button></form>
<ul aria-live="polite"></ul>
<script type="module" src="/page.js"></script>
</html>`

const answer = (body: string, type: string) => () =>
  new Response(body, { headers: { 'content-type': `${type}; charset=utf-8` } })

export const page = new Elysia()
  .get('/', answer(HTML, 'text/html'))
  .get('/page.js', answer(outputFiles[0]?.text ?? '', 'text/javascript'))

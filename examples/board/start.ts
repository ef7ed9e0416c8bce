/** The program: builds the page, and serves it beside the service, on the port in `PORT`. */
import { fileURLToPath } from 'node:url'
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { build, type Rollup } from 'vite'
import { door, orders } from './orders.ts'

// The compiled program is one folder deeper than its source.
const root = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? 'page' : '../page', import.meta.url))
const { output } = (await build({
  root,
  configFile: false,
  logLevel: 'warn',
  build: { write: false }
})) as Rollup.RollupOutput

const app = new Elysia(process.versions.bun === undefined ? { adapter: node() } : {}).use(orders).use(door)
for (const file of output) {
  const body = file.type === 'chunk' ? file.code : String(file.source)
  const type = file.type === 'chunk' ? 'text/javascript' : 'text/html'
  const answer = () =>
    new Response(body, {
      headers: { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': "default-src 'self'" }
    })
  app.get(`/${file.fileName.replace('index.html', '')}`, answer)
}

const { PORT = '3000' } = process.env
app.listen(Number(PORT), () => console.log(`The board: http://localhost:${PORT}/`))
process.once('SIGTERM', () => app.stop().then(() => process.exit(0)))

/** Hono, as its documentation shows it; on Node with its adapter. */
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { currentRuntime } from '../../process/runtime.ts'
import { serve } from '../../suites/serve.ts'
import { answerOf, createdOf, DOCUMENT, HELLO, health, pathOf, userOf } from '../../suites/work.ts'

await serve(async ({ host, port, routes, users, compresses }) => {
  const app = new Hono()
  if (compresses) app.use(compress())
  app.get('/', (c) => c.text(HELLO))
  app.get('/health', (c) => c.json(health()))
  app.get('/api/user/:id', (c) => c.json(userOf(c.req.param('id'))))
  app.post('/api/user', async (c) => c.json(createdOf(await c.req.json())))
  app.get('/compressed', (c) => c.json(DOCUMENT))
  app.get('/users', async (c) => c.json(await users(Number(c.req.query('limit')))))
  for (const route of routes) app.get(pathOf(route), (c) => c.text(answerOf(route, c.req.param('id'))))

  if (currentRuntime === 'bun') Bun.serve({ hostname: host, port, fetch: app.fetch })
  else {
    const { serve: listen } = await import('@hono/node-server')
    await new Promise((resolve) => listen({ fetch: app.fetch, hostname: host, port }, resolve))
  }
  return port
})

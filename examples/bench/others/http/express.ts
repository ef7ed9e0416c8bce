/** Express, as its documentation shows it. */
import compression from 'compression'
import express from 'express'
import { serve } from '../../suites/serve.ts'
import { answerOf, createdOf, DOCUMENT, HELLO, health, pathOf, userOf } from '../../suites/work.ts'

await serve(async ({ host, port, routes, users, compresses }) => {
  const app = express()
  if (compresses) app.use(compression())
  app.use(express.json())
  app.get('/', (_request, response) => void response.send(HELLO))
  app.get('/health', (_request, response) => void response.json(health()))
  app.get('/api/user/:id', ({ params }, response) => void response.json(userOf(params.id)))
  app.post('/api/user', ({ body }, response) => void response.json(createdOf(body)))
  app.get('/compressed', (_request, response) => void response.json(DOCUMENT))
  app.get('/users', async ({ query }, response) => void response.json(await users(Number(query['limit']))))
  for (const route of routes) {
    app.get(pathOf(route, '*rest'), ({ params }, response) => {
      response.send(answerOf(route, (params as { id?: string }).id))
    })
  }
  await new Promise<void>((resolve) => app.listen(port, host, () => resolve()))
  return port
})

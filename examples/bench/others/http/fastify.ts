/** Fastify, as its documentation shows it. */
import compress from '@fastify/compress'
import fastify from 'fastify'
import { serve } from '../../suites/serve.ts'
import {
  answerOf,
  createdOf,
  DOCUMENT,
  HELLO,
  health,
  type NewUser,
  pathOf,
  userOf
} from '../../suites/work.ts'

await serve(async ({ host, port, routes, users, compresses }) => {
  const app = fastify()
  if (compresses) await app.register(compress)
  app.get('/', async () => HELLO)
  app.get('/health', async () => health())
  app.get<{ Params: { id: string } }>('/api/user/:id', async ({ params }) => userOf(params.id))
  app.post<{ Body: NewUser }>('/api/user', async ({ body }) => createdOf(body))
  app.get('/compressed', async () => DOCUMENT)
  app.get<{ Querystring: { limit: string } }>('/users', async ({ query }) => users(Number(query.limit)))
  for (const route of routes) {
    app.get<{ Params: { id?: string } }>(pathOf(route), async ({ params }) => answerOf(route, params.id))
  }
  await app.listen({ host, port })
  return port
})

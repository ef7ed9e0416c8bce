/** This project's gateway on Elysia, in front of one of this project's services over TCP in another process. */
import { t } from 'elysia'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { serve } from '../serve.ts'
import { pathOf } from '../work.ts'
import { startBackend } from './backend.ts'
import { compressionOfResponses, listen, newApp } from './elysia-app.ts'

await serve(async (work) => {
  const client = connect({ port: await startBackend('suites/servers/service') })
  const routes = work.routes.map((route) => [`GET ${pathOf(route)}`, route.name])
  const app = newApp()
  if (work.compresses) app.use(compressionOfResponses)
  app.use(
    gateway(client, {
      'GET /': 'hello',
      'GET /health': 'health',
      'GET /api/user/:id': 'users.get',
      'POST /api/user': { pattern: 'users.create', status: 200 },
      'GET /compressed': 'document',
      'GET /users': { pattern: 'users.list', query: t.Object({ limit: t.Number() }) },
      ...Object.fromEntries(routes)
    })
  )
  return listen(app, work)
})

/** The same app of Elysia with a service of this project in it, which listens and receives no messages. */
import { microservice } from 'elysia-microservices'
import { serve } from '../serve.ts'
import { elysiaApp, listen } from './elysia-app.ts'

await serve((work) =>
  listen(
    elysiaApp(work).use(
      microservice({ transport: 'tcp', host: work.host, port: 0 }).message('echo', ({ data }) => data)
    ),
    work
  )
)

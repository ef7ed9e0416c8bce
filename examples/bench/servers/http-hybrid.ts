/** An HTTP echo server of Elysia with a service of this project in it, which nobody asks. */
import { microservice } from 'elysia-microservices'
import { startHttp } from './http-app.ts'
import { runServer } from './run-server.ts'

await runServer(7010, ({ host, port }) =>
  startHttp(host, port, (app) =>
    app.use(microservice({ transport: 'tcp', host, port: 0 }).message('echo', ({ data }) => data))
  )
)

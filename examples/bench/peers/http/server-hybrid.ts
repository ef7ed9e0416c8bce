/** An HTTP echo server of Elysia with a service of this project in it, which receives no messages. */
import { microservice } from 'elysia-microservices'
import { runServer } from '../run-server.ts'
import { startHttp } from './app.ts'

await runServer(7010, (listen) =>
  startHttp(listen, (app) =>
    app.use(
      microservice({ transport: 'tcp', host: listen.host, port: 0 }).message('echo', ({ data }) => data)
    )
  )
)

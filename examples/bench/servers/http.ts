/** An HTTP echo server of Elysia alone. */
import { startHttp } from './http-app.ts'
import { runServer } from './run-server.ts'

await runServer(7009, ({ host, port }) => startHttp(host, port))

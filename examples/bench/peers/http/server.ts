/** An HTTP echo server of Elysia alone. */

import { runServer } from '../run-server.ts'
import { startHttp } from './app.ts'

await runServer(7009, (listen) => startHttp(listen))

/** The echo with NATS's driver alone, JSON read and written as an application would. */
import { connect } from '@nats-io/transport-node'
import { runServer } from '../run-server.ts'
import { startNatsServer } from './nats-server.ts'

await runServer(7016, async ({ host, port }) => {
  const server = await startNatsServer(host, port)
  const connection = await connect({ servers: `nats://${host}:${server.port}` })
  connection.subscribe('echo', {
    queue: 'echo',
    callback(_error, message) {
      message.respond(JSON.stringify(message.json()))
    }
  })
  await connection.flush()
  return {
    port: server.port,
    async stop() {
      await connection.close()
      await server.stop()
    }
  }
})

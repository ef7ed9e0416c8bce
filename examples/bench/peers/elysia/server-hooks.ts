/**
 * The echo server of this project with additions that applications have: a schema, which checks each text, and a
 * hook.
 */
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { runServer } from '../run-server.ts'

await runServer(7007, async ({ host, port, shape, work }) => {
  // Most shapes are not texts: for them, the schema accepts anything.
  const data = shape === 'flat' || shape === 'large' ? t.String() : t.Any()
  let _seen = 0
  const service = microservice({ transport: 'tcp', host, port })
    .onBeforeHandle(() => {
      _seen++
    })
    .message('echo', (message) => work.answer(message.data), { data })
  await service.listen()
  return { port: service.address!.port, stop: () => service.stop() }
})

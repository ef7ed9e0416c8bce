/** Moleculer's echo service: a node of its own, reached over Moleculer's TCP transporter. */

import { runServer } from '../../peers/run-server.ts'
import { moleculerNode, SERVER_NODE, SERVICE, transporterOf } from './node.ts'

// It listens on all addresses: the transporter has no way to choose one.
await runServer(7004, async ({ port, work }) => {
  const broker = moleculerNode(SERVER_NODE, { port })
  broker.createService({
    name: SERVICE,
    actions: { echo: ({ params }: { params: { data: unknown } }) => work.answer(params.data) }
  })
  await broker.start()
  return { port: transporterOf(broker).opts.port, stop: () => broker.stop() }
})

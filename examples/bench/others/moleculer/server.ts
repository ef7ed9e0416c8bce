/** Moleculer's echo service: a node that is reached over Moleculer's TCP transporter. */

import { runServer } from '../../peers/run-server.ts'
import { moleculerNode, SERVER_NODE, SERVICE, transporterOf } from './node.ts'

// The transporter cannot choose an address: it listens on all.
await runServer(7004, async ({ port, work }) => {
  const broker = moleculerNode(SERVER_NODE, { port })
  broker.createService({
    name: SERVICE,
    actions: { echo: ({ params }: { params: { data: unknown } }) => work.answer(params.data) }
  })
  await broker.start()
  return { port: transporterOf(broker).opts.port, stop: () => broker.stop() }
})

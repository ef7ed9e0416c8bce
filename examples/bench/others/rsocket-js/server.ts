/** The server of rsocket-js, RSocket's implementation in JavaScript. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { runServer } from '../../peers/run-server.ts'
import { makeEchoServer } from './library.ts'

await runServer(7006, async (listen) => {
  let listener: Server | undefined
  // Creates the listener itself, because rsocket-js would not report the port on which it listens.
  const server = makeEchoServer(listen, (onConnection) => {
    listener = createServer({ noDelay: true }, onConnection)
    return listener
  })
  server.start()
  await once(listener!, 'listening')
  return { port: (listener!.address() as AddressInfo).port, stop: async () => server.stop() }
})

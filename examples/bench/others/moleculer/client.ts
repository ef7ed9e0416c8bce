/**
 * Moleculer's own way to call: a node of its own that knows the server's. Its one connection is two sockets, because
 * each node sends on a socket that it has opened itself.
 */
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import { moleculerNode, SERVER_NODE, SERVICE, transporterOf } from './node.ts'

/** Milliseconds a node gets to find the service of the other. */
const PATIENCE = 10_000
/** Milliseconds between two looks whether it has. */
const INTERVAL = 10
const ACTION = `${SERVICE}.echo`

let nodes = 0

export const openEchoClient: OpenEchoClient = async (host, port) => {
  const name = `client-${process.pid}-${nodes++}`
  const broker = moleculerNode(name, { port: 0, urls: [`tcp://${host}:${port}/${SERVER_NODE}`] })
  await broker.start()
  transporterOf(broker).sendGossipRequest()
  await broker.waitForServices(SERVICE, PATIENCE, INTERVAL)
  return {
    echo: (data, answered, failed) => {
      broker.call<unknown, { data: unknown }>(ACTION, { data }).then(answered, failed)
    },
    close: () => broker.stop()
  }
}

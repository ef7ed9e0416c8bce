/**
 * Moleculer's own way to call: a node that knows the server's node. One connection consists of two sockets, because
 * each node sends on a socket that it has opened itself.
 */
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import { moleculerNode, SERVER_NODE, SERVICE, transporterOf } from './node.ts'

/** The time limit in milliseconds for finding the service of the other node. */
const PATIENCE = 10_000
/** Milliseconds between two checks. */
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

/** Chooses the sockets of the current runtime. */
import { bunSockets } from './bun.ts'
import type { SocketRuntime } from './socket.ts'

/**
 * Sockets of `node:net`. The module is loaded when first used, because it takes 5 MB that Bun's sockets do not need.
 */
const nodeSockets: SocketRuntime = {
  listen: async (address, accept) => (await import('./node.ts')).nodeSockets.listen(address, accept),
  connect: async (address, accept, signal) =>
    (await import('./node.ts')).nodeSockets.connect(address, accept, signal)
}

/** The fastest sockets of the runtime: Bun's own under Bun, `node:net` elsewhere. */
export const nativeSockets: SocketRuntime = typeof Bun === 'undefined' ? nodeSockets : bunSockets

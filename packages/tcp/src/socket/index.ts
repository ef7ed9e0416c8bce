/** Chooses the sockets of the runtime this process runs on. */
import { bunSockets } from './bun.ts'
import type { SocketRuntime } from './socket.ts'

/** Those of `node:net`, loaded with the first use: a process on Bun's sockets does without, and with 5 MB less. */
const nodeSockets: SocketRuntime = {
  listen: async (address, accept) => (await import('./node.ts')).nodeSockets.listen(address, accept),
  connect: async (address, accept, signal) =>
    (await import('./node.ts')).nodeSockets.connect(address, accept, signal)
}

/** The fastest sockets there are here: Bun's own under Bun, `node:net` elsewhere. */
export const nativeSockets: SocketRuntime = typeof Bun === 'undefined' ? nodeSockets : bunSockets

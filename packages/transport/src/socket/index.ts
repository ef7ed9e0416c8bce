/** Chooses the sockets of the runtime this process runs on. */
import { bunSockets } from './bun.ts'
import { nodeSockets } from './node.ts'
import type { SocketRuntime } from './socket.ts'

/** The fastest sockets there are here: Bun's own under Bun, `node:net` elsewhere. */
export const nativeSockets: SocketRuntime = typeof Bun === 'undefined' ? nodeSockets : bunSockets

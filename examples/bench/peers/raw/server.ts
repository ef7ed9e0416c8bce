/** An echo server without a protocol: it sends each chunk back. No server can do less work. */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { currentRuntime } from '../../process/runtime.ts'
import { type RunningServer, runServer, type Start } from '../run-server.ts'

const startInBun: Start = async ({ host, port }): Promise<RunningServer> => {
  const server = Bun.listen<{ unsent: Uint8Array[] }>({
    hostname: host,
    port,
    socket: {
      open: (socket) => {
        socket.data = { unsent: [] }
      },
      data: (socket, chunk) => {
        const { unsent } = socket.data
        unsent.push(chunk)
        if (unsent.length === 1) send(socket)
      },
      drain: send
    }
  })
  return { port: server.port, stop: async () => server.stop(true) }
}

/** Writes as many of the waiting bytes as the system accepts. */
function send(socket: Bun.Socket<{ unsent: Uint8Array[] }>): void {
  const { unsent } = socket.data
  for (let chunk = unsent[0]; chunk !== undefined; chunk = unsent[0]) {
    const written = Math.max(0, socket.write(chunk))
    if (written < chunk.length) {
      unsent[0] = chunk.subarray(written)
      return
    }
    unsent.shift()
  }
}

const startInNode: Start = ({ host, port }): Promise<RunningServer> =>
  new Promise((resolve, reject) => {
    const open = new Set<Socket>()
    const server = createServer({ noDelay: true }, (socket) => {
      open.add(socket)
      socket.on('data', (chunk) => socket.write(chunk))
      socket.on('error', () => {})
      socket.once('close', () => open.delete(socket))
    })
    server.once('error', reject)
    server.listen(port, host, () => {
      const stop = async () => {
        server.close()
        for (const socket of open) socket.destroy()
      }
      resolve({ port: (server.address() as AddressInfo).port, stop })
    })
  })

await runServer(7003, currentRuntime === 'bun' ? startInBun : startInNode)

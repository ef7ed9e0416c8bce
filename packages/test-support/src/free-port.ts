/** Ports for servers that cannot say which port the system gave them. */
import { once } from 'node:events'
import net from 'node:net'

/**
 * A port on which nobody listens. The system gives it to no server that asks for any port, while a free port may belong
 * to another server a moment later.
 */
export const DEAF_PORT = 1

/** Below the ports that systems give to sockets which ask for any, so that no such socket takes the port meanwhile. */
const FIRST = 10_000
const LAST = 32_767
const given = new Set<number>()

/**
 * A port for a server to listen on. A process never gets the same port twice; ports are drawn at random, because tests in
 * other processes ask at the same time.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1))
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port, host)) return port
  }
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = net.createServer().listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}

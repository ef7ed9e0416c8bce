/** Ports for servers that do not report the port that the system has given them. */
import { once } from 'node:events'
import net from 'node:net'

/**
 * A port at which nothing listens, and which the system never gives to a server that asks for any port. A port from
 * `freePort` may belong to another server a moment later.
 */
export const DEAF_PORT = 1

/** The range is below the ports that systems give to sockets which ask for any port, so no such socket takes one. */
const FIRST = 10_000
const LAST = 32_767
const given = new Set<number>()

/**
 * Finds a port at which a server can listen. A process never gets the same port twice. Ports are drawn at random, because
 * tests in other processes look for ports at the same time.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const ports = LAST - FIRST + 1
  const drawn = Math.floor(Math.random() * ports)
  // A test may have left a random number that is always the same.
  for (let next = 0; next < ports; next++) {
    const port = FIRST + ((drawn + next) % ports)
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port, host)) return port
  }
  throw new Error(`All ports from ${FIRST} to ${LAST} are taken`)
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

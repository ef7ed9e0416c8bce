/** For servers that do not say which port they got. */
import { once } from 'node:events'
import net from 'node:net'

/** A port nobody listens on, and no system gives to a server that asks for any. A free port may be another's a moment later. */
export const DEAF_PORT = 1

/** A port for a server to listen on. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = net.createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

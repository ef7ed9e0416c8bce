/** For servers that do not say which port they got. */
import { once } from 'node:events'
import net from 'node:net'

/** A port nobody listens on. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = net.createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

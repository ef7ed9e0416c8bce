/** Waits for programs that do not report when they listen. */
import { once } from 'node:events'
import net from 'node:net'

/** Waits until a program listens on a port of this machine. */
export async function listening(port: number): Promise<void> {
  while (true) {
    const socket = net.connect({ host: 'localhost', port })
    const connected = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false)
    ]).catch(() => false)
    socket.destroy()
    if (connected) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

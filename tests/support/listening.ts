/** Waits for programs that do not report when they listen. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { until } from '@elysia-microservices/test-support'

/**
 * Waits until a program listens on a port of this machine.
 * @throws {Error} the program has ended before
 */
export async function listening(port: number, program: ChildProcess): Promise<void> {
  await until(`A program listens on port ${port}`, () => {
    const { exitCode, signalCode } = program
    if (exitCode !== null || signalCode !== null)
      throw new Error(`The program ended before it listened on port ${port} (${signalCode ?? exitCode})`)
    return canConnect(port)
  })
}

async function canConnect(port: number): Promise<boolean> {
  const socket = net.connect({ host: 'localhost', port })
  const connected = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false)
  ]).catch(() => false)
  socket.destroy()
  return connected
}

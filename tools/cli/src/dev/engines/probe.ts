/** Finds out what listens on a port. */
import net from 'node:net'
import type { Probed } from './engine.ts'

/** Milliseconds within which an engine must answer. A program that does not answer counts as another program. */
const PATIENCE = 3_000

/**
 * Connects, sends a greeting, and checks the first bytes that arrive.
 * @param greeting the bytes to send; empty if the engine sends the first message
 */
export function probe(
  host: string,
  port: number,
  greeting: Uint8Array,
  isEngine: (answer: string) => boolean
): Promise<Probed> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port })
    let isConnected = false
    const end = (probed: Probed) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(probed)
    }
    const timer = setTimeout(() => end(isConnected ? 'stranger' : 'nobody'), PATIENCE)
    socket.once('connect', () => {
      isConnected = true
      if (greeting.length > 0) socket.write(greeting)
    })
    socket.once('data', (chunk: Uint8Array) =>
      end(isEngine(Buffer.from(chunk).toString('latin1')) ? 'engine' : 'stranger')
    )
    socket.once('error', () => end(isConnected ? 'stranger' : 'nobody'))
    socket.once('close', () => end(isConnected ? 'stranger' : 'nobody'))
  })
}

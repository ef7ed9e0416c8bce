/** Asks a port who listens there. */
import net from 'node:net'
import type { Probed } from './engine.ts'

/** Milliseconds in which an engine answers; one that is silent is none. */
const PATIENCE = 3_000

/**
 * Connects, sends, and looks at the first bytes that come.
 * @param greeting what is sent; empty: the engine speaks first
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

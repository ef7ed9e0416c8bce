/** The HTTP echo server of two targets: Elysia alone, and Elysia with a service in it. */

import { connect } from 'node:net'
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { freePort } from '../../process/free-port.ts'
import { currentRuntime } from '../../process/runtime.ts'
import type { Listen } from '../run-server.ts'

/** Adds the service to the app. */
export type Extend = (app: Elysia) => unknown

/** Starts to listen; resolves with the values that `runServer` needs. */
export async function startHttp({ host, port, work }: Listen, extend: Extend = () => {}) {
  const app = new Elysia(currentRuntime === 'node' ? { adapter: node() } : {})
  app.post('/echo', ({ body }) => work.answer(body))
  extend(app)
  const chosen = port === 0 ? await freePort(host) : port
  app.listen({ hostname: host, port: chosen })
  // Neither adapter reports when it listens.
  await untilListening(host, chosen)
  return { port: chosen, stop: async () => process.exit(0) }
}

export async function untilListening(host: string, port: number): Promise<void> {
  const isListening = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, host, () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
  while (!(await isListening())) await new Promise((resolve) => setTimeout(resolve, 1))
}

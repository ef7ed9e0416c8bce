/**
 * Loaded into every process that `elysia-microservices dev` starts, before the program. It tells `dev` on which
 * ports the process listens and which services listen. If there is a page, it also sends spans of messages. It
 * imports nothing of other packages, so that it costs no time.
 */
import { EventEmitter, errorMonitor } from 'node:events'
import net from 'node:net'
import { newTracer } from './tracer.ts'

const {
  ELYSIA_MICROSERVICES_DEV: path,
  ELYSIA_MICROSERVICES_DEV_NAME: name,
  ELYSIA_MICROSERVICES_DEV_PAGE: page
} = process.env
/** The same key as in `development.ts` of `@elysia-microservices/transport`. */
const ANNOUNCE = Symbol.for('elysia-microservices.announce')
/** The same keys as in `development-trace.ts` and `caller-name.ts`. */
const TRACER = Symbol.for('elysia-microservices.tracer')
/** The same key as in `health.ts` of `@elysia-microservices/telemetry`. */
const TELL_PURPOSE = Symbol.for('elysia-microservices.tell-purpose')
const PROCESS_NAME = Symbol.for('elysia-microservices.fallback-name')

interface Listening {
  readonly port?: number | undefined
}

if (path !== undefined && name !== undefined && !(ANNOUNCE in globalThis)) {
  let socket: net.Socket | undefined
  const tell = (told: object) => {
    if (socket === undefined) {
      socket = net.connect(path)
      // The socket must not keep the process alive. Errors are ignored, because without `dev` nobody needs the
      // messages.
      socket.unref()
      socket.on('error', () => {})
      socket.on('data', () => socket?.unref())
    }
    socket.write(`${JSON.stringify({ name, ...told })}\n`)
  }
  /** Reports a port that is taken to `dev`, before the program ends: Elysia's adapter for Node drops the error and ends with 0. */
  const tellTaken = ({ code, port: taken }: NodeJS.ErrnoException & Listening) => {
    if (code !== 'EADDRINUSE' || taken === undefined) return
    tell({ taken })
    socket?.ref()
  }
  const tellPort = (port: number | undefined, purpose?: string) => {
    if (port !== undefined) tell({ port, purpose })
  }

  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (this: net.Server, ...args: unknown[]) {
    this.once('listening', () => {
      // A server that listens again and again must not collect listeners.
      this.off(errorMonitor, tellTaken)
      tellPort((Object(this.address()) as Listening).port)
    })
    // No listener of `error` is used, because with one an error that the program does not handle would be dropped.
    EventEmitter.prototype.once.call(this, errorMonitor, tellTaken)
    return Reflect.apply(listen, this, args)
  } as typeof listen
  const { Bun: bun, Deno: deno } = globalThis as {
    Bun?: { serve(...args: unknown[]): Listening }
    Deno?: { serve(...args: unknown[]): { readonly addr?: Listening } }
  }
  if (bun !== undefined) {
    const { serve } = bun
    bun.serve = (...args) => {
      const server = serve.apply(bun, args)
      tellPort(server.port)
      return server
    }
  }
  if (deno !== undefined) {
    const { serve } = deno
    deno.serve = (...args) => {
      const server = serve.apply(deno, args)
      tellPort(server.addr?.port)
      return server
    }
  }
  Object.defineProperty(globalThis, TELL_PURPOSE, { value: tellPort })
  Object.defineProperty(globalThis, PROCESS_NAME, { value: name })
  if (page !== undefined) Object.defineProperty(globalThis, TRACER, { value: newTracer(page, name) })
  Object.defineProperty(globalThis, ANNOUNCE, { value: (announcement: object) => tell({ announcement }) })
}

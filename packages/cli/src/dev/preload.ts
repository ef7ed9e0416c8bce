/**
 * Is loaded into every process that `elysia-microservices dev` starts, before its program: tells `dev` which ports it
 * listens on, which services listen, and, if there is a page, what they do: spans of messages. It imports nothing of other
 * packages, so that it costs no time.
 */
import { EventEmitter, errorMonitor } from 'node:events'
import net from 'node:net'
import { newTracer } from './tracer.ts'

const {
  ELYSIA_MICROSERVICES_DEV: path,
  ELYSIA_MICROSERVICES_DEV_NAME: name,
  ELYSIA_MICROSERVICES_DEV_PAGE: page
} = process.env
/** As in `development.ts` of `@elysia-microservices/transport`. */
const ANNOUNCE = Symbol.for('elysia-microservices.announce')
/** As in `development-trace.ts`, and `caller-name.ts`. */
const TRACER = Symbol.for('elysia-microservices.tracer')
/** As in `health.ts` of `@elysia-microservices/telemetry`. */
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
      // It keeps no process alive; and if `dev` is gone, nobody needs to know.
      socket.unref()
      socket.on('error', () => {})
      socket.on('data', () => socket?.unref())
    }
    socket.write(`${JSON.stringify({ name, ...told })}\n`)
  }
  /** Elysia's adapter for Node drops the error, and its program ends as if all were well: not before `dev` has heard why. */
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
    this.once('listening', () => tellPort((Object(this.address()) as Listening).port))
    // Not a listener of `error`, with which an error that nobody handles would be dropped.
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

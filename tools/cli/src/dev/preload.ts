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

/** The parts of an announcement that are used here. */
interface Announced {
  readonly service?: string
  readonly store?: { ask(question: unknown): Promise<unknown> }
}

/** A line of `dev`: that it has heard of a port that is taken, or a question about the store of a service. */
interface Line {
  readonly question?: number
  readonly service?: string
  readonly about?: unknown
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
      let rest = ''
      socket.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) heard(JSON.parse(line) as Line)
      })
    }
    socket.write(`${JSON.stringify({ name, ...told })}\n`)
  }
  const stores = new Map<string | undefined, NonNullable<Announced['store']>>()
  const heard = ({ question, service, about }: Line) => {
    if (question === undefined) return socket?.unref()
    Promise.resolve(stores.get(service)?.ask(about)).then(
      (answer) => tell({ question, answer }),
      (error: unknown) => tell({ question, error: { code: Object(error).code, message: messageOf(error) } })
    )
  }
  const announce = (announcement: Announced) => {
    const { service, store } = announcement
    if (store !== undefined) stores.set(service, store)
    tellWhenOpen({ announcement })
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
  /** Servers of Node that are about to listen: it is not known yet whether they can. */
  const opening = new Set<net.Server>()
  /** Announcements that wait for these servers: a service of an app listens before the app's own port is open. */
  let waiting: object[] = []
  const tellWhenOpen = (told: object) => {
    if (opening.size > 0) waiting.push(told)
    else tell(told)
  }
  const opened = (server: net.Server) => {
    if (!opening.delete(server) || opening.size > 0) return
    for (const told of waiting) tell(told)
    waiting = []
  }

  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (this: net.Server, ...args: unknown[]) {
    // No listener of `error` is used, because with one an error that the program does not handle would be dropped.
    const failed = (error: NodeJS.ErrnoException) => {
      tellTaken(error)
      end()
    }
    const listening = () => {
      tellPort((Object(this.address()) as Listening).port)
      end()
    }
    // A server that listens again and again must not collect listeners.
    const end = () => {
      this.off(errorMonitor, failed).off('listening', listening).off('close', end)
      opened(this)
    }
    opening.add(this)
    this.once('listening', listening).once('close', end)
    EventEmitter.prototype.once.call(this, errorMonitor, failed)
    try {
      return Reflect.apply(listen, this, args)
    } catch (error) {
      end()
      throw error
    }
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
  Object.defineProperty(globalThis, ANNOUNCE, { value: announce })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

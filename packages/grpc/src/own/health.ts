/**
 * `grpc.health.v1.Health`, which probes of Kubernetes, load balancers and other gRPC libraries ask whether a server takes
 * calls. grpc: doc/health-checking.md.
 *
 *   message HealthCheckRequest { string service = 1; }
 *   message HealthCheckResponse { ServingStatus status = 1; }
 *   message HealthListRequest {}
 *   message HealthListResponse { map<string, HealthCheckResponse> statuses = 1; }
 */
import {
  concatBytes,
  type IncomingMessage,
  RpcError,
  shown,
  type Timer,
  type TimerOwner,
  text
} from '@elysia-microservices/transport/kit'
import type { GrpcMethod, MessageCodec } from '../methods.ts'
import { bytesField, numberField, readFields } from '../wire/protobuf.ts'
import type { OwnService } from './own-services.ts'
import type { Readiness } from './readiness.ts'

/** The statuses of a service. */
export const Serving = { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } as const

/** The name of the service. */
export const HEALTH_NAME = 'grpc.health.v1.Health'
/** Milliseconds between looks at the checks, while somebody watches. */
const LOOK = 5_000
/** The whole server, as a probe asks for it that names no service. */
const SERVER = ''
/** Whether the process answers at all: a server that waits for its database must not be killed for it. */
const LIVENESS = 'liveness'
const READINESS = 'readiness'

/** The parameters of the service. */
export interface HealthInit {
  readonly readiness: Readiness
  /** The full names of the services that have the status of the server. */
  readonly services: readonly string[]
  newTimer(owner: TimerOwner): Timer
}

/** Tells whether the server takes calls. */
export class Health implements OwnService, TimerOwner {
  readonly name = HEALTH_NAME
  readonly methods = HEALTH_METHODS
  readonly #init: HealthInit
  readonly #names: ReadonlySet<string>
  readonly #timer: Timer
  /** Wake the watches that wait for a change. */
  readonly #waiting = new Set<() => void>()
  /** Counts changes, so that none is missed between a look and the wait for the next one. */
  #changes = 0
  #wasReady: boolean | undefined

  constructor(init: HealthInit) {
    this.#init = init
    this.#names = new Set([SERVER, READINESS, LIVENESS, ...init.services])
    this.#timer = init.newTimer(this)
  }

  answer(message: IncomingMessage): unknown {
    if (message.pattern === `${HEALTH_NAME}/List`) return this.#list()
    const service = message.data as string
    return message.pattern === `${HEALTH_NAME}/Watch`
      ? this.#watch(service, message.signal)
      : this.#check(service)
  }

  /** The server stops: it does not serve, and watches end when they have said so. */
  stopping(): void {
    this.#timer.stop()
    this.#tell()
  }

  wake(): void {
    void this.#look()
  }

  async #check(service: string): Promise<number> {
    if (this.#names.has(service)) return this.#statusOf(service)
    throw new RpcError({ code: 'NOT_FOUND', message: `The server has no service '${shown(service)}'` })
  }

  async #list(): Promise<ReadonlyMap<string, number>> {
    const status = await this.#statusOf(SERVER)
    return new Map([...this.#names].map((name) => [name, name === LIVENESS ? Serving.SERVING : status]))
  }

  async *#watch(service: string, signal: AbortSignal): AsyncGenerator<number> {
    let last: number | undefined
    for (;;) {
      const seen = this.#changes
      // A service that is unknown is no error here: it may appear.
      const status = this.#names.has(service) ? await this.#statusOf(service) : Serving.SERVICE_UNKNOWN
      if (status !== last) yield status
      last = status
      if (signal.aborted) return
      if (this.#init.readiness.isStopping && seen === this.#changes)
        throw new RpcError({ code: 'UNAVAILABLE', message: 'The server is stopping' })
      if (seen === this.#changes) await this.#change(signal)
    }
  }

  async #statusOf(service: string): Promise<number> {
    if (service === LIVENESS || (await this.#init.readiness.isReady())) return Serving.SERVING
    return Serving.NOT_SERVING
  }

  #change(signal: AbortSignal): Promise<void> {
    if (this.#init.readiness.hasChecks) this.#timer.wakeAt(this.#timer.now() + LOOK)
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }

  /** Looks whether the answers of the checks have changed, as long as somebody watches. */
  async #look(): Promise<void> {
    if (this.#waiting.size === 0) return
    const isReady = await this.#init.readiness.isReady()
    if (isReady !== this.#wasReady) this.#tell()
    this.#wasReady = isReady
    if (this.#waiting.size > 0) this.#timer.wakeAt(this.#timer.now() + LOOK)
  }

  #tell(): void {
    this.#changes++
    for (const wake of [...this.#waiting]) wake()
  }
}

// ── messages ───────────────────────────────────────────────────────────────────────────────────────────

/** A request is the name of a service; an answer is a status, or the statuses by the names of services. */
const NAMES_SERVICE: MessageCodec = {
  encode: (service) => bytesField(1, Buffer.from(String(service))),
  decode(bytes) {
    let service = ''
    visit(bytes, (number, value) => {
      if (number === 1 && typeof value !== 'number') service = text.read(value, 0, value.length)
    })
    return service
  }
}

const STATUS: MessageCodec = {
  encode: (status) => numberField(1, status as number),
  decode(bytes) {
    let status: number = Serving.UNKNOWN
    visit(bytes, (number, value) => {
      if (number === 1 && typeof value === 'number') status = value
    })
    return status
  }
}

/** The empty message. */
const NOTHING: MessageCodec = { encode: () => new Uint8Array(), decode: () => undefined }

const STATUSES: MessageCodec = {
  encode(statuses) {
    const entries = [...(statuses as ReadonlyMap<string, number>)]
    const parts = entries.map(([name, status]) =>
      bytesField(1, concatBytes([bytesField(1, Buffer.from(name)), bytesField(2, STATUS.encode(status))]))
    )
    return concatBytes(parts)
  },
  decode(bytes) {
    const statuses = new Map<string, number>()
    visit(bytes, (number, entry) => {
      if (number !== 1 || typeof entry === 'number') return
      let status: number = Serving.UNKNOWN
      visit(entry, (part, value) => {
        if (part === 2 && typeof value !== 'number') status = STATUS.decode(value) as number
      })
      statuses.set(NAMES_SERVICE.decode(entry) as string, status)
    })
    return statuses
  }
}

/** The methods; values are names of services and statuses. */
export const HEALTH_METHODS: readonly GrpcMethod[] = [
  methodOf('Check', NAMES_SERVICE, STATUS, false),
  methodOf('Watch', NAMES_SERVICE, STATUS, true),
  methodOf('List', NOTHING, STATUSES, false)
]

function visit(bytes: Uint8Array, field: (number: number, value: number | Uint8Array) => void): void {
  const isRead = readFields(bytes, (number, value) => {
    field(number, value)
    return true
  })
  if (!isRead) throw new Error('data: it is no message of grpc.health.v1')
}

function methodOf(
  name: string,
  input: MessageCodec,
  output: MessageCodec,
  serverStreams: boolean
): GrpcMethod {
  const path = `${HEALTH_NAME}/${name}`
  return { path, pattern: path, kind: 'message', clientStreams: false, serverStreams, input, output }
}

/** One service that `dev` runs: its process, its edited files, and whether it is ready. */

import net from 'node:net'
import { relative } from 'node:path'
import type { ProgramAction, ProgramView } from '@elysia-microservices/console'
import type { ServicePlan } from './config.ts'
import type { Told } from './door.ts'
import type { Downtime } from './downtime.ts'
import type { Guard } from './guarded.ts'
import type { Lines } from './lines.ts'
import { Log } from './log.ts'
import { Output } from './output.ts'
import type { Start } from './process-group.ts'
import type { Program } from './program.ts'
import { SourceWatch } from './sources.ts'
import { type Cause, Supervisor } from './supervisor.ts'

/** The arguments from which a service is made. */
export interface ServiceInit {
  readonly plan: ServicePlan
  readonly lines: Lines
  /** Makes the command of the next start. */
  readonly start: () => Start
  /** The files of which the program consists. */
  readonly files: () => Set<string>
  readonly patience: number
  readonly grace: number
  readonly guard: Guard
  readonly downtime: Downtime
  /** Paths are printed relative to this folder. */
  readonly root: string
  /** Called after each start, when the service is ready. */
  readonly ready: () => void
  /** The name of the other service that listens on a port. */
  readonly ownerOf: (port: number) => string | undefined
}

/** Milliseconds between two requests to the URL that says whether the service is ready. */
const LOOK = 100
/**
 * Milliseconds after the first open port until the service counts as ready: it may listen on several addresses, and
 * then reports that itself.
 */
const SETTLED = 50
/** Milliseconds within which a service whose port is taken may end because of that, which is then printed. */
const TAKEN_PATIENCE = 1_000
/** Matches the messages of runtimes and libraries about a port that is taken; not all have the port's number. */
const TAKEN = /EADDRINUSE|address already in use|port \d+ in use/i
const PORT = /(?::|port )(\d{2,5})\b/i
/** Matches nothing. */
const NEVER = /(?!)/
const NOT_FOUND = /Cannot find (?:package|module) '([^'.][^']*)'/

/** Runs one service. */
export class RunningService implements Program {
  readonly plan: ServicePlan
  /** Resolves when the service is ready for the first time, or when waiting for it is pointless. */
  readonly settled: Promise<void>
  /** The ports on which the service listens. The purpose of a port is `undefined` if the port is for callers. */
  readonly ports = new Map<number, string | undefined>()
  /** The names of the services that have announced themselves. */
  readonly #services = new Set<string>()
  /** The last lines of the service. */
  readonly log = new Log()
  readonly #init: ServiceInit
  readonly #supervisor: Supervisor
  readonly #output: Output
  #watch: SourceWatch | undefined
  #settle = () => {}
  #readySince: number | undefined
  #begun = 0
  /** The reason for a crash that is known beside the report of the runtime. */
  #cause: string | undefined
  #patience: ReturnType<typeof setTimeout> | undefined
  #listens: ReturnType<typeof setTimeout> | undefined
  /** Whether the service has reported a port that is taken. */
  #lacksPort = false
  /** Runs while that service may still end because of it; meanwhile it does not count as ready. */
  #mayEnd: ReturnType<typeof setTimeout> | undefined
  #isReadyThen = false
  #isStopping = false

  constructor(init: ServiceInit) {
    this.#init = init
    const { plan, lines, root, downtime } = init
    const { name } = plan
    this.plan = plan
    const write = (line: string) => lines.add(name, line)
    this.#output = new Output({ name, root, downtime, write })
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.#supervisor = new Supervisor(
      {
        name,
        isWatched: plan.watch !== false,
        start: init.start,
        say: (text, more = []) => {
          lines.say(text)
          for (const line of more) write(line)
        },
        lines: (texts, isError) => this.#lines(texts, isError),
        starting: () => this.#starting(),
        started: () => this.#started(),
        ended: () => this.#ended(),
        readySince: () => this.#readySince,
        cause: () => this.#why(),
        hasFailed: () => this.#lacksPort,
        get isFull() {
          return lines.isFull
        },
        onRoom: (listener) => lines.onRoom(listener)
      },
      init.grace,
      init.guard
    )
  }

  get name(): string {
    return this.plan.name
  }

  act(action: ProgramAction): void {
    this.#supervisor.act(action)
  }

  view(): ProgramView {
    const { name } = this.plan
    const ports = [...this.ports].map(([port, purpose]) =>
      purpose === undefined ? `${port}` : `${port} (${purpose})`
    )
    return { ...this.#supervisor.view(this.isReady), name, ports, services: [...this.#services] }
  }

  environment(): readonly (readonly [string, string])[] {
    const given = Object.entries(this.#init.start().env).filter(
      ([name, value]) => value !== undefined && value !== process.env[name]
    )
    return (given as [string, string][]).sort(([one], [other]) => (one < other ? -1 : 1))
  }

  /** Whether the service has been ready since its last start. */
  get isReady(): boolean {
    return this.#readySince !== undefined
  }

  start(): void {
    if (this.#isStopping) return
    if (this.plan.watch !== false)
      this.#watch = new SourceWatch(
        this.#init.files,
        (file) => this.#supervisor.again(`${relative(this.#init.root, file)} was edited`),
        (reason) => this.#init.lines.say(reason)
      )
    this.#supervisor.start()
  }

  /** Called when a process of the service has reported that it listens. */
  told({ port, purpose, taken, announcement }: Told): void {
    if (taken !== undefined) return this.#lacks(taken)
    if (announcement !== undefined) this.#services.add(announcement.service ?? this.plan.name)
    const addresses = announcement?.transports.map(({ address }) => address?.port) ?? []
    for (const each of [port, ...addresses])
      if (each !== undefined && each > 0) this.ports.set(each, purpose ?? this.ports.get(each))
    if (this.plan.ready !== undefined) return
    if (announcement !== undefined) return this.#ready()
    // The port for probes may be open before the service listens, but its answer says whether the service is ready.
    if (purpose === 'health') void this.#ask(`http://127.0.0.1:${port}/readyz`, this.#begun)
    if ([...this.ports.values()].every((each) => each !== undefined)) return clearTimeout(this.#listens)
    clearTimeout(this.#listens)
    this.#listens = setTimeout(() => this.#ready(), SETTLED)
  }

  async stop(): Promise<boolean> {
    this.#end()
    return this.#supervisor.stop()
  }

  kill(): void {
    this.#end()
    this.#supervisor.kill()
  }

  #end(): void {
    this.#isStopping = true
    this.#watch?.stop()
    clearTimeout(this.#patience)
    clearTimeout(this.#listens)
    clearTimeout(this.#mayEnd)
    this.#settle()
  }

  #starting(): void {
    this.#readySince = undefined
    this.#cause = undefined
    this.#output.starting()
    this.ports.clear()
    this.#services.clear()
    this.#watch?.refresh()
    this.#begun = performance.now()
    clearTimeout(this.#listens)
    clearTimeout(this.#mayEnd)
    this.#mayEnd = undefined
    this.#lacksPort = false
    this.#isReadyThen = false
    clearTimeout(this.#patience)
    this.#patience = setTimeout(() => this.#late(), this.#init.patience)
  }

  #started(): void {
    const { ready } = this.plan
    if (ready === false) this.#ready()
    else if (ready !== undefined) void this.#ask(ready, this.#begun)
  }

  #ready(): void {
    if (this.isReady || this.#isStopping) return
    this.#isReadyThen = this.#mayEnd !== undefined
    if (this.#isReadyThen) return
    this.#readySince = performance.now()
    clearTimeout(this.#patience)
    const { name, ready } = this.plan
    const seconds = ((performance.now() - this.#begun) / 1_000).toFixed(1)
    const ports = [...this.ports].map(([port, purpose]) =>
      purpose === undefined ? `port ${port}` : `port ${port} for ${purpose}`
    )
    const where = [`process ${this.#supervisor.pid}`, ...ports].join(', ')
    const how = ready === false ? 'is started' : `is ready after ${seconds} s`
    this.#supervisor.sayReady(`${name} ${how} (${where})`)
    this.#init.downtime.up(name)
    this.#init.ready()
    this.#settle()
  }

  #late(): void {
    this.#settle()
    // The service has crashed, which was printed already, and waits for its next start.
    if (this.#supervisor.pid === undefined) return
    const { name, ready } = this.plan
    const seconds = this.#init.patience / 1_000
    const why =
      this.#cause ??
      (ready === undefined
        ? 'it listens on no port; if it never listens, set ready: false in microservices.config.ts'
        : `${ready} does not answer`)
    this.#init.lines.say(`${name} is not ready after ${seconds} s: ${why}`)
  }

  /** Requests the service's URL until it answers, or until the service is started again. */
  async #ask(url: string, begun: number): Promise<void> {
    while (this.#begun === begun && !this.#isStopping && !this.isReady && !(await doesAnswer(url)))
      await new Promise((resolve) => setTimeout(resolve, LOOK))
    if (this.#begun === begun) this.#ready()
  }

  #lines(texts: readonly string[], isError: boolean): void {
    this.log.add(texts)
    for (const text of texts) {
      if (TAKEN.test(text)) this.#taken(PORT.exec(text)?.[1])
      const [, missing] = NOT_FOUND.exec(text) ?? []
      if (missing !== undefined) this.#cause ??= `${missing} is not installed: install the project's packages`
    }
    this.#output.add(texts, isError)
  }

  /** Why the service has crashed. */
  #why(): Cause | undefined {
    const report = this.#output.report()
    if (this.#cause !== undefined) return { text: this.#cause }
    if (report === undefined) return undefined
    const { text, place, isCode, more } = report
    if (isCode) return { text: place === undefined ? text : `${place}: ${text}`, isCode }
    return { text: place === undefined ? text : `${text} (${place})`, more }
  }

  #ended(): void {
    this.#output.flush()
    // While everything ends, nothing is missed.
    if (this.#isStopping) return
    const ports = [...this.ports.keys()].map((port) => `:${port}\\b`)
    this.#init.downtime.down(this.plan.name, ports.length === 0 ? NEVER : new RegExp(ports.join('|')))
  }

  /** The service has reported a port that is taken. It may go on, because Elysia's adapter for Node drops that error. */
  #lacks(port: number): void {
    this.#taken(String(port))
    const cause = this.#cause
    this.#lacksPort = true
    clearTimeout(this.#mayEnd)
    this.#mayEnd = setTimeout(() => {
      this.#mayEnd = undefined
      if (this.#supervisor.pid === undefined) return
      this.#init.lines.say(`${this.plan.name} runs, but ${cause}; an edit restarts it`)
      if (this.#isReadyThen) this.#ready()
    }, TAKEN_PATIENCE)
  }

  /** Notes that a port is taken. If an error has several lines, only one of them may have the port's number. */
  #taken(port: string | undefined): void {
    if (port === undefined && this.#cause !== undefined) return
    const owner = port === undefined ? undefined : this.#init.ownerOf(Number(port))
    const what = port === undefined ? 'its port' : `port ${port}`
    this.#cause = `${what} is taken${owner === undefined ? '' : ` by ${owner}`}; end what listens there, or choose another port`
  }
}

/** Whether a URL answers: over HTTP with any status below 500, over TCP by accepting a connection. */
async function doesAnswer(url: string): Promise<boolean> {
  if (!url.startsWith('tcp:')) {
    return fetch(url, { signal: AbortSignal.timeout(5_000) }).then(
      async ({ status, body }) => {
        await body?.cancel()
        return status < 500
      },
      () => false
    )
  }
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = net.connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

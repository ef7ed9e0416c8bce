/** Watches services for pages. Services are asked only while a page is open, and once for all pages. */
import { setMaxListeners } from 'node:events'
import type { CheckedClient } from './clients.ts'
import { overviewFor, sampleFor } from './look.ts'
import type { Overview, Sample, Update } from './protocol.ts'
import type { Source } from './sources/source.ts'
import { type Crowd, WatchedService } from './watched-service.ts'

/** Largest number of services that are asked; further ones are only counted. */
const MAX_SERVICES = 1_000
/** Largest number of characters of a service's name; a service with a longer name is only counted. */
const MAX_ID = 300
/**
 * Milliseconds during which changes are collected before an overview is sent: a fixed time, and a time for each
 * service. An overview contains all services; without this delay it would be sent a thousand times if a thousand
 * services answered one after the other.
 */
const GATHERED = 10
const GATHERED_EACH = 0.25

/**
 * Largest number of services that are asked at the same time: if all were asked at once, all their long answers
 * would arrive late.
 */
const MAX_ANSWERING = 20
/**
 * Largest number of services that are asked in addition, because they did not answer the last time. They cost nothing
 * until they answer, but all of them may answer at once, as after a restart of the broker. A service that never
 * answers occupies its place for 5 s, so the answer of one in a thousand is noticed within 25 s.
 */
const MAX_SILENT = 200

/** If all descriptions together have fewer characters than this, every page gets all of them. */
const LITTLE = 500_000

/** Asks the services while a page is open. */
export class Watch {
  readonly #clients: () => ReadonlyMap<string, CheckedClient>
  /** The services by their ids, as of the last round. */
  #services: ReadonlyMap<string, WatchedService> = new Map()
  readonly #settings: Pick<Overview, 'canTry' | 'interval'>
  readonly #sources: readonly Source[]
  readonly #pages = new Set<OpenPage>()
  #asking = new AbortController()
  #timer: ReturnType<typeof setInterval> | undefined
  #gathering: ReturnType<typeof setTimeout> | undefined
  readonly #answering = new Turns(MAX_ANSWERING)
  readonly #silent = new Turns(MAX_SILENT)
  /** The number of services that are not asked, because there are too many. */
  #leftOut = 0
  /** Whether services are asked even while no page is open. */
  #isAlways = false

  /**
   * @param clients returns the current clients, because services come and go
   * @param sources further values for pages
   * @param until services are asked until this signal aborts, whether a page is open or not
   */
  constructor(
    clients: () => ReadonlyMap<string, CheckedClient>,
    settings: Pick<Overview, 'canTry' | 'interval'>,
    sources: readonly Source[] = [],
    until?: AbortSignal
  ) {
    this.#clients = clients
    this.#settings = settings
    this.#sources = sources
    if (until === undefined || until.aborted) return
    this.#isAlways = true
    this.#begin()
    until.addEventListener('abort', () => this.#askWithPagesOnly(), { once: true })
  }

  /** The number of open pages. */
  get size(): number {
    return this.#pages.size
  }

  /**
   * The updates for one page, until the page is closed or the signal aborts. A page that reads slowly gets fewer
   * updates.
   * @param look the id of the service whose details are sent; if all descriptions are too large, other services are
   * summarised
   */
  open(signal: AbortSignal, look?: string): AsyncIterator<Update> {
    this.#follow()
    const page = new OpenPage(
      {
        overview: () => (this.#isLittle ? this.#overview() : overviewFor(this.#overview(), look)),
        shown: (sample) => (this.#isLittle ? sample : sampleFor(sample, look)),
        left: () => this.#closed(page)
      },
      this.#sources
    )
    const last = this.#lastOf(look)
    if (last !== undefined) page.tellSample(last)
    signal.addEventListener('abort', () => void page.return(), { once: true })
    this.#pages.add(page)
    if (this.#timer === undefined) this.#begin()
    // The page may have left while it was being admitted.
    if (signal.aborted) void page.return()
    return page
  }

  #overview(): Overview {
    return {
      ...this.#settings,
      services: this.#present.flatMap((service) => service.views),
      ...(this.#leftOut > 0 && { leftOut: this.#leftOut })
    }
  }

  /** Whether every page may get all descriptions. */
  get #isLittle(): boolean {
    return this.#present.reduce((sum, { characters }) => sum + characters, 0) < LITTLE
  }

  get #present(): readonly WatchedService[] {
    return [...this.#services.values()]
  }

  /**
   * Updates the list of services, and keeps the data of those that still exist. @returns whether services were
   * added or removed
   */
  #follow(): boolean {
    const before = this.#services
    const clients = [...this.#clients()]
    const shown = clients.filter(([id]) => id.length <= MAX_ID).slice(0, MAX_SERVICES)
    this.#leftOut = clients.length - shown.length
    this.#services = new Map(
      shown.map(([id, client]) => {
        const known = before.get(id)
        return [id, known?.client === client ? known : new WatchedService(id, client)]
      })
    )
    return (
      before.size !== this.#services.size ||
      this.#present.some((service) => before.get(service.id) !== service)
    )
  }

  #begin(): void {
    this.#asking = new AbortController()
    // Each request adds a listener to this signal, so the warning about many listeners is switched off.
    setMaxListeners(0, this.#asking.signal)
    this.#timer = setInterval(() => {
      this.#tell()
      this.#ask()
    }, this.#settings.interval)
    this.#ask()
    for (const source of this.#sources) source.begin?.(() => this.#tellOf(source))
  }

  #closed(page: OpenPage): void {
    if (this.#pages.delete(page)) this.#restUnlessWatched()
  }

  #askWithPagesOnly(): void {
    this.#isAlways = false
    this.#restUnlessWatched()
  }

  #restUnlessWatched(): void {
    if (this.#pages.size > 0 || this.#isAlways || this.#timer === undefined) return
    clearInterval(this.#timer)
    clearTimeout(this.#gathering)
    this.#timer = undefined
    this.#gathering = undefined
    this.#asking.abort()
    this.#answering.clear()
    this.#silent.clear()
    for (const service of this.#present) service.rest()
    for (const source of this.#sources) source.rest?.()
  }

  #ask(): void {
    const { signal } = this.#asking
    if (this.#follow()) this.#tellOverview()
    const present = this.#present
    const crowd = { services: present.length, instances: present.reduce((sum, { size }) => sum + size, 0) }
    for (const service of present) (service.isSilent ? this.#silent : this.#answering).add(service)
    for (const turns of [this.#answering, this.#silent])
      turns.run(signal, (service) => this.#askOne(service, signal, crowd))
  }

  async #askOne(service: WatchedService, signal: AbortSignal, crowd: Crowd): Promise<void> {
    if (await service.ask(signal, crowd)) this.#tellOverview()
  }

  #tellOverview(): void {
    this.#gathering ??= setTimeout(
      () => {
        this.#gathering = undefined
        for (const page of this.#pages) page.tellOverview()
      },
      Math.max(GATHERED, GATHERED_EACH * this.#services.size)
    )
  }

  #tell(): void {
    const at = Date.now()
    const taken = this.#present.flatMap((service) => service.takeSamples(at))
    const sample: Sample = { at, services: Object.fromEntries(taken) }
    for (const page of this.#pages) page.tellSample(sample)
    if (this.#sources.length === 0) return
    const overview = this.#overview()
    for (const source of this.#sources) source.sampled?.(sample, overview)
  }

  /** The latest sample of a service, for a page that begins to show this service. */
  #lastOf(look: string | undefined): Sample | undefined {
    for (const service of this.#present) {
      const told = service.told.find(([id]) => id === look)
      if (told !== undefined) return { at: told[1].at, services: { [told[0]]: told[1].sample } }
    }
    return undefined
  }

  #tellOf(source: Source): void {
    for (const page of this.#pages) page.tellOf(source)
  }
}

/** Services that still have to be asked. Only some of them are asked at the same time. */
class Turns {
  readonly #most: number
  readonly #waiting = new Set<WatchedService>()
  #asking = 0

  constructor(most: number) {
    this.#most = most
  }

  add(service: WatchedService): void {
    this.#waiting.add(service)
  }

  clear(): void {
    this.#waiting.clear()
  }

  /** Asks the services, one after the other where there is no room, until the signal aborts. @param ask never rejects */
  run(signal: AbortSignal, ask: (service: WatchedService) => Promise<void>): void {
    for (const service of this.#waiting) {
      if (this.#asking >= this.#most || signal.aborted) return
      this.#waiting.delete(service)
      this.#asking++
      void ask(service).then(() => {
        this.#asking--
        this.run(signal, ask)
      })
    }
  }
}

/** The functions of the watch that one page needs. */
interface PagePart {
  /**
   * Makes the newest overview. It is made only when the page reads it, because many services may change before
   * that.
   */
  overview(): Overview
  shown(sample: Sample): Sample
  /** Called when the page was closed. */
  left(): void
}

/** The updates for one page. Keeps only the newest value of each kind that the page has not read yet. */
class OpenPage implements AsyncIterator<Update> {
  readonly #part: PagePart
  #isOverviewNew = true
  #sample: Sample | undefined
  /** The sources whose latest value the page has not read. */
  readonly #sources: Set<Source>
  #isOver = false
  #wake: (() => void) | undefined

  constructor(part: PagePart, sources: readonly Source[]) {
    this.#part = part
    this.#sources = new Set(sources)
  }

  tellOverview(): void {
    this.#isOverviewNew = true
    this.#wake?.()
  }

  tellSample(sample: Sample): void {
    this.#sample = sample
    this.#wake?.()
  }

  tellOf(source: Source): void {
    this.#sources.add(source)
    this.#wake?.()
  }

  async next(): Promise<IteratorResult<Update>> {
    while (!this.#isOver) {
      const sample = this.#sample
      if (this.#isOverviewNew) {
        this.#isOverviewNew = false
        return { done: false, value: { overview: this.#part.overview() } }
      }
      if (sample !== undefined) {
        this.#sample = undefined
        return { done: false, value: { sample: this.#part.shown(sample) } }
      }
      // Each value is an update of its own, because all together may be too large for one message.
      for (const source of this.#sources) {
        this.#sources.delete(source)
        const latest = source.latest?.()
        if (latest !== undefined) return { done: false, value: { topics: { [source.topic]: latest } } }
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Update>> {
    this.#isOver = true
    this.#wake?.()
    this.#part.left()
    return { done: true, value: undefined }
  }
}

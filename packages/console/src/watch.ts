/** Watches services for pages. Services are asked only while a page is open, and once for all pages. */
import { setMaxListeners } from 'node:events'
import type { ConsoleClient } from './clients.ts'
import { overviewFor, sampleFor } from './look.ts'
import type { Overview, Sample, Update } from './protocol.ts'
import type { Source } from './sources/source.ts'
import { WatchedService } from './watched-service.ts'

/** Services that are asked: the others are only counted. */
const MAX_SERVICES = 1_000
/** Characters of a service's name; one with a longer name is only counted. */
const MAX_ID = 300
/**
 * Milliseconds in which changes are gathered, at least and for each service: an overview has all services, and a thousand
 * that are heard of one by one would each send it again.
 */
const GATHERED = 10
const GATHERED_EACH = 0.25

/** Characters of all descriptions together that a page is told of whatever it looks at. */
const LITTLE = 500_000

/** Asks the services while somebody watches. */
export class Watch {
  readonly #clients: () => ReadonlyMap<string, ConsoleClient>
  /** By their ids, as they were last. */
  #services: ReadonlyMap<string, WatchedService> = new Map()
  readonly #settings: Pick<Overview, 'canTry' | 'interval'>
  readonly #sources: readonly Source[]
  readonly #pages = new Set<OpenPage>()
  #asking = new AbortController()
  #timer: ReturnType<typeof setInterval> | undefined
  #gathering: ReturnType<typeof setTimeout> | undefined
  /** Services that are not asked, because they are too many. */
  #leftOut = 0
  /** Whether services are asked while no page is open, too. */
  #isAlways = false

  /**
   * @param clients asked each time, because services come and go
   * @param sources what else pages are told
   * @param until services are asked until then, whether a page is open or not
   */
  constructor(
    clients: () => ReadonlyMap<string, ConsoleClient>,
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

  /** Pages that are open. */
  get size(): number {
    return this.#pages.size
  }

  /**
   * The updates of one page, until it leaves or the signal aborts. A page that reads slowly gets fewer.
   * @param look the id of what is told in full; all else is told in brief, if all together are too much
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
    return page
  }

  #overview(): Overview {
    return {
      ...this.#settings,
      services: this.#present.flatMap((service) => service.views),
      ...(this.#leftOut > 0 && { leftOut: this.#leftOut })
    }
  }

  /** Whether pages may be told everything. */
  get #isLittle(): boolean {
    return this.#present.reduce((sum, { characters }) => sum + characters, 0) < LITTLE
  }

  get #present(): readonly WatchedService[] {
    return [...this.#services.values()]
  }

  /** Keeps what is known of services that are still there. @returns whether others have come or gone */
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
    // Each question listens to it.
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
    for (const service of this.#present) service.rest()
    for (const source of this.#sources) source.rest?.()
  }

  #ask(): void {
    const { signal } = this.#asking
    if (this.#follow()) this.#tellOverview()
    const present = this.#present
    const crowd = { services: present.length, instances: present.reduce((sum, { size }) => sum + size, 0) }
    for (const service of present)
      void service.ask(signal, crowd).then((isNew) => {
        if (isNew) this.#tellOverview()
      })
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

  /** The latest report of a service, for a page that begins to look at it. */
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

/** The part of everything that one page is told. */
interface PagePart {
  /** Makes the newest: many services may change before a page takes it. */
  overview(): Overview
  shown(sample: Sample): Sample
  /** The page has left. */
  left(): void
}

/** One page. Holds the newest of each kind that it has not taken yet, and nothing behind that. */
class OpenPage implements AsyncIterator<Update> {
  readonly #part: PagePart
  #isOverviewNew = true
  #sample: Sample | undefined
  /** Those whose latest the page has not taken. */
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
      // One by one, because all together may be too large for a message.
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

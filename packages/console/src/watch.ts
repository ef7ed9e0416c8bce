/** What pages see. Services are asked only while a page is open, and once for all pages. */
import type { ConsoleClient } from './clients.ts'
import type { Overview, Sample, Update } from './protocol.ts'
import { WatchedService } from './watched-service.ts'

/** Asks the services while somebody watches. */
export class Watch {
  readonly #clients: () => ReadonlyMap<string, ConsoleClient>
  /** By their ids, as they were last. */
  #services: ReadonlyMap<string, WatchedService> = new Map()
  readonly #settings: Pick<Overview, 'canTry' | 'interval'>
  readonly #pages = new Set<OpenPage>()
  #asking = new AbortController()
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param clients asked each time, because services come and go */
  constructor(
    clients: () => ReadonlyMap<string, ConsoleClient>,
    settings: Pick<Overview, 'canTry' | 'interval'>
  ) {
    this.#clients = clients
    this.#settings = settings
  }

  /** Pages that are open. */
  get size(): number {
    return this.#pages.size
  }

  /** What one page is told, until it leaves or the signal aborts. A page that reads slowly is told less often. */
  open(signal: AbortSignal): AsyncIterator<Update> {
    this.#follow()
    const page = new OpenPage(this.#overview(), () => this.#closed(page))
    signal.addEventListener('abort', () => void page.return(), { once: true })
    this.#pages.add(page)
    if (this.#pages.size === 1) this.#begin()
    return page
  }

  #overview(): Overview {
    return { ...this.#settings, services: this.#present.flatMap((service) => service.views) }
  }

  get #present(): readonly WatchedService[] {
    return [...this.#services.values()]
  }

  /** Keeps what is known of services that are still there. @returns whether others have come or gone */
  #follow(): boolean {
    const before = this.#services
    this.#services = new Map(
      [...this.#clients()].map(([id, client]) => {
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
    this.#timer = setInterval(() => {
      this.#tell()
      this.#ask()
    }, this.#settings.interval)
    this.#ask()
  }

  #closed(page: OpenPage): void {
    if (!this.#pages.delete(page) || this.#pages.size > 0) return
    clearInterval(this.#timer)
    this.#asking.abort()
    for (const service of this.#present) service.rest()
  }

  #ask(): void {
    const { signal } = this.#asking
    if (this.#follow()) this.#tellOverview()
    for (const service of this.#present)
      void service.ask(signal).then((isNew) => {
        if (isNew) this.#tellOverview()
      })
  }

  #tellOverview(): void {
    const overview = this.#overview()
    for (const page of this.#pages) page.tellOverview(overview)
  }

  #tell(): void {
    const taken = this.#present.flatMap((service) => service.takeSamples())
    const sample: Sample = { at: Date.now(), services: Object.fromEntries(taken) }
    for (const page of this.#pages) page.tellSample(sample)
  }
}

/** One page. Holds the newest of each kind that it has not taken yet, and nothing behind that. */
class OpenPage implements AsyncIterator<Update> {
  #overview: Overview | undefined
  #sample: Sample | undefined
  #isOver = false
  readonly #left: () => void
  #wake: (() => void) | undefined

  constructor(overview: Overview, left: () => void) {
    this.#overview = overview
    this.#left = left
  }

  tellOverview(overview: Overview): void {
    this.#overview = overview
    this.#wake?.()
  }

  tellSample(sample: Sample): void {
    this.#sample = sample
    this.#wake?.()
  }

  async next(): Promise<IteratorResult<Update>> {
    while (!this.#isOver) {
      const [overview, sample] = [this.#overview, this.#sample]
      if (overview !== undefined) {
        this.#overview = undefined
        return { done: false, value: { overview } }
      }
      if (sample !== undefined) {
        this.#sample = undefined
        return { done: false, value: { sample } }
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
    this.#left()
    return { done: true, value: undefined }
  }
}

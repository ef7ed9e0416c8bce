/** Calls and events in peace: whatever has happened before, each client still gets what it asks for. */
import type { UntypedStoringClient } from 'elysia-microservices/client'
import type { Kept } from './entries.ts'
import type { Payload } from './handlers.ts'
import type { Ledger } from './ledger.ts'
import { wait } from './world.ts'

/** A request that is refused, because others wait for a place, is repeated so often, after a second each. */
const MOST = 30

export class Probes {
  readonly #ledger: Ledger
  readonly #hasHeaders: boolean
  readonly #suffix: string
  readonly #isResponsive: boolean
  readonly #kept: Kept[] = []

  /** @param hasHeaders whether calls have headers @param isResponsive whether each request gets an answer soon, or is refused */
  constructor(ledger: Ledger, hasHeaders: boolean, isResponsive: boolean, suffix = '') {
    this.#ledger = ledger
    this.#hasHeaders = hasHeaders
    this.#suffix = suffix
    this.#isResponsive = isResponsive
  }

  /** Asks all services through a client. @param stores whether events can be published */
  async ask(client: UntypedStoringClient, n: number, stores: boolean): Promise<void> {
    const data = (what: string): Payload => ({
      ...{ id: `${what}-probe-${n}${this.#suffix}`, key: '', failing: 'error' },
      ...{ takes: 0, values: 0, order: 0, failures: 0 }
    })
    await this.#again(`client ${n} gets no answer`, async () => {
      const { id } = data('echo')
      if ((await client.request('echo', data('echo'), { timeout: 20_000, ...this.#headers(id) })) !== id)
        throw new Error('wrong answer')
    })
    // An event may be refused, because others were promised the place; then the next one gets it.
    const emits = (pattern: string) =>
      this.#again(`what client ${n} emits for '${pattern}' does not come`, async (time) => {
        const event = data(`emit-${pattern}-${time}`)
        const kept = this.#ledger.keeps(this.#ledger.emitted, event.id, `event ${event.id}`, { pattern })
        try {
          await client.emit(pattern, event, this.#headers(event.id))
          this.#ledger.promised(kept, undefined)
        } catch (error) {
          this.#ledger.refusedBy(kept, error, [])
          throw error
        }
        await wait(2_000)
        if (!this.#hasCome(kept)) throw new Error('it was not handled')
      })
    await Promise.all(stores ? [emits('noted'), emits('kept')] : [emits('noted')])
    if (stores)
      await this.#again(`client ${n} cannot publish`, async () => {
        const { id } = data('publish')
        this.#promised(id)
        await client.publish('kept', data('publish'), { id, headers: { own: id } })
      })
  }

  #headers(id: string): { readonly headers?: { readonly own: string } } {
    return this.#hasHeaders ? { headers: { own: id } } : {}
  }

  #promised(id: string): void {
    const { published } = this.#ledger
    if (published.has(id)) return
    const kept = this.#ledger.keeps(published, id, `event ${id}`, { pattern: 'kept' })
    kept.isPromised = true
    kept.isSettled = true
    this.#kept.push(kept)
  }

  async #again(failure: string, act: (time: number) => Promise<void>): Promise<void> {
    let last: unknown
    for (let time = 0; time < MOST; time++)
      try {
        return await act(time)
      } catch (error) {
        last = error
        // A request that finds no place is refused at once, or gets one soon.
        if (this.#isResponsive && (error as { readonly code?: string }).code === 'TIMEOUT') break
        await wait(1_000)
      }
    this.#ledger.breaks(`in peace, ${failure}: ${last instanceof Error ? last.message : last}`)
  }

  /** Whether all events have come to all groups. */
  get isDone(): boolean {
    return this.#kept.every((kept) => this.#hasCome(kept))
  }

  #hasCome({ done }: Kept): boolean {
    return this.#ledger.groups.every((group) => done.has(group))
  }

  audit(): void {
    for (const { what, done } of this.#kept)
      for (const group of this.#ledger.groups)
        if (!done.has(group)) this.#ledger.breaks(`in peace, ${what} did not come to ${group}`)
  }
}

/** Calls and events in peace: whatever has happened before, each client still gets what it asks for. */
import type { UntypedStoringClient } from 'elysia-microservices/client'
import type { Payload } from './handlers.ts'
import type { Kept, Ledger } from './ledger.ts'
import { wait } from './world.ts'

/** A request that is refused, because others wait for a place, is made again so often, after a second each. */
const MOST = 30

export class Probes {
  readonly #ledger: Ledger
  readonly #suffix: string
  readonly #kept: Kept[] = []

  constructor(ledger: Ledger, suffix = '') {
    this.#ledger = ledger
    this.#suffix = suffix
  }

  /** Asks all services through a client. @param stores whether events can be published */
  async ask(client: UntypedStoringClient, n: number, stores: boolean): Promise<void> {
    const data = (what: string): Payload => ({
      ...{ id: `${what}-probe-${n}${this.#suffix}`, key: '', failing: 'error' },
      ...{ takes: 0, values: 0, order: 0, failures: 0 }
    })
    await this.#again(`client ${n} gets no answer`, async () => {
      const { id } = data('echo')
      if ((await client.request('echo', data('echo'), { timeout: 20_000 })) !== id)
        throw new Error('wrong answer')
    })
    await this.#again(`client ${n} cannot emit`, async () => {
      this.#promised(this.#ledger.emitted, data('emit').id)
      await client.emit('noted', data('emit'))
    })
    if (stores)
      await this.#again(`client ${n} cannot publish`, async () => {
        const { id } = data('publish')
        this.#promised(this.#ledger.published, id)
        await client.publish('kept', data('publish'), { id })
      })
  }

  #promised(list: Map<string, Kept>, id: string): void {
    if (list.has(id)) return
    const kept = this.#ledger.keeps(list, id, `event ${id}`)
    kept.isPromised = true
    kept.isSettled = true
    this.#kept.push(kept)
  }

  async #again(failure: string, act: () => Promise<void>): Promise<void> {
    let last: unknown
    for (let time = 0; time < MOST; time++)
      try {
        return await act()
      } catch (error) {
        last = error
        await wait(1_000)
      }
    this.#ledger.breaks(`in peace, ${failure}: ${last instanceof Error ? last.message : last}`)
  }

  /** Whether all events have come to all groups. */
  get isDone(): boolean {
    return this.#kept.every(({ done }) => this.#ledger.groups.every((group) => done.has(group)))
  }

  audit(): void {
    for (const { what, done } of this.#kept)
      for (const group of this.#ledger.groups)
        if (!done.has(group)) this.#ledger.breaks(`in peace, ${what} did not come to ${group}`)
  }
}

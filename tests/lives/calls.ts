/** The calls and events of a life, each written down with its outcome. */
import type { Published, UntypedStoringClient } from 'elysia-microservices/client'
import type { Carrier } from './carrier.ts'
import type { Kept } from './entries.ts'
import { answerTo, MOST_VALUES, type Payload, textOf } from './handlers.ts'
import type { Ledger } from './ledger.ts'
import type { Step } from './plan.ts'
import { type World, wait } from './world.ts'

type Call = Extract<
  Step,
  { do: 'request' | 'stream' | 'channel' | 'emit' | 'publish' | 'transact' | 'cancel' }
>

export function isCall(step: Step): step is Call {
  return ['request', 'stream', 'channel', 'emit', 'publish', 'transact', 'cancel'].includes(step.do)
}

interface Circumstances {
  readonly timeout: number
  readonly isCalm: boolean
  /** Whether calls may take longer than their time. */
  readonly isSlow: boolean
  readonly publishIn: Carrier['publishIn']
  /** Whether calls have headers. */
  readonly hasHeaders: boolean
  /** Whether the store may be full. */
  readonly mayBeFull: boolean
  readonly suffix?: string | undefined
}

/** Handlers that answer soon. */
const SOON = new Set(['echo', 'wait', 'back'])

export class Calls {
  /** Number of events that nobody has promised or refused yet. */
  waiting = 0
  readonly #world: Pick<World, 'after'>
  readonly #ledger: Ledger
  readonly #clientOf: (n: number) => UntypedStoringClient | undefined
  /** Whether nothing happens in this life because of which a call may fail. */
  readonly #isCalm: boolean
  readonly #isSlow: boolean
  /** Milliseconds for a call; 0: no limit, so that callers must give up those that never end. */
  readonly #timeout: number
  readonly #suffix: string
  readonly #publishIn: Carrier['publishIn']
  readonly #hasHeaders: boolean
  readonly #mayBeFull: boolean
  /** Events that wait for their time. */
  readonly #waiting: { readonly pattern: string; readonly id: string; readonly kept: Kept }[] = []
  #ids = 0
  #orders = 0

  constructor(
    world: Pick<World, 'after'>,
    ledger: Ledger,
    clientOf: (n: number) => UntypedStoringClient | undefined,
    { timeout, isCalm, isSlow, publishIn, hasHeaders, mayBeFull, suffix = '' }: Circumstances
  ) {
    this.#world = world
    this.#ledger = ledger
    this.#clientOf = clientOf
    this.#timeout = timeout
    this.#isCalm = isCalm
    this.#isSlow = isSlow
    this.#suffix = suffix
    this.#publishIn = publishIn
    this.#hasHeaders = hasHeaders
    this.#mayBeFull = mayBeFull
  }

  make(step: Call): void {
    switch (step.do) {
      case 'request':
        for (let n = 0; n < step.times; n++) this.#request(step)
        return
      case 'stream':
        return this.#stream(step)
      case 'channel':
        return this.#channel(step)
      case 'emit':
        for (let n = 0; n < step.times; n++) this.#emit(step)
        return
      case 'publish':
        return void this.#publishAll(step)
      case 'transact':
        return void this.#transact(step)
      case 'cancel':
        return void this.#cancel(step)
    }
  }

  async #publishAll(step: Step & { do: 'publish' }): Promise<void> {
    this.waiting++
    for (let n = 0; n < step.times; n++) {
      const stored = this.#publish(step, step.to[n % step.to.length] as 'kept' | 'filed')
      if (step.pace === 'in turn') await stored
      else if (step.pace === 'steadily') await wait(1)
    }
    this.waiting--
  }

  #id(what: string): string {
    return `${what}-${++this.#ids}${this.#suffix}`
  }

  #payload(id: string, parts: Partial<Payload> = {}): Payload {
    return {
      id,
      takes: 0,
      values: 0,
      order: 0,
      key: '',
      failures: 0,
      failing: 'error',
      ...parts
    }
  }

  #request(step: Step & { do: 'request' }): void {
    const client = this.#clientOf(step.client)
    if (client === undefined) return
    const id = this.#id(step.work)
    const abort = new AbortController()
    const isNever = step.work === 'never' && this.#timeout === 0
    const after = step.abort > 0 ? step.abort : isNever ? 2_000 : 0
    if (after > 0) this.#world.after(after, () => abort.abort())
    this.#ledger.calling(id, `request ${id}`, {
      isIdempotent: step.idempotent,
      mayFailWith: this.#isCalm ? failuresOf(step, after, this.#isSlow) : undefined,
      ends: this.#timeout === 0 ? Infinity : performance.now() + this.#timeout
    })
    client
      .request(step.work, this.#payload(id, { takes: step.takes, ...filled(step) }), {
        signal: abort.signal,
        idempotent: step.idempotent,
        ...this.#headers(id)
      })
      .then(
        (answer) => {
          if (answer !== answerTo(id, step.size))
            this.#ledger.breaks(`request ${id} was answered with ${String(answer).slice(0, 50)}`)
          this.#ledger.settled(id, 'answered')
        },
        (error) => this.#ledger.settled(id, `failed ${error?.code}`, error)
      )
  }

  /** The codes with which an event may be refused, if nothing is lost. */
  #refusals(size: number): readonly string[] | undefined {
    if (!this.#isCalm || this.#isSlow) return undefined
    return [
      ...(this.#timeout === 0 ? [] : ['TIMEOUT']),
      ...(size === 0 ? [] : FOR_GOOD),
      ...(this.#mayBeFull ? ['NOT_STORED'] : [])
    ]
  }

  /** The codes with which streams may fail, if nothing is lost. */
  get #failuresOfStreams(): readonly string[] | undefined {
    if (!this.#isCalm) return undefined
    return this.#timeout === 0 ? [] : ['TIMEOUT']
  }

  #stream(step: Step & { do: 'stream' }): void {
    const client = this.#clientOf(step.client)
    if (client === undefined) return
    const id = this.#id(step.source)
    this.#ledger.calling(id, `stream ${id}`, { mayFailWith: this.#failuresOfStreams })
    const payload = this.#payload(id, {
      values: step.values,
      takes: step.source === 'count' ? 0 : step.pause
    })
    const read = async () => {
      let values = 0
      for await (const value of client.stream(step.source, payload, this.#headers(id))) {
        const right = step.source === 'echo' ? id : values
        if (value !== right) this.#ledger.breaks(`stream ${id} gave ${String(value)} in place of ${right}`)
        if (++values >= step.take) return 'left'
        if (step.pause > 0) await wait(step.pause)
      }
      const least = step.source === 'echo' ? 1 : step.values
      if (values < Math.min(least, MOST_VALUES[step.source]))
        this.#ledger.breaks(`stream ${id} ended after ${values} of ${step.values} values`)
      return 'ended'
    }
    read().then(
      (outcome) => this.#ledger.settled(id, outcome),
      (error) => this.#ledger.settled(id, `failed ${error?.code}`, error)
    )
  }

  #channel(step: Step & { do: 'channel' }): void {
    const client = this.#clientOf(step.client)
    if (client === undefined) return
    const id = this.#id(step.to)
    const ledger = this.#ledger
    ledger.calling(id, `channel ${id}`, { mayFailWith: this.#failuresOfStreams })
    async function* values() {
      for (let n = 0; n < step.values; n++) {
        if (step.pause > 0) await wait(step.pause)
        if (!ledger.pulls('the input of a channel')) return
        yield { id, n, ...filled(step) }
      }
    }
    const call = async () => {
      let received = 0
      if (step.to === 'total') received = await client.request<number>('total', values(), { timeout: false })
      else
        for await (const value of client.stream('relay', values())) {
          if (value !== received) ledger.breaks(`channel ${id} gave ${String(value)} in place of ${received}`)
          received++
        }
      if (received !== step.values) ledger.breaks(`channel ${id} gave ${received} of ${step.values} values`)
      // A channel without values is not told apart by its handler.
      if (step.values === 0) ledger.ran(id)
    }
    call().then(
      () => ledger.settled(id, 'ended'),
      (error) => ledger.settled(id, `failed ${error?.code}`, error)
    )
  }

  #emit(step: Step & { do: 'emit' }): void {
    const client = this.#clientOf(step.client)
    if (client === undefined) return
    const id = this.#id('emit')
    const pattern = step.to ?? 'noted'
    const kept = this.#ledger.keeps(this.#ledger.emitted, id, `event ${id}`, { pattern })
    const payload = this.#payload(id, { takes: step.takes, ...filled(step) })
    const emitted = client.emit(pattern, payload, this.#headers(id))
    void this.#kept(
      kept,
      emitted.then(() => undefined),
      step.size
    )
  }

  /** Resolves when the event is stored, or cannot be. */
  async #publish(step: Step & { do: 'publish' }, pattern: 'kept' | 'filed'): Promise<void> {
    const client = this.#clientOf(step.client)
    if (client === undefined) return
    const id = this.#id('publish')
    const order = ++this.#orders
    // Order is a promise to one publisher and to one group of a pattern, so each has keys of its own.
    const { takes, failures, failing, delay, size = 0, wide = 0 } = step
    // Events of the future are in order from their time on.
    const key = delay > 0 ? id : `${pattern}-${step.client}-${order % step.keys}`
    const due = delay > 0 ? Date.now() + delay : undefined
    const kept = this.#ledger.keeps(this.#ledger.published, id, `event ${id}`, { key, order, pattern, due })
    if (delay > 0) this.#waiting.push({ pattern, id, kept })
    const data = this.#payload(id, { takes, failures, failing, order, key, ...filled({ size }) })
    const headers = { own: id, ...(wide > 0 && { wide: textOf(wide) }) }
    await this.#kept(
      kept,
      client.publish(pattern, data, { key, headers, ...(step.hasId && { id }), ...(delay > 0 && { delay }) }),
      size + wide
    )
  }

  /** Publishes events of one key in a transaction. */
  async #transact(step: Step & { do: 'transact' }): Promise<void> {
    const { client, times, to, isRolledBack } = step
    if (this.#clientOf(client) === undefined) return
    this.waiting++
    const all: Kept[] = []
    let isCommitting = false
    // Each pattern has a group of its own, with an order of its own.
    const key = this.#id('transaction')
    try {
      await this.#publishIn?.(`client-${client}`, async (publish) => {
        for (let n = 0; n < times; n++) {
          const pattern = to[n % to.length] as 'kept' | 'filed'
          const id = this.#id('publish')
          const own = `${pattern} ${key}`
          const order = ++this.#orders
          const parts = { key: own, order, pattern }
          all.push(this.#ledger.keeps(this.#ledger.published, id, `event ${id}`, parts))
          await publish(pattern, this.#payload(id, { order, key: own }), {
            key: own,
            id,
            headers: { own: id }
          })
        }
        if (isRolledBack) throw new Error('rolled back')
        isCommitting = true
      })
      for (const kept of all) this.#ledger.promised(kept, undefined)
    } catch {
      for (const kept of all) this.#ledger.undone(kept, isCommitting)
    }
    this.waiting--
  }

  /** Deletes the last event that waits for its time. */
  async #cancel(step: Step & { do: 'cancel' }): Promise<void> {
    const client = this.#clientOf(step.client)
    // Of an event that is being published still, the publication may come behind its cancellation.
    const at = this.#waiting.findLastIndex(({ kept }) => kept.isPromised)
    const [last] = at < 0 ? [] : this.#waiting.splice(at, 1)
    if (client === undefined || last === undefined) return
    this.waiting++
    const wasWaiting = await client.cancel(last.pattern, last.id).catch(() => undefined)
    this.#ledger.cancelled(last.kept, wasWaiting)
    this.waiting--
  }

  #headers(id: string): { readonly headers?: { readonly own: string } } {
    return this.#hasHeaders ? { headers: { own: id } } : {}
  }

  /** @param size characters beyond the few of most events */
  async #kept(kept: Kept, promise: Promise<Published | undefined>, size = 0): Promise<void> {
    this.waiting++
    try {
      this.#ledger.promised(kept, await promise)
    } catch (error) {
      this.#ledger.refusedBy(kept, error, this.#refusals(size))
    }
    this.waiting--
  }
}

/** The errors of events that a further attempt would not send or store either. */
const FOR_GOOD = ['PAYLOAD_TOO_LARGE', 'EVENT_REFUSED', 'OPTION']

/**
 * The codes with which a request may fail, although nothing is lost.
 * @param after when its caller gives up; 0: never @param isSlow whether it may take longer than its time
 */
function failuresOf(
  { work, takes }: Step & { do: 'request' },
  after: number,
  isSlow: boolean
): readonly string[] | undefined {
  if (work === 'fail') return undefined
  return !isSlow && after === 0 && SOON.has(work) && takes <= 1_000 ? [] : ['TIMEOUT', 'CANCELED']
}

/** A text of the size that a step asks for, as the field of some data. */
function filled({ size }: { readonly size: number }): {
  readonly fill?: string
} {
  return size === 0 ? {} : { fill: textOf(size) }
}

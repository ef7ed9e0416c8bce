/**
 * Events that a service refuses: what their sender hears, over every transport. `emit` has resolved by then, so the
 * sender is told by the client's event `event-refused` and by a line of its log, where the protocol can say it. The
 * service logs each of them in any case.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isMissing } from '@elysia-microservices/test-support'
import { t } from 'elysia'
import { microservice, RpcError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { type Carried, TRANSPORTS } from './transports.ts'

/** Collects lines, and resolves when there are enough. */
class Lines {
  readonly all: string[] = []
  #enough: { readonly count: number; readonly resolve: () => void } | undefined

  readonly take = (line: string): void => {
    this.all.push(line)
    if (this.#enough !== undefined && this.all.length >= this.#enough.count) this.#enough.resolve()
  }

  async atLeast(count: number): Promise<readonly string[]> {
    if (this.all.length < count)
      await new Promise<void>((resolve) => {
        this.#enough = { count, resolve }
      })
    return this.all
  }
}

/** The reasons of a service, each with the pattern that is refused for it and the code that its sender hears. */
const REASONS = [
  ['its schema', 'orders.strict', 'VALIDATION'],
  ['a hook', 'orders.guarded', 'FORBIDDEN'],
  ['an error that its handler throws for the sender', 'orders.sold', 'SOLD_OUT'],
  ['the lack of a handler', 'orders.nobody', 'PATTERN_NOT_FOUND']
] as const

/** The transports whose protocol can say it. Nest's wire has no answer to an event. */
const TELLS = new Set(['memory()', 'RSocket', 'WebSocket'])
const DIRECT = new Set([...TELLS, "Nest's wire"])

for (const transport of TRANSPORTS) {
  if (isMissing(transport.name, transport.missing)) continue
  const tells = TELLS.has(transport.name)
  const overEngine = !DIRECT.has(transport.name)
  describe(`an event that a service refuses, over ${transport.name}`, () => {
    let carried: Carried
    before(async () => {
      carried = await transport.open()
    })
    after(() => carried.close())

    it(tells ? 'is told to its sender' : 'is in the log of the service', async () => {
      const [served, sent, told] = [new Lines(), new Lines(), new Lines()]
      const handled = new Lines()
      const service = microservice({
        transport: carried.server(),
        name: 'orders',
        logger: { error: served.take, warn: served.take }
      })
        .event('orders.strict', () => {}, { data: t.Number() })
        .event('orders.guarded', () => {}, {
          beforeHandle() {
            throw new RpcError({ code: 'FORBIDDEN', message: 'not you' })
          }
        })
        .event('orders.sold', () => {
          throw new RpcError({ code: 'SOLD_OUT', message: 'none left' })
        })
        .event('orders.placed', () => handled.take('placed'))
      await service.listen()
      const client = connect({
        transport: carried.client(),
        logger: { error: sent.take, warn: sent.take },
        onStatus(event) {
          if (event.type !== 'event-refused') return
          told.take(`${event.pattern} ${(event.error as RpcError).code} ${event.endpoint}`)
        }
      })
      try {
        const outcomes: string[] = []
        for (const [, pattern] of REASONS)
          outcomes.push(
            await client.emit(pattern, 'x').then(
              () => 'resolved',
              (error: Error) => error.name
            )
          )
        await client.emit('orders.placed', 1)
        await handled.atLeast(1)
        assert.deepEqual(
          outcomes,
          REASONS.map(() => 'resolved')
        )
        // A broker has no handler to ask: an event without a handler reaches no service, and so is in no log.
        const reached = REASONS.filter(([, pattern]) => pattern !== 'orders.nobody' || !overEngine)
        const logged = await served.atLeast(reached.length)
        for (const [, pattern] of reached)
          assert.ok(
            logged.some((line) => line.includes(pattern)),
            pattern
          )
        const heard = tells ? REASONS : []
        const endpoint = carried.endpoint()
        assert.deepEqual(
          await told.atLeast(heard.length),
          heard.map(([, pattern, code]) => `${pattern} ${code} ${endpoint}`)
        )
        assert.equal(sent.all.length, heard.length)
        for (const [index, [, pattern]] of heard.entries())
          assert.match(sent.all[index] ?? '', new RegExp(`^The event '${pattern}' was refused`))
      } finally {
        await client.close()
        await service.stop()
      }
    })
  })
}

/** `onAfterResponse`: the hook runs when a message is over, and learns how it ended. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { t } from 'elysia'
import { connect } from '../client/index.ts'
import { type Message, type MessageEnd, microservice, RpcError } from '../index.ts'
import { Ctx, MessagePattern } from '../nest.ts'
import { happening } from '../testing/service.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

class OutOfStock extends Error {}

interface Said extends Omit<MessageEnd, 'duration' | 'error'> {
  readonly pattern: string
}

for (const way of WAYS)
  describe(`the hook after a response, ${way}`, () => {
    /** The ends that hooks got, without the fields that vary between runs. */
    async function ends() {
      const { transport, client } = newWay(way)
      const said: Said[] = []
      const errors: unknown[] = []
      const waiting: (() => void)[] = []
      const logged: unknown[] = []
      class Controller {
        @MessagePattern('class')
        answer(@Ctx() _context: unknown) {
          return 'class'
        }
      }
      const service = microservice({
        transport,
        controllers: [Controller],
        logger: { error: (_line, cause) => void logged.push(cause), warn() {} }
      })
        .error('OUT_OF_STOCK', OutOfStock)
        .onAfterResponse(({ pattern, end: { outcome, code, duration, values, error } }) => {
          assert.ok(duration >= 0)
          said.push({ pattern, outcome, code, values })
          errors.push(error)
          for (const wake of waiting.splice(0)) wake()
        })
        .message('value', () => 7)
        .message('later', async () => 7)
        .message('nothing', () => undefined)
        .message('checked', ({ data }) => data, { data: t.Number() })
        .message('fail', async () => {
          throw new RpcError({ code: 'FULL' })
        })
        .message('known', () => {
          throw new OutOfStock('none left')
        })
        .message('break', () => {
          throw new Error('secret')
        })
        .message('count', async function* ({ data }: Message<number>) {
          for (let n = 0; n < data; n++) yield n
        })
        .message('half', async function* () {
          yield 1
          throw new RpcError('half')
        })
        .message('endless', async function* ({ signal }: Message<undefined>) {
          for (let n = 0; !signal.aborted; n++) {
            yield n
            await new Promise(setImmediate)
          }
        })
        .event('event', () => {})
      cleanups.add(service)
      await service.listen()
      const caller = cleanups.add(connect(client({ retry: false })))
      const saidAfter = async (act: () => Promise<unknown>, count = 1) => {
        said.length = 0
        await act()
        while (said.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
        return said
      }
      return { caller, saidAfter, errors, logged }
    }

    const ended = (pattern: string, code: string, values: number): Said => ({
      pattern,
      outcome: code === 'OK' ? 'completed' : 'failed',
      code,
      values
    })

    it('gets how each message ended, and how many values it had', async () => {
      const { caller, saidAfter } = await ends()
      const ask = (pattern: string, data?: unknown) => () => caller.request(pattern, data).catch(() => {})
      assert.deepEqual(await saidAfter(ask('value')), [ended('value', 'OK', 1)])
      assert.deepEqual(await saidAfter(ask('later')), [ended('later', 'OK', 1)])
      assert.deepEqual(await saidAfter(ask('nothing')), [ended('nothing', 'OK', 0)])
      assert.deepEqual(await saidAfter(ask('class')), [ended('class', 'OK', 1)])
      assert.deepEqual(await saidAfter(ask('checked', 'x')), [ended('checked', 'VALIDATION', 0)])
      assert.deepEqual(await saidAfter(ask('fail')), [ended('fail', 'FULL', 0)])
      assert.deepEqual(await saidAfter(ask('known')), [ended('known', 'OUT_OF_STOCK', 0)])
      assert.deepEqual(await saidAfter(ask('break')), [ended('break', 'INTERNAL', 0)])
      assert.deepEqual(await saidAfter(() => caller.emit('event')), [ended('event', 'OK', 0)])
    })

    it('runs after the last value of a stream', async () => {
      const { caller, saidAfter, errors } = await ends()
      const all = (pattern: string, data?: unknown) => async () => {
        const values: unknown[] = []
        try {
          for await (const value of caller.stream(pattern, data)) values.push(value)
        } catch {}
        return values
      }
      assert.deepEqual(await saidAfter(all('count', 1_000)), [ended('count', 'OK', 1_000)])
      assert.deepEqual(await saidAfter(all('count', 0)), [ended('count', 'OK', 0)])
      assert.deepEqual(await saidAfter(all('half')), [ended('half', 'UNKNOWN', 1)])
      assert.equal((errors.at(-1) as Error).message, 'half')
    })

    if (way !== 'nest')
      it('runs when a caller leaves, and when its time is over', async () => {
        const { caller, saidAfter } = await ends()
        const [left] = await saidAfter(async () => {
          for await (const n of caller.stream('endless')) if (n === 3) break
        })
        assert.deepEqual([left?.pattern, left?.outcome, left?.code], ['endless', 'canceled', 'CANCELED'])
        assert.ok((left?.values ?? 0) >= 4)
      })
  })

describe('hooks after a response', () => {
  it('are options of handlers, guards and macros too, and have scopes', async () => {
    const { transport, client } = newWay('memory')
    const said: string[] = []
    const note = (name: string) => () => void said.push(name)
    const inner = microservice({ transport })
      .onAfterResponse({ as: 'scoped' }, note('scoped'))
      .onAfterResponse(note('local'))
      .message('inner', () => 1)
    const service = microservice({ transport })
      .use(inner)
      .macro({ noted: (name: string) => ({ afterResponse: note(name) }) })
      .guard({ afterResponse: [note('guard')] })
      .message('outer', () => 1, { afterResponse: note('own'), noted: 'macro' })
    cleanups.add(service)
    await service.listen()
    const caller = cleanups.add(connect(client()))
    await caller.request('inner')
    assert.deepEqual(said.splice(0), ['scoped', 'local'])
    await caller.request('outer')
    assert.deepEqual(said, ['scoped', 'guard', 'macro', 'own'])
  })

  it('harm no answer: what they throw is logged, and the next one runs', async () => {
    const { transport, client } = newWay('memory')
    const logged: unknown[] = []
    const [first, second] = [new Error('first'), new Error('second')]
    let ran = 0
    const service = microservice({
      transport,
      logger: { error: (_line, cause) => void logged.push(cause), warn() {} }
    })
      .onAfterResponse(() => {
        throw first
      })
      .onAfterResponse(async () => {
        throw second
      })
      .onAfterResponse(() => void ran++)
      .message('value', () => 7)
      .message('count', async function* () {
        yield 1
      })
    cleanups.add(service)
    await service.listen()
    const caller = cleanups.add(connect(client()))
    assert.equal(await caller.request('value'), 7)
    assert.deepEqual(logged.splice(0), [first, second])
    assert.equal(ran, 1)
    const values: unknown[] = []
    for await (const value of caller.stream('count')) values.push(value)
    assert.deepEqual(values, [1])
    assert.deepEqual(logged, [first, second])
  })

  it('are functions', () => {
    assert.throws(() => microservice({ transport: 'tcp' }).onAfterResponse(7 as never), { code: 'OPTION' })
  })
})

describe('several hooks after a response', () => {
  it('run one after the other, also if some are asynchronous and fail', async () => {
    const { transport, client } = newWay('memory')
    const order: string[] = []
    const first = happening()
    const last = happening()
    const service = microservice({
      transport,
      logger: { error: (_line, cause) => void order.push(`logged ${cause}`), warn() {} }
    })
      .onAfterResponse(async () => {
        order.push('first begins')
        await first.happened
        order.push('first ends')
      })
      .onAfterResponse(() => void order.push('second'))
      .onAfterResponse(async () => {
        throw 'third'
      })
      .onAfterResponse(() => {
        throw 'fourth'
      })
      .onAfterResponse(() => last.happen())
      .message('x', () => 1)
    await cleanups.add(service).listen()
    await cleanups.add(connect(client())).request('x')
    assert.deepEqual(order, ['first begins'])
    first.happen()
    await last.happened
    assert.deepEqual(order, ['first begins', 'first ends', 'second', 'logged third', 'logged fourth'])
  })
})

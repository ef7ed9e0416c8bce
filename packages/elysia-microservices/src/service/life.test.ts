/** Start and stop hooks of a service, and parts that start and stop with the service. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Elysia } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { connect } from '../client/index.ts'
import { type Logger, memory, microservice, OptionError } from '../index.ts'

/** A service, with lists of what has happened in it and of its log lines. */
function noting(options: { readonly drain?: number } = {}) {
  const notes: string[] = []
  const log: string[] = []
  const logger: Logger = { error: (line) => log.push(line), warn: (line) => log.push(line) }
  const service = microservice({ name: 'orders', transport: memory(), logger, ...options })
  const note = (line: string) => async () => {
    await Promise.resolve()
    notes.push(line)
  }
  return { notes, log, service, note }
}

describe('onStart() and onStop()', () => {
  it('run in the order of the chain, each when the one before has ended', async () => {
    const { service, notes, note } = noting()
    service.onStart(note('open 1')).onStop(note('close 1')).onStart(note('open 2')).onStop(note('close 2'))
    await service.listen()
    assert.deepEqual(notes, ['open 1', 'open 2'])
    await service.stop()
    assert.deepEqual(notes, ['open 1', 'open 2', 'close 1', 'close 2'])
    await service.listen()
    await service.stop()
    assert.equal(notes.length, 8)
  })

  it('get decorators and store', async () => {
    const seen: unknown[] = []
    const service = microservice({ transport: memory() })
      .decorate('db', 'postgres')
      .state('opened', 0)
      .onStart(({ db, store }) => {
        expectTypeOf(db).toEqualTypeOf<string>()
        expectTypeOf(store.opened).toEqualTypeOf<number>()
        store.opened++
      })
      .onStop(({ db, store }) => seen.push(db, store.opened))
    await service.listen()
    await service.stop()
    assert.deepEqual(seen, ['postgres', 1])
  })

  it('stand around all messages', async () => {
    const transport = memory()
    const notes: string[] = []
    let finish = () => {}
    const service = microservice({ transport })
      .onStart(() => notes.push('started'))
      .message('slow', async () => {
        notes.push('message')
        await new Promise<void>((resolve) => {
          finish = resolve
        })
        notes.push('answered')
        return 1
      })
      .onStop(() => notes.push('stopped'))
    await service.listen()
    const client = connect<typeof service>({ transport })
    const answer = client.request('slow')
    while (!notes.includes('message')) await new Promise((resolve) => setImmediate(resolve))
    const stopped = service.stop()
    finish()
    assert.equal(await answer, 1)
    await stopped
    await client.close()
    assert.deepEqual(notes, ['started', 'message', 'answered', 'stopped'])
  })

  it('of services that are used run in their place, once, however many services use them', async () => {
    const notes: string[] = []
    const named = (name: string) =>
      microservice({ transport: memory() })
        .onStart(() => notes.push(`open ${name}`))
        .onStop(() => notes.push(`close ${name}`))
    const db = named('db')
    const orders = named('orders')
      .use(db)
      .group('a', (group) => group.onStop(() => notes.push('group')))
    const users = named('users').use(db)
    await Promise.all([orders.listen(), users.listen()])
    assert.deepEqual(notes.toSorted(), ['open db', 'open orders', 'open users'])
    await orders.stop()
    assert.deepEqual(notes.splice(0).slice(3), ['close orders', 'group'])
    await users.stop()
    assert.deepEqual(notes, ['close users', 'close db'])
  })

  it('a start that fails is the failure of listen(), and what was started before it stops', async () => {
    const { service, notes, note } = noting()
    service
      .onStart(note('open 1'))
      .onStop(note('close 1'))
      .onStart(() => {
        throw new Error('no database')
      })
      .onStop(note('close 2'))
    await assert.rejects(service.listen(), /no database/)
    assert.deepEqual(notes, ['open 1', 'close 1'])
    assert.equal(service.status, 'stopped')
  })

  it('stops what was started if a transport cannot listen', async () => {
    const first = microservice({ transport: 'tcp', port: 0 })
    await first.listen()
    const notes: string[] = []
    const second = microservice({ transport: 'tcp', port: first.address!.port })
      .onStart(() => notes.push('open'))
      .onStop(() => notes.push('close'))
    await assert.rejects(second.listen(), { name: 'ListenError' })
    assert.deepEqual(notes, ['open', 'close'])
    await first.stop()
  })

  it('a stop hook that fails is logged, and the others run', async () => {
    const { service, notes, note, log } = noting()
    service
      .onStop(function closePool() {
        throw new Error('broken')
      })
      .onStop(note('close 2'))
    await service.listen()
    await service.stop()
    assert.deepEqual(notes, ['close 2'])
    assert.deepEqual(log, ["The service 'orders': onStop(closePool) has failed"])
  })

  it('a stop hook that never ends is waited for a second at least, and named', async () => {
    const { service, log, notes, note } = noting({ drain: 0 })
    service.onStop(() => new Promise(() => {})).onStop(note('close 2'))
    await service.listen()
    await service.stop()
    assert.deepEqual(notes, [])
    assert.deepEqual(log, [
      "The service 'orders' stops without waiting longer for onStop(), which has not ended within 1000 ms"
    ])
  })

  it('follow an app', async () => {
    const { service, notes, note } = noting()
    service.onStart(note('open')).onStop(note('close'))
    const app = new Elysia().use(service)
    await service.listen()
    assert.deepEqual(notes, ['open'])
    await service.stop()
    assert.ok(app)
  })

  it('must be functions', () => {
    const { service } = noting()
    assert.throws(() => service.onStart(1 as never), OptionError)
    assert.throws(() => service.onStop(undefined as never), /The hook of onStop\(\) must be a function/)
  })
})

describe('a part that a service uses', () => {
  it('starts and stops in its place', async () => {
    const { service, notes, note } = noting()
    class Relay {
      #name = 'relay'
      async start() {
        notes.push(`${this.#name} starts`)
      }
      async stop() {
        notes.push(`${this.#name} stops`)
      }
    }
    service.onStart(note('open')).use(new Relay()).onStop(note('close'))
    await service.listen()
    await service.stop()
    assert.deepEqual(notes, ['open', 'relay starts', 'relay stops', 'close'])
  })

  it('may be a client, which is closed', async () => {
    const transport = memory()
    const other = microservice({ transport }).message('one', () => 1)
    await other.listen()
    const client = connect<typeof other>({ transport })
    const service = microservice({ transport: memory() }).use(client)
    await service.listen()
    assert.equal(await client.request('one'), 1)
    await service.stop()
    await assert.rejects(client.request('one'), { name: 'ConnectionError' })
    await other.stop()
  })

  it('is nothing else', () => {
    const { service } = noting()
    assert.throws(() => service.use({} as never), /a part with start, stop or close/)
  })
})

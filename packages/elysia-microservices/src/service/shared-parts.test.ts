/** A service that several others use is taken once, as Elysia takes a named plugin. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ManualClock } from '@elysia-microservices/transport'
import { t } from 'elysia'
import { connect, type UntypedClient, type UntypedStoringClient } from '../client/index.ts'
import { memory, microservice, OptionError, RpcError } from '../index.ts'
import { EventPattern, MessagePattern } from '../nest.ts'
import { Cleanups } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const part = () => microservice({ transport: memory() })
type Part = ReturnType<typeof part>

/** The handlers and hooks that have run, in order. */
let ran: string[] = []

class Controller {
  @MessagePattern('of a class')
  answer() {
    return 'class'
  }
  @EventPattern('happened')
  happened() {
    ran.push('class')
  }
}

const audit = () =>
  microservice({ transport: memory(), controllers: [Controller] })
    .derive({ as: 'global' }, ({ pattern }) => void ran.push(`derive ${pattern}`))
    .onStart(() => void ran.push('start'))
    .onStop(() => void ran.push('stop'))
    .message('whoami', () => 'audit')
    .event('happened', () => void ran.push('event'))
    .event('stored', () => void ran.push('stored'), { durable: { group: 'audit' } })

/** Ways in which a service comes to use a part several times. */
const WAYS: Readonly<Record<string, (main: Part, shared: object) => object>> = {
  'by two services': (main, shared) =>
    main
      .use(
        part()
          .use(shared as Part)
          .message('a', () => 1)
      )
      .use(
        part()
          .use(shared as Part)
          .message('b', () => 2)
      ),
  'twice in a row': (main, shared) => main.use(shared as Part).use(shared as Part),
  'by a service, and itself': (main, shared) =>
    main
      .use(
        part()
          .use(shared as Part)
          .message('a', () => 1)
      )
      .use(shared as Part),
  'itself, and by a service': (main, shared) =>
    main.use(shared as Part).use(
      part()
        .use(shared as Part)
        .message('a', () => 1)
    ),
  'in groups without a prefix': (main, shared) =>
    main.guard({}, (g) => g.use(shared as Part)).guard({}, (g) => g.use(shared as Part)),
  'in groups with one prefix': (main, shared) =>
    main.group('g', (g) => g.use(shared as Part)).group('g', (g) => g.use(part().use(shared as Part))),
  'at several depths': (main, shared) =>
    main.use(part().use(part().use(part().use(shared as Part)))).use(part().use(shared as Part))
}

async function started(make: (main: Part) => object) {
  const clock = new ManualClock(0)
  const transport = memory({ clock })
  const service = make(microservice({ name: 'main', transport }) as unknown as Part) as Part
  await cleanups.add(service).listen()
  return { service, clock, caller: cleanups.add(connect({ transport }) as UntypedClient) }
}

describe('a service that is used several times', () => {
  for (const [how, compose] of Object.entries(WAYS))
    it(`${how} is taken once`, async () => {
      ran = []
      const { caller, clock, service } = await started((main) => compose(main, audit()))
      const prefix = how.includes('one prefix') ? 'g.' : ''
      assert.deepEqual(ran.splice(0), ['start'])
      assert.equal(await caller.request(`${prefix}whoami`), 'audit')
      assert.deepEqual(ran.splice(0), [`derive ${prefix}whoami`])
      assert.equal(await caller.request(`${prefix}of a class`), 'class')
      ran = []
      await caller.emit(`${prefix}happened`)
      await clock.advance(1)
      assert.deepEqual(
        ran.filter((name) => !name.startsWith('derive')),
        ['class', 'event']
      )
      ran = []
      await (caller as UntypedStoringClient).publish(`${prefix}stored`, 1)
      await clock.advance(1)
      assert.deepEqual(
        ran.filter((name) => !name.startsWith('derive')),
        ['stored']
      )
      assert.equal(service.describe().handlers.filter(({ kind }) => kind === 'message').length >= 2, true)
      await service.stop()
      assert.deepEqual(ran.at(-1), 'stop')
      assert.equal(ran.filter((name) => name === 'stop').length, 1)
    })

  it('under two prefixes has both', async () => {
    ran = []
    const shared = audit()
    const { caller, clock } = await started((main) =>
      main.group('a', (g) => g.use(shared)).group('b', (g) => g.use(shared))
    )
    assert.equal(await caller.request('a.whoami'), 'audit')
    assert.equal(await caller.request('b.whoami'), 'audit')
    ran = []
    await caller.emit('a.happened')
    await clock.advance(1)
    assert.deepEqual(
      ran.filter((name) => !name.startsWith('derive')),
      ['class', 'event']
    )
  })

  it('takes handlers that it got after its first use', async () => {
    const shared = part().message('first', () => 1)
    const { caller } = await started((main) => {
      main.use(shared)
      return main.use(shared.message('second', () => 2))
    })
    assert.deepEqual([await caller.request('first'), await caller.request('second')], [1, 2])
  })

  it('stands behind all that stands before it on any of its ways', async () => {
    const shared = part().message('remove', ({ data }) => data)
    const open = part().use(shared)
    const checked = part()
      .guard({ headers: t.Object({ token: t.String() }) })
      .guard({ data: t.Object({ id: t.Number() }) })
      .onBeforeHandle(({ headers }) =>
        headers.token === 'x' ? undefined : new RpcError({ code: 'REFUSED' })
      )
      .wrap((next) => (message) => {
        ran.push('around')
        return next(message)
      })
      .use(shared)
    for (const make of [
      (main: Part) => main.use(open).use(checked),
      (main: Part) => main.use(checked).use(open)
    ]) {
      const { caller } = await started(make)
      ran = []
      await assert.rejects(caller.request('remove', { id: 1 }), { code: 'VALIDATION' })
      await assert.rejects(caller.request('remove', { id: 1 }, { headers: { token: 'y' } }), {
        code: 'REFUSED'
      })
      await assert.rejects(caller.request('remove', { id: 'a' }, { headers: { token: 'x' } }), {
        code: 'VALIDATION'
      })
      assert.deepEqual(await caller.request('remove', { id: 1 }, { headers: { token: 'x' } }), { id: 1 })
      assert.deepEqual(ran, ['around', 'around', 'around', 'around'])
      await cleanups.run()
    }
  })

  it('keeps a schema of its own, which replaces that of a guard, on each way', async () => {
    const shared = part().message('count', ({ data }) => data, { data: t.Number() })
    const texts = part().guard({ data: t.String() }).use(shared)
    const { caller } = await started((main) => main.use(part().use(shared)).use(texts))
    assert.equal(await caller.request('count', 7), 7)
    await assert.rejects(caller.request('count', 'seven'), { code: 'VALIDATION' })
  })

  it('keeps its handlers before the checks that follow them in it', async () => {
    const auth = part()
      .message('login', () => 'welcome')
      .guard({ as: 'global', headers: t.Object({ token: t.String() }) })
      .onBeforeHandle({ as: 'global' }, ({ headers }) =>
        headers['token'] === 'x' ? undefined : new RpcError({ code: 'REFUSED' })
      )
      .message('logout', () => 'bye')
    const { caller } = await started((main) =>
      main
        .use(
          part()
            .use(auth)
            .message('a', () => 'a')
        )
        .use(
          part()
            .use(auth)
            .message('b', () => 'b')
        )
        .use(auth)
    )
    assert.equal(await caller.request('login'), 'welcome')
    const headers = { token: 'x' }
    for (const pattern of ['logout', 'a', 'b']) {
      await assert.rejects(caller.request(pattern), { code: 'VALIDATION' })
      await assert.rejects(caller.request(pattern, 0, { headers: { token: 'y' } }), { code: 'REFUSED' })
      await caller.request(pattern, 0, { headers })
    }
  })

  it('answers a pattern once: another service with the same pattern is still refused', () => {
    const one = part().message('whoami', () => 1)
    const other = part().message('whoami', () => 2)
    assert.throws(() => part().use(one).use(part().use(other)), OptionError)
  })
})

describe('a service', () => {
  it('cannot use itself, or a service that uses it', () => {
    const one = part()
    const two = part().use(part().use(one))
    assert.throws(() => one.use(one), OptionError)
    assert.throws(() => one.use(two), OptionError)
    assert.throws(() => one.group('g', (g) => g.use(one)), OptionError)
  })
})

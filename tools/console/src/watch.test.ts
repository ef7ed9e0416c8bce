import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type MicroserviceOptions, memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { HandlerFigures } from 'elysia-microservices/describe'
import type { AnyMiddleware } from 'elysia-microservices/types'
import type { CheckedClient } from './clients.ts'
import type { Overview, Sample, Update } from './protocol.ts'
import { Watch } from './watch.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const quiet = { error() {}, warn() {} }
const settings = { canTry: false, interval: 100 }

/** A client of a service that describes itself, and counts how often it was asked. */
async function described(options: Partial<MicroserviceOptions> = {}, figures?: () => HandlerFigures[]) {
  const transport = memory()
  const state = { asked: 0 }
  const describe = () => {
    state.asked++
    return true
  }
  const middleware: AnyMiddleware = Object.assign(<Next>(next: Next) => next, figures && { figures })
  const service = microservice({ name: 'shop', transport, describe, ...options } as MicroserviceOptions)
    .wrap(middleware)
    .message('a', () => 1)
    .message('b', () => 1)
  await service.listen()
  const client = connect({ transport })
  ends.push(
    () => service.stop(),
    () => client.close()
  )
  return { client, state }
}

function opened(watch: Watch, look?: string) {
  const leave = new AbortController()
  const updates = watch.open(leave.signal, look)
  ends.push(() => leave.abort())
  const next = async () => (await updates.next()).value as Update
  return {
    leave,
    next,
    async sample(isWanted: (sample: Sample) => boolean = () => true): Promise<Sample> {
      for (;;) {
        const update = await next()
        if ('sample' in update && isWanted(update.sample)) return update.sample
      }
    },
    async overview(isWanted: (overview: Overview) => boolean): Promise<Overview> {
      for (;;) {
        const update = await next()
        if ('overview' in update && isWanted(update.overview)) return update.overview
      }
    }
  }
}

const hasAnswered = (id: string) => (sample: Sample) => sample.services[id] !== undefined

describe('Watch', () => {
  it('asks once for all pages, and not at all while there is none', async () => {
    const { client, state } = await described()
    const watch = new Watch(() => new Map([['shop', client]]), settings)
    assert.equal(state.asked, 0)
    const pages = [opened(watch), opened(watch), opened(watch)]
    for (let n = 0; n < 3; n++) await Promise.all(pages.map((page) => page.sample(hasAnswered('shop'))))
    assert.ok(state.asked <= 5, `asked ${state.asked} times for 3 samples`)
    for (const { leave } of pages) leave.abort()
    assert.equal(watch.size, 0)
    // A second service, which a page shows, is used as a clock.
    const { client: other, state: control } = await described()
    const before = state.asked
    const page = opened(new Watch(() => new Map([['shop', other]]), settings))
    for (let n = 0; n < 5; n++) await page.sample(hasAnswered('shop'))
    assert.ok(control.asked >= 5)
    assert.equal(state.asked, before)
  })

  it('does not ask for a page that left before it was opened', async () => {
    const { client } = await described()
    const watch = new Watch(() => new Map([['shop', client]]), settings)
    const updates = watch.open(AbortSignal.abort())
    assert.equal(watch.size, 0)
    assert.equal((await updates.next()).done, true)
  })

  it('begins again with the next page', async () => {
    const { client } = await described()
    const watch = new Watch(() => new Map([['shop', client]]), settings)
    for (let n = 0; n < 2; n++) {
      const page = opened(watch)
      await page.sample(hasAnswered('shop'))
      page.leave.abort()
      assert.deepEqual(await page.next(), undefined)
    }
  })

  it('holds only the newest for a page that does not read', async () => {
    const { client } = await described()
    const watch = new Watch(() => new Map([['shop', client]]), settings)
    const [slow, quick] = [opened(watch), opened(watch)]
    let last: Sample | undefined
    for (let n = 0; n < 5; n++) last = await quick.sample(hasAnswered('shop'))
    const overview = await slow.next()
    assert.equal('overview' in overview && overview.overview.services[0]?.described?.name, 'shop')
    const sample = await slow.next()
    assert.ok('sample' in sample && sample.sample.at >= last!.at)
  })

  it('tells of many services together, though each is heard of by itself', async () => {
    const { client } = await described()
    const many = new Map(Array.from({ length: 500 }, (_, n) => [`shop ${n}`, client]))
    const page = opened(new Watch(() => many, settings))
    let overviews = 0
    await page.overview(({ services }) => {
      overviews++
      return services.every(({ problem }) => problem !== 'The service has not answered yet')
    })
    assert.ok(overviews < 50, `${overviews} overviews`)
  })

  it('asks a limited number of silent services at the same time, and each of them in its turn', async () => {
    const ids = Array.from({ length: 500 }, (_, n) => `shop ${n}`)
    const asked = new Set<string>()
    const waiting = new Set<() => void>()
    let most = 0
    const silent = (id: string) => {
      let times = 0
      const request = async () => {
        // The first answer is an error, so that the service counts as silent.
        if (++times > 1) {
          asked.add(id)
          await new Promise<void>((resolve) => {
            waiting.add(resolve)
            most = Math.max(most, waiting.size)
          })
        }
        throw new Error('away')
      }
      return { status: 'connected', request } as unknown as CheckedClient
    }
    const clients = new Map(ids.map((id) => [id, silent(id)]))
    const page = opened(new Watch(() => clients, { ...settings, interval: 5 }))
    await page.overview(({ services }) => services.every(({ isSilent }) => isSilent === true))
    while (asked.size < ids.length) {
      for (let n = 0; n < 3; n++) await page.sample()
      for (const resolve of waiting) resolve()
      waiting.clear()
    }
    assert.ok(most <= 220, `${most} at the same time`)
  })

  it('tells what each pattern did, and all together', async () => {
    let times = 0
    const figures = (): HandlerFigures[] => {
      times++
      const [ok, bad] = [10 * times, 5 * times]
      const durations = { bounds: [0.01, 0.1], counts: [ok, bad, 0] }
      return [
        { kind: 'message', pattern: 'a', inFlight: 2, outcomes: { OK: ok, NO: bad }, durations },
        { kind: 'message', pattern: 'b', inFlight: 1, outcomes: { OK: ok + bad }, durations },
        { kind: 'message', pattern: 'of another service', inFlight: 0, outcomes: { OK: 1 }, durations }
      ]
    }
    const { client } = await described({}, figures)
    const watch = new Watch(() => new Map([['shop', client]]), settings)
    const page = opened(watch, 'shop')
    const { services } = await page.sample(({ services }) => services['shop']?.total !== undefined)
    const { total, rows } = services['shop']!
    assert.deepEqual(rows.map(({ pattern }) => pattern).sort(), ['a', 'b'])
    const a = rows.find(({ pattern }) => pattern === 'a')!
    // 15 messages of each pattern between two samples, of which 5 have failed.
    assert.ok(Math.abs(a.errors / a.rate - 1 / 3) < 0.01, `${a.errors} of ${a.rate}`)
    assert.ok(Math.abs(total!.rate / a.rate - 2) < 0.01)
    assert.equal(total!.inFlight, 3)
    assert.ok(a.p50! > 0 && a.p50! <= 10 && a.p99! > 10 && a.p99! <= 100)
  })

  it('says of services that do not describe themselves why, whatever they answer', async () => {
    const clients = new Map()
    const answers: Record<string, () => unknown> = {
      lies: () => ({ handlers: 'none', transports: 7 }),
      endless: async function* () {
        for (;;) yield 'more'
      },
      fails: () => {
        throw new Error('a secret')
      }
    }
    for (const [id, answer] of Object.entries(answers)) {
      const transport = memory()
      const service = microservice({ transport, logger: quiet }).message(
        `elysia-microservices.describe.${id}`,
        answer
      )
      await service.listen()
      const client = connect({ transport })
      ends.push(
        () => service.stop(),
        () => client.close()
      )
      clients.set(id, client)
    }
    const silent = memory()
    const service = microservice({ transport: silent })
    await service.listen()
    const client = connect({ transport: silent })
    ends.push(
      () => service.stop(),
      () => client.close()
    )
    clients.set('silent', client)
    const page = opened(new Watch(() => clients, settings))
    const { services } = await page.overview(({ services }) =>
      services.every(({ problem }) => problem !== 'The service has not answered yet')
    )
    const problems = Object.fromEntries(services.map(({ id, problem }) => [id, problem]))
    assert.match(problems['lies']!, /^The service does not describe itself: .*no lists/)
    assert.match(problems['endless']!, /^The service does not describe itself: .*no lists/)
    assert.match(problems['fails']!, /^The service cannot be reached: Internal server error/)
    assert.match(problems['silent']!, /^The service does not describe itself: it needs the option describe/)
  })

  it('shows every instance of a service, those that come and not those that have gone', async () => {
    const transport = memory()
    const started = async () => {
      const service = microservice({ name: 'shop.eu', transport, describe: true }).message('a', () => 1)
      await service.listen()
      ends.push(() => service.stop())
      return service
    }
    const neighbour = microservice({ name: 'payments', transport, describe: true }).message('b', () => 1)
    await neighbour.listen()
    const first = await started()
    const second = await started()
    const client = connect({ transport })
    ends.push(
      () => neighbour.stop(),
      () => client.close()
    )
    const page = opened(new Watch(() => new Map([['shop.eu', client]]), settings))
    const shown = ({ services }: Overview) =>
      services.flatMap(({ problem, instance }) => (problem === undefined ? [instance] : [])).sort()
    const are = (all: { describe(): { instance: string } }[]) => (overview: Overview) =>
      JSON.stringify(shown(overview)) === JSON.stringify(all.map((each) => each.describe().instance).sort())
    const { services } = await page.overview(are([first, second]))
    assert.deepEqual(new Set(services.map(({ described }) => described?.name)), new Set(['shop.eu']))
    assert.deepEqual(new Set(services.map(({ service }) => service)), new Set(['shop.eu']))
    const ids = services.map(({ id }) => id)
    assert.equal(new Set(ids).size, 2)
    await page.sample((sample) => ids.every((id) => sample.services[id] !== undefined))
    const third = await started()
    await page.overview(are([first, second, third]))
    await second.stop()
    await page.overview((overview) => are([first, third])(overview) && overview.services.length === 2)
  })

  it('keeps what a service has told of itself while it is away, and says when it is back', async () => {
    const transport = memory()
    const service = microservice({ name: 'shop', transport, describe: true }).message('a', () => 1)
    await service.listen()
    const client = connect({ transport, timeout: 200 })
    ends.push(() => client.close())
    const page = opened(new Watch(() => new Map([['shop', client]]), settings))
    const well = ({ services }: Overview) => services[0]?.described !== undefined && !services[0].problem
    await page.overview(well)
    await service.stop()
    const { services } = await page.overview(({ services }) => services[0]?.problem !== undefined)
    assert.equal(services[0]?.described?.name, 'shop')
    await service.listen()
    ends.push(() => service.stop())
    await page.overview(well)
  })
})

describe('what strangers answer', () => {
  /** A service that gives the same answer to each request. */
  const liar = async (id: string, answer: () => unknown) => {
    const transport = memory()
    const state = { asked: 0 }
    const service = microservice({ transport, logger: quiet }).message(
      `elysia-microservices.describe.${id}`,
      () => {
        state.asked++
        return answer()
      }
    )
    await service.listen()
    const client = connect({ transport })
    ends.push(
      () => service.stop(),
      () => client.close()
    )
    return { client, state }
  }
  const MANY = Array.from({ length: 200 }, (_, n) => `\u202e<b>${n}${'\u0001'.repeat(100)}`)
  const large = () => ({
    name: 'large',
    status: 'listening',
    transports: [{ transport: 'tcp' }],
    handlers: MANY.map((pattern) => ({
      kind: 'message',
      patterns: [{ kind: 'exact', pattern }],
      data: { title: '\u0001'.repeat(200) }
    })),
    figures: MANY.map((pattern) => ({
      kind: 'message',
      pattern,
      inFlight: 1,
      outcomes: { OK: 1 },
      durations: { bounds: [1], counts: [1, 0] }
    })),
    callers: MANY.map((pattern) => ({
      from: 'client',
      caller: pattern,
      kind: 'message',
      transport: 'tcp',
      pattern,
      count: Math.random(),
      errors: 0,
      milliseconds: 1
    }))
  })

  it('is told in brief where it is much, but for the service that a page looks at', async () => {
    const clients = new Map<string, CheckedClient>()
    for (let n = 5; n < 8; n++) clients.set(`large-${n}`, (await liar(`large-${n}`, large)).client)
    const watch = new Watch(() => clients, settings)
    const pages = [opened(watch), opened(watch, 'large-7')]
    const isTold = ({ services }: Overview) => services.every(({ described }) => described !== undefined)
    const [brief, full] = await Promise.all(pages.map((page) => page.overview(isTold)))
    assert.ok(JSON.stringify(brief).length < 20_000, `${JSON.stringify(brief).length} characters`)
    const looked = full!.services.filter(({ described }) => described?.patterns !== undefined)
    assert.deepEqual(
      looked.map(({ id, described }) => [id, described?.patterns?.length]),
      [['large-7', MANY.length]]
    )
    const samples = await Promise.all(pages.map((page) => page.sample(hasAnswered('large-7'))))
    assert.deepEqual(
      samples.map(({ services }) => [services['large-7']?.isBrief, services['large-7']?.transports[0]?.name]),
      [
        [true, 'tcp'],
        [undefined, 'tcp']
      ]
    )
    // Known data are sent at once.
    const late = opened(watch, 'large-5')
    const { services } = await late.sample()
    assert.deepEqual([Object.keys(services), services['large-5']?.isBrief], [['large-5'], undefined])
  })

  it('makes nobody wait but itself, where it takes long to read', async () => {
    const { client: slow, state } = await liar('slow', large)
    const { client: quick } = await liar('quick', () => ({ handlers: [], transports: [] }))
    const clients = new Map<string, CheckedClient>([
      ['slow', slow],
      ['quick', quick]
    ])
    const page = opened(new Watch(() => clients, settings))
    await page.sample(hasAnswered('slow'))
    const before = state.asked
    for (let n = 0; n < 5; n++) await page.sample(hasAnswered('quick'))
    assert.ok(state.asked - before < 5, `${state.asked - before} questions`)
  })
})

describe('services that come and go', () => {
  it('are shown as soon as there is a client of theirs, and not any longer', async () => {
    const { client } = await described()
    const clients = new Map<string, CheckedClient>()
    const page = opened(new Watch(() => clients, settings))
    await page.overview(({ services }) => services.length === 0)
    clients.set('shop', client)
    await page.overview(({ services }) => services[0]?.described?.name === 'shop')
    clients.clear()
    await page.overview(({ services }) => services.length === 0)
  })
})

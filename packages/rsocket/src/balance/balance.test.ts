/** Tests balancing, budgets and pauses, with a clock and random numbers that the test controls. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { addressName, parseAddress } from './address.ts'
import { Balancer } from './balancer.ts'
import { EndpointHealth } from './endpoint-health.ts'
import { rendezvousScore, weightedScore } from './rendezvous.ts'
import { srvAddresses } from './srv.ts'

const HEALTH = { failures: 3, ratio: 0.5, window: 10_000, minDelay: 1_000, maxDelay: 8_000 }
const random01 = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

interface TestEndpoint {
  readonly name: string
  readonly slot: number
  usable: boolean
  inFlight: number
  priority: number
  weight: number
}

/** A generator of random numbers that are the same in every run. */
function dice(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

type Rank = Partial<Pick<TestEndpoint, 'name' | 'slot' | 'priority' | 'weight'>>

function setUp(count: number, seed = 1, ranks: readonly Rank[] = []) {
  const log: string[] = []
  const endpoints = Array.from(
    { length: count },
    (_, index): TestEndpoint => ({
      name: `10.0.0.${index}:4000`,
      slot: 0,
      usable: true,
      inFlight: 0,
      priority: 0,
      weight: 1,
      ...ranks[index]
    })
  )
  const balancer = new Balancer<TestEndpoint>({
    health: HEALTH,
    random: dice(seed),
    ejected: ({ name }) => log.push(`ejected ${name}`),
    restored: ({ name }) => log.push(`restored ${name}`)
  })
  balancer.use(endpoints)
  return { endpoints, balancer, log }
}

describe('the health of an endpoint', () => {
  it('is lost by enough failures among its calls, and not by a few among many', () => {
    const health = new EndpointHealth(HEALTH)
    // Successes before the first failure do not count for the ratio of failures.
    for (let n = 0; n < 1_000; n++) health.picked(0)
    assert.equal(health.failed(1, 0, 60), undefined)
    for (let n = 0; n < 40; n++) health.picked(1)
    for (let n = 0; n < 48; n++) assert.equal(health.failed(1, 0, 0), undefined)
    assert.equal(health.failed(1, 0, 0), 500)
    assert.equal(health.admits(500, true), false)
    assert.equal(health.admits(501, true), true)
  })

  it('comes back by probes, one at a time, and a failing one ejects for longer', () => {
    const health = new EndpointHealth(HEALTH)
    for (let n = 0; n < 3; n++) health.failed(0, 0, 0)
    assert.equal(health.picked(500), false)
    assert.equal(health.state, 'probing')
    assert.equal(health.admits(501, true), false)
    assert.equal(health.failed(600, 0, 0), 1_000)
    assert.equal(health.admits(1_599, true), false)
    for (const now of [1_600, 2_000, 2_400]) assert.equal(health.picked(now), false)
    assert.equal(health.picked(2_800), true)
    assert.equal(health.state, 'healthy')
  })

  it('takes no second probe before the first has ended, but a first one beside calls that hang', () => {
    const health = new EndpointHealth(HEALTH)
    for (let n = 0; n < 3; n++) health.failed(0, 0, 0)
    assert.equal(health.admits(500, false), true)
    health.picked(500)
    assert.equal(health.admits(100_000, false), false)
    assert.equal(health.admits(100_000, true), true)
  })

  it('wants a probe from the moment on in which its ejection ends', () => {
    const health = new EndpointHealth(HEALTH)
    assert.equal(health.wantsProbe(0, true), false)
    for (let n = 0; n < 3; n++) health.failed(0, 0, 0)
    assert.deepEqual(
      [499, 500, 501].map((now) => health.wantsProbe(now, true)),
      [false, true, true]
    )
  })

  it('is ejected for longer if it fails soon after it was trusted again, and later no more', () => {
    for (const [after, duration] of [
      [HEALTH.maxDelay - 1, 1_000],
      [HEALTH.maxDelay, 500]
    ] as const) {
      const health = new EndpointHealth(HEALTH)
      for (let n = 0; n < 3; n++) health.failed(0, 0, 0)
      let now = 500
      while (!health.picked(now)) now += HEALTH.minDelay
      const ejections = [1, 2, 3].map(() => health.failed(now + after, 0, 0))
      assert.deepEqual(ejections, [undefined, undefined, duration])
    }
  })

  it('is not lost again by calls that were sent before the ejection', () => {
    const health = new EndpointHealth(HEALTH)
    for (let n = 0; n < 3; n++) health.failed(0, 0, 0)
    for (let n = 0; n < 10; n++) assert.equal(health.failed(499, 0, 0), undefined)
    assert.equal(health.admits(500, true), true)
  })

  it('counts the failures of a window, which begins with the first of them', () => {
    for (const [last, duration] of [
      [10_099, 500],
      [10_100, undefined]
    ] as const) {
      const health = new EndpointHealth(HEALTH)
      assert.equal(health.failed(100, 0, 0), undefined)
      assert.equal(health.failed(100, 0, 0), undefined)
      assert.equal(health.failed(last, 0, 0), duration)
    }
  })

  it('begins with no failures when it is trusted again', () => {
    const health = new EndpointHealth(HEALTH)
    for (let n = 0; n < 3; n++) health.failed(0, 0, 0)
    let now = 500
    while (!health.picked(now)) now += HEALTH.minDelay
    assert.ok(now < HEALTH.window)
    assert.deepEqual(
      [1, 2, 3].map(() => health.failed(now, 0, 0)),
      [undefined, undefined, 1_000]
    )
  })

  it('is lost for half of the ceiling at least, and the rest is left to chance', () => {
    fc.assert(
      fc.property(random01, (random) => {
        const health = new EndpointHealth(HEALTH)
        for (let n = 0; n < 2; n++) health.failed(0, random, 0)
        const duration = health.failed(0, random, 0)
        assert.ok(Math.abs(duration! - (500 + 500 * random)) < 1e-6)
      })
    )
  })

  it('admits every endpoint again some time, whatever happened', () => {
    const event = fc.record({ time: fc.nat(3_000), failed: fc.boolean(), random: random01 })
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const health = new EndpointHealth(HEALTH)
        let now = 0
        for (const { time, failed, random } of events) {
          now += time
          if (failed) health.failed(now, random, 0)
          else if (health.admits(now, true)) health.picked(now)
        }
        assert.ok(health.admits(now + HEALTH.maxDelay, true))
      })
    )
  })
})

describe('the balancer', () => {
  it('gives an endpoint that is usable whenever there is one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ usable: fc.boolean(), inFlight: fc.nat(9), failures: fc.nat(5) }), {
          maxLength: 8
        }),
        fc.nat(),
        fc.option(fc.string(), { nil: undefined }),
        fc.nat(7),
        (given, seed, key, avoid) => {
          const { endpoints, balancer } = setUp(given.length, seed)
          given.forEach(({ usable, inFlight, failures }, index) => {
            Object.assign(endpoints[index]!, { usable, inFlight })
            for (let n = 0; n < failures; n++) balancer.failed(endpoints[index]!, 0)
          })
          const picked = balancer.pick(1, key, endpoints[avoid])
          assert.equal(
            picked !== undefined,
            given.some(({ usable }) => usable)
          )
          assert.ok(picked === undefined || picked.usable)
          const others = endpoints.filter(({ usable }, index) => usable && index !== avoid)
          if (others.length > 0) assert.notEqual(picked, endpoints[avoid] ?? null)
        }
      )
    )
  })

  it('takes the less busy of two, so that the busiest of all gets nothing', () => {
    const { endpoints, balancer } = setUp(4)
    endpoints[2]!.inFlight = 10
    for (let n = 0; n < 1_000; n++) assert.notEqual(balancer.pick(0), endpoints[2])
  })

  it('spreads calls evenly', () => {
    const { endpoints, balancer } = setUp(5)
    for (let n = 0; n < 1_000; n++) balancer.pick(0)!.inFlight++
    const loads = endpoints.map(({ inFlight }) => inFlight)
    assert.ok(Math.max(...loads) - Math.min(...loads) <= 5, loads.join())
  })

  it('trusts an endpoint again whose streams last longer than its probes, which come one by one', () => {
    const { endpoints, balancer, log } = setUp(2)
    const [endpoint] = endpoints as [TestEndpoint]
    endpoint.inFlight = 1
    for (let n = 0; n < 3; n++) balancer.failed(endpoint, 0)
    let most = 0
    for (let now = 0; now < 20_000 && log.length < 2; now += 100) {
      const picked = balancer.pick(now)
      if (picked !== endpoint) continue
      most = Math.max(most, ++endpoint.inFlight)
      // Nothing else is sent to it while a probe is under way.
      assert.notEqual(balancer.pick(now + 50), endpoint)
      endpoint.inFlight--
    }
    assert.deepEqual(log, [`ejected ${endpoint.name}`, `restored ${endpoint.name}`])
    assert.equal(most, 2)
  })

  it('spreads calls evenly over those that are left, where few of many can take any', () => {
    const { endpoints, balancer } = setUp(1_000)
    for (const endpoint of endpoints.slice(0, 500)) endpoint.usable = false
    for (const endpoint of endpoints.slice(500, 995)) for (let n = 0; n < 3; n++) balancer.failed(endpoint, 0)
    const left = endpoints.slice(995)
    for (let n = 0; n < 1_000; n++) balancer.pick(1)!.inFlight++
    const loads = left.map(({ inFlight }) => inFlight)
    assert.ok(Math.max(...loads) - Math.min(...loads) <= 5, loads.join())
  })

  /** Counts how many endpoints the balancer reads for one pick. */
  function looksFor(endpoints: TestEndpoint[], pick: () => unknown): number {
    let looks = 0
    for (const endpoint of endpoints) {
      const { usable } = endpoint
      Object.defineProperty(endpoint, 'usable', {
        get: () => {
          looks++
          return usable
        }
      })
    }
    assert.notEqual(pick(), undefined)
    return looks
  }

  it('looks at few of a thousand for a call, also while some are ejected or wait for a probe', () => {
    const few = 20
    const { endpoints, balancer } = setUp(1_000)
    assert.ok(looksFor(endpoints, () => balancer.pick(0)) <= few)
    const [first, second, third] = endpoints as [TestEndpoint, TestEndpoint, TestEndpoint]
    for (const endpoint of [first, second]) for (let n = 0; n < 3; n++) balancer.failed(endpoint, 0)
    assert.ok(looksFor(endpoints, () => balancer.pick(1)) <= few)
    assert.ok(looksFor(endpoints, () => balancer.pick(1, undefined, third)) <= few)
    const gone = setUp(1_000)
    for (const endpoint of gone.endpoints.slice(0, 2)) {
      endpoint.usable = false
      for (let n = 0; n < 3; n++) gone.balancer.failed(endpoint, 0)
    }
    assert.ok(looksFor(gone.endpoints, () => gone.balancer.pick(2_000)) <= few)
    const ranks = Array.from({ length: 1_000 }, (_, index) => ({ priority: index < 999 ? 1 : 2 }))
    const ranked = setUp(1_000, 1, ranks)
    const backup = ranked.endpoints[999]!
    for (let n = 0; n < 3; n++) ranked.balancer.failed(backup, 0)
    assert.ok(looksFor(ranked.endpoints, () => ranked.balancer.pick(2_000)) <= few)
  })

  for (const state of ['trusted', 'ejected', 'beside one that is avoided'] as const) {
    it(`compares any two with the same probability, of those that are ${state}`, () => {
      const { endpoints, balancer } = setUp(state === 'beside one that is avoided' ? 6 : 5)
      const avoided = endpoints[5]
      endpoints.forEach((endpoint, index) => {
        endpoint.inFlight = index
      })
      if (state !== 'trusted')
        for (const endpoint of endpoints) for (let n = 0; n < 12; n++) balancer.failed(endpoint, 0)
      const counts = new Map(endpoints.map((endpoint) => [endpoint, 0]))
      const calls = 10_000
      for (let n = 0; n < calls; n++) {
        const picked = balancer.pick(1, undefined, avoided)!
        counts.set(picked, counts.get(picked)! + 1)
      }
      // Of the ten pairs of five endpoints, the least busy endpoint is the better one in four pairs, the next in three,
      // and so on.
      ;[0.4, 0.3, 0.2, 0.1, 0].forEach((share, index) => {
        const got = counts.get(endpoints[index]!)! / calls
        assert.ok(Math.abs(got - share) < 0.02 && (share > 0 || got === 0), `${index}: ${got}`)
      })
    })
  }

  it('gives as much to each while nothing is in flight', () => {
    for (const isEjected of [false, true]) {
      const { endpoints, balancer } = setUp(5)
      if (isEjected)
        for (const endpoint of endpoints) for (let n = 0; n < 3; n++) balancer.failed(endpoint, 0)
      const counts = new Map(endpoints.map((endpoint) => [endpoint, 0]))
      for (let n = 0; n < 5_000; n++) {
        const picked = balancer.pick(1)!
        counts.set(picked, counts.get(picked)! + 1)
      }
      for (const count of counts.values()) assert.ok(Math.abs(count - 1_000) < 150, String(count))
    }
  })

  it('ejects nobody if it is told so', () => {
    const log: string[] = []
    const { endpoints } = setUp(2)
    const balancer = new Balancer<TestEndpoint>({
      health: undefined,
      random: dice(1),
      ejected: ({ name }) => log.push(name),
      restored: ({ name }) => log.push(name)
    })
    balancer.use(endpoints)
    for (let n = 0; n < 100; n++) balancer.failed(endpoints[0]!, 0)
    const picked = new Set(Array.from({ length: 100 }, () => balancer.pick(0)))
    assert.equal(picked.size, 2)
    assert.deepEqual(log, [])
  })

  it('does not eject for a few failures where many calls are in flight', () => {
    const { endpoints, balancer, log } = setUp(2)
    endpoints[0]!.inFlight = 100
    for (let n = 0; n < 49; n++) balancer.failed(endpoints[0]!, 0)
    assert.deepEqual(log, [])
    balancer.failed(endpoints[0]!, 0)
    assert.deepEqual(log, ['ejected 10.0.0.0:4000'])
  })

  it('forgets the failures of an endpoint that was removed', () => {
    const { endpoints, balancer, log } = setUp(3)
    const [removed] = endpoints as [TestEndpoint]
    for (let n = 0; n < 3; n++) balancer.failed(removed, 0)
    balancer.use(endpoints.slice(1))
    for (let n = 0; n < 3; n++) balancer.failed(removed, 0)
    balancer.use(endpoints)
    const picked = new Set(Array.from({ length: 100 }, () => balancer.pick(1)))
    assert.equal(picked.size, 3)
    assert.deepEqual(log, ['ejected 10.0.0.0:4000'])
    for (let n = 0; n < 20; n++) balancer.failed(removed, 1)
    assert.deepEqual(log, ['ejected 10.0.0.0:4000', 'ejected 10.0.0.0:4000'])
  })

  it('keeps the failures of those that stay, and counts their calls once', () => {
    const { endpoints, balancer, log } = setUp(2)
    for (let n = 0; n < 5; n++) balancer.use(endpoints)
    endpoints[0]!.inFlight = 6
    for (let n = 0; n < 2; n++) balancer.failed(endpoints[0]!, 0)
    balancer.use(endpoints)
    assert.deepEqual(log, [])
    balancer.failed(endpoints[0]!, 0)
    assert.deepEqual(log, ['ejected 10.0.0.0:4000'])
  })

  it('probes with the next call that has not failed before', () => {
    const { endpoints, balancer } = setUp(4)
    const [suspect] = endpoints as [TestEndpoint]
    for (let n = 0; n < 3; n++) balancer.failed(suspect, 0)
    // This call has been waiting since before the ejection.
    suspect.inFlight = 1
    for (let n = 0; n < 100; n++) assert.notEqual(balancer.pick(2_000, undefined, endpoints[3]), suspect)
    assert.equal(balancer.pick(2_000), suspect)
  })

  it('probes an endpoint as soon as that can take a call, among a thousand', () => {
    const { endpoints, balancer } = setUp(1_000)
    const suspect = endpoints[7]!
    for (let n = 0; n < 3; n++) balancer.failed(suspect, 0)
    suspect.usable = false
    for (let n = 0; n < 100; n++) assert.notEqual(balancer.pick(2_000), suspect)
    suspect.usable = true
    assert.equal(balancer.pick(2_000), suspect)
  })

  it('gives nothing to an endpoint of which a probe hangs', () => {
    const { endpoints, balancer } = setUp(3)
    const [hanging] = endpoints
    for (let n = 0; n < 3; n++) balancer.failed(hanging!, 0)
    assert.equal(balancer.pick(2_000), hanging)
    hanging!.inFlight++
    for (let n = 0; n < 100; n++) assert.notEqual(balancer.pick(60_000), hanging)
    hanging!.inFlight--
    assert.equal(balancer.pick(60_000), hanging)
  })

  it('ejects what fails, probes it and trusts it again', () => {
    const { endpoints, balancer, log } = setUp(3)
    for (let n = 0; n < 3; n++) balancer.failed(endpoints[0]!, 0)
    for (let n = 0; n < 100; n++) assert.notEqual(balancer.pick(1), endpoints[0])
    for (const now of [2_000, 3_000, 4_000, 5_000]) assert.equal(balancer.pick(now), endpoints[0])
    assert.deepEqual(log, ['ejected 10.0.0.0:4000', 'restored 10.0.0.0:4000'])
  })

  it('uses ejected endpoints rather than none', () => {
    const { endpoints, balancer } = setUp(2)
    for (const endpoint of endpoints) for (let n = 0; n < 3; n++) balancer.failed(endpoint, 0)
    assert.notEqual(balancer.pick(1), undefined)
  })

  it('keeps the endpoint of a key, and moves only the keys of one that is gone', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 1 }), fc.nat(4), (keys, gone) => {
        const { endpoints, balancer } = setUp(5)
        const before = keys.map((key) => balancer.pick(0, key))
        assert.deepEqual(
          keys.map((key) => balancer.pick(0, key)),
          before
        )
        endpoints[gone]!.usable = false
        keys.forEach((key, index) => {
          const now = balancer.pick(0, key)
          if (before[index] !== endpoints[gone]) assert.equal(now, before[index])
          else assert.notEqual(now, endpoints[gone])
        })
      })
    )
  })

  it('gives a key the same of two endpoints with the same score, whatever their order', () => {
    const names = ['10.0.16.26:4001', '10.0.31.40:4000']
    const [score, other] = names.map((name) => rendezvousScore('user-1', name))
    assert.equal(score, other)
    const picked = [names, names.toReversed()].map((each) => {
      const { balancer } = setUp(
        2,
        1,
        each.map((name) => ({ name }))
      )
      return balancer.pick(0, 'user-1')?.name
    })
    assert.deepEqual(picked, [names[0], names[0]])
  })

  it('spreads keys over all endpoints', () => {
    const { endpoints, balancer } = setUp(5)
    const counts = new Map<TestEndpoint, number>()
    for (let key = 0; key < 5_000; key++) {
      const picked = balancer.pick(0, `user-${key}`)!
      counts.set(picked, (counts.get(picked) ?? 0) + 1)
    }
    for (const endpoint of endpoints) assert.ok((counts.get(endpoint) ?? 0) > 800)
  })
})

describe('several connections to an endpoint', () => {
  const pools = (endpoints: number, connections: number) =>
    Array.from({ length: endpoints * connections }, (_, index) => ({
      name: `10.0.0.${Math.floor(index / connections)}:4000`,
      slot: index % connections
    }))

  it('share its health', () => {
    const { endpoints, balancer, log } = setUp(6, 1, pools(2, 3))
    for (const slot of [0, 1, 2]) balancer.failed(endpoints[slot]!, 0)
    assert.deepEqual(log, ['ejected 10.0.0.0:4000'])
    for (let n = 0; n < 100; n++) assert.equal(balancer.pick(1)!.name, '10.0.0.1:4000')
    for (let n = 0; n < 100; n++)
      assert.equal(balancer.pick(1, undefined, endpoints[4])!.name, '10.0.0.0:4000')
  })

  it('split the keys of the endpoint, which are the same as with one connection', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string(), { minLength: 1 }),
        fc.integer({ min: 1, max: 5 }),
        (keys, count) => {
          const one = setUp(3, 1, pools(3, 1)).balancer
          const several = setUp(3 * count, 1, pools(3, count)).balancer
          const { endpoints, balancer: reversed } = setUp(3 * count, 1, pools(3, count))
          reversed.use(endpoints.toReversed())
          for (const key of keys) {
            const { name, slot } = several.pick(0, key)!
            assert.equal(name, one.pick(0, key)!.name)
            assert.deepEqual([reversed.pick(0, key)!.name, reversed.pick(0, key)!.slot], [name, slot])
          }
        }
      )
    )
    const { endpoints, balancer } = setUp(4, 1, pools(1, 4))
    const used = new Set(Array.from({ length: 200 }, (_, key) => balancer.pick(0, `user-${key}`)))
    assert.equal(used.size, endpoints.length)
  })
})

describe('priorities', () => {
  const state = fc.record({
    priority: fc.nat(2),
    weight: fc.constantFrom(1, 1, 3, 0.01),
    usable: fc.boolean(),
    ejected: fc.boolean()
  })

  it('give calls to the lowest that can take them: trusted, else ejected, else where the call has failed', () => {
    fc.assert(
      fc.property(
        fc.array(state, { minLength: 1, maxLength: 8 }),
        fc.nat(),
        fc.option(fc.string(), { nil: undefined }),
        fc.option(fc.nat(7), { nil: -1 }),
        (states, seed, key, avoid) => {
          const { endpoints, balancer } = setUp(states.length, seed, states)
          states.forEach(({ usable, ejected }, index) => {
            endpoints[index]!.usable = usable
            for (let n = 0; ejected && n < HEALTH.failures; n++) balancer.failed(endpoints[index]!, 0)
          })
          const worth = (index: number) => (index === avoid ? 2 : states[index]!.ejected ? 1 : 0)
          const order = endpoints
            .map((endpoint, index) => ({ endpoint, rank: [worth(index), endpoint.priority] as const }))
            .filter(({ endpoint }) => endpoint.usable)
            .sort((one, other) => one.rank[0] - other.rank[0] || one.rank[1] - other.rank[1])
          const picked = balancer.pick(1, key, endpoints[avoid])
          const rank = order.find(({ endpoint }) => endpoint === picked)?.rank
          assert.deepEqual(rank, order[0]?.rank)
        }
      ),
      { numRuns: runs(500) }
    )
  })

  it('fall back while all of the lower are ejected, but for probes, and come back with the first that is trusted', () => {
    const { endpoints, balancer, log } = setUp(3, 1, [{ priority: 1 }, { priority: 1 }, { priority: 2 }])
    const [one, other, backup] = endpoints as [TestEndpoint, TestEndpoint, TestEndpoint]
    for (let n = 0; n < 3; n++) balancer.failed(one, 0)
    for (let n = 0; n < 100; n++) assert.equal(balancer.pick(1), other)
    other.usable = false
    for (let n = 0; n < 100; n++) assert.equal(balancer.pick(1), backup)
    assert.equal(balancer.pick(2_000), one)
    assert.equal(balancer.pick(2_001), backup)
    for (const now of [3_000, 4_000, 5_000]) assert.equal(balancer.pick(now), one)
    assert.equal(log.at(-1), `restored ${one.name}`)
    for (let n = 0; n < 100; n++) assert.equal(balancer.pick(5_001), one)
  })

  it('change with the endpoints', () => {
    const { endpoints, balancer } = setUp(2, 1, [{ priority: 1 }, { priority: 2 }])
    assert.equal(balancer.pick(0), endpoints[0])
    endpoints[1]!.priority = 0
    balancer.use(endpoints)
    assert.equal(balancer.pick(0), endpoints[1])
  })
})

describe('weights', () => {
  const WEIGHTS = [10, 20, 70].map((weight) => ({ weight }))

  /**
   * Returns each endpoint's share of many calls. `concurrency` calls are always in flight, and they end in random
   * order.
   */
  function shares(ranks: readonly Rank[], concurrency: number, seed: number): number[] {
    const { endpoints, balancer } = setUp(ranks.length, seed, ranks)
    const random = dice(seed + 1)
    const running: TestEndpoint[] = []
    const counts = new Map(endpoints.map((endpoint) => [endpoint, 0]))
    const calls = 20_000
    for (let n = 0; n < calls; n++) {
      const picked = balancer.pick(0)!
      counts.set(picked, counts.get(picked)! + 1)
      picked.inFlight++
      running.push(picked)
      if (running.length < concurrency) continue
      const [ended] = running.splice(Math.floor(random() * running.length), 1)
      ended!.inFlight--
    }
    return [...counts.values()].map((count) => count / calls)
  }

  for (const concurrency of [1, 2, 10, 100, 1_000]) {
    it(`are the shares of the calls, with ${concurrency} at a time`, () => {
      for (const seed of [1, 2, 3]) {
        const got = shares(WEIGHTS, concurrency, seed)
        WEIGHTS.forEach(({ weight }, index) => {
          assert.ok(Math.abs(got[index]! - weight / 100) < 0.04, `${got}, seed ${seed}`)
        })
      }
    })
  }

  it('make no difference where they are all the same', () => {
    for (const concurrency of [1, 100]) {
      const got = shares([{ weight: 7 }, { weight: 7 }, { weight: 7 }], concurrency, 1)
      for (const share of got) assert.ok(Math.abs(share - 1 / 3) < 0.02, String(got))
    }
  })

  it('are shares, however small the numbers are', () => {
    for (const scale of [1e-6, 1, 1e6]) {
      const ranks = [0.01, 0.02, 0.07].map((weight) => ({ weight: weight * scale }))
      const got = shares(ranks, 1, 1)
      for (const [index, share] of [0.1, 0.2, 0.7].entries())
        assert.ok(Math.abs(got[index]! - share) < 0.02, String(got))
    }
  })

  it('are compared with the calls in flight, the next one included', () => {
    const pickedOf = (inFlight: readonly number[]) => {
      const { endpoints, balancer } = setUp(2, 1, [{ weight: 1 }, { weight: 3 }])
      endpoints.forEach((endpoint, index) => {
        endpoint.inFlight = inFlight[index]!
      })
      const picked = new Set(Array.from({ length: 100 }, () => endpoints.indexOf(balancer.pick(0)!)))
      return [...picked].sort()
    }
    // Including the next call, one in flight at weight 1 compares equal to three in flight at weight 3.
    assert.deepEqual(pickedOf([1, 2]), [1])
    assert.deepEqual(pickedOf([1, 3]), [0, 1])
    assert.deepEqual(pickedOf([1, 5]), [0, 1])
    assert.deepEqual(pickedOf([1, 6]), [0])
  })

  it('do not keep calls from the one that is less busy', () => {
    const { endpoints, balancer } = setUp(2, 1, [{ weight: 1 }, { weight: 9 }])
    endpoints[1]!.inFlight = 9
    for (let n = 0; n < 100; n++) assert.equal(balancer.pick(0), endpoints[0])
    endpoints[0]!.inFlight = 2
    for (let n = 0; n < 100; n++) assert.equal(balancer.pick(0), endpoints[1])
  })

  it('are the shares of the keys, too, and a key keeps its endpoint where its weight grows', () => {
    const { endpoints, balancer } = setUp(3, 1, WEIGHTS)
    const keys = Array.from({ length: 20_000 }, (_, n) => `user-${n}`)
    const before = keys.map((key) => balancer.pick(0, key)!)
    endpoints.forEach((endpoint, index) => {
      const share = before.filter((picked) => picked === endpoint).length / keys.length
      assert.ok(Math.abs(share - WEIGHTS[index]!.weight / 100) < 0.02, `${index}: ${share}`)
    })
    endpoints[0]!.weight = 30
    balancer.use(endpoints)
    keys.forEach((key, index) => {
      const now = balancer.pick(0, key)
      if (now !== before[index]) assert.equal(now, endpoints[0])
    })
  })

  it('choose as without them for a key, where they are all the same', () => {
    fc.assert(
      fc.property(fc.string(), fc.uniqueArray(fc.string(), { minLength: 1 }), (key, names) => {
        const best = (score: (name: string) => number) =>
          names.reduce((one, other) => (score(other) > score(one) ? other : one))
        const bare = best((name) => rendezvousScore(key, name))
        assert.equal(
          best((name) => weightedScore(key, name, 1)),
          bare
        )
      })
    )
  })
})

describe('SRV records', () => {
  const record = (name: string, priority: number, weight: number) => ({ name, port: 1, priority, weight })

  it('become endpoints, those to be used first in front', () => {
    assert.deepEqual(srvAddresses([record('b', 20, 5), record('a', 10, 60), record('c', 20, 65_535)]), [
      { host: 'a', port: 1, priority: 10, weight: 60 },
      { host: 'b', port: 1, priority: 20, weight: 5 },
      { host: 'c', port: 1, priority: 20, weight: 65_535 }
    ])
  })

  it('of weight 0 are all the same, or hardly ever chosen beside others', () => {
    const weights = (...records: ReturnType<typeof record>[]) =>
      srvAddresses(records).map(({ weight }) => weight)
    assert.deepEqual(weights(record('a', 1, 0), record('b', 1, 0), record('c', 2, 9)), [1, 1, 9])
    assert.deepEqual(weights(record('a', 1, 0), record('b', 1, 10), record('c', 1, 20)), [0.1, 10, 20])
    assert.deepEqual(weights(record('a', 1, 0), record('b', 1, 1), record('c', 1, 20)), [0.01, 1, 20])
    assert.deepEqual(weights(record('a', 1, 1), record('b', 1, 10), record('c', 2, 0)), [1, 10, 1])
  })

  it('say with the target . that there is no such service', () => {
    for (const name of ['.', '']) {
      assert.throws(() => srvAddresses([record(name, 0, 0)]), /the service is not offered/)
      assert.equal(srvAddresses([record(name, 0, 0), record('a', 0, 0)]).length, 1)
    }
    assert.deepEqual(srvAddresses([]), [])
  })
})

describe('rendezvous hashing', () => {
  it('gives the same scores in every version, so that all clients choose the same endpoint', () => {
    for (const [key, name, score, weighted] of [
      ['user-1', '10.0.0.1:4000', 1_179_786_998, 2.3217836977892894],
      ['user-2', '10.0.0.1:4000', 782_649_082, 1.7620992246011864],
      ['user-1', '[::1]:4000', 562_650_559, 1.4759853781573016],
      ['', 'a:1', 2_238_159_316, 4.602708426269163],
      ['käse', 'b:2', 2_786_008_449, 6.93106311617666]
    ] as const) {
      assert.equal(rendezvousScore(key, name), score)
      assert.ok(Math.abs(weightedScore(key, name, 3) - weighted) < 1e-12)
    }
  })

  it('gives a weighted score above 0 for the lowest score, too', () => {
    const key = '0\ub1ef\u07ca'
    assert.equal(rendezvousScore(key, 'a:1'), 0)
    assert.ok(weightedScore(key, 'a:1', 1) > 0)
  })

  it('gives whole numbers of 32 bits', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (key, name) => {
        const score = rendezvousScore(key, name)
        assert.ok(Number.isInteger(score) && score >= 0 && score < 2 ** 32)
      })
    )
  })
})

describe('addresses', () => {
  it('are read, and written so that they are read again', () => {
    assert.deepEqual(parseAddress('a:1', 4000), { host: 'a', port: 1 })
    assert.deepEqual(parseAddress('a.example.com', 4000), { host: 'a.example.com', port: 4000 })
    assert.deepEqual(parseAddress('[::1]:5', 4000), { host: '::1', port: 5 })
    assert.deepEqual(parseAddress('[fe80::2]', 4000), { host: 'fe80::2', port: 4000 })
    for (const text of ['a:1', '[::1]:4000', '10.0.0.1:65535']) {
      assert.equal(addressName(parseAddress(text, 4000)), text)
    }
    for (const bad of ['', 'a:', 'a:x', 'a:65536', '::1', 'a b', '[::1', 'a:1:2', undefined as never]) {
      assert.throws(() => parseAddress(bad, 4000), { name: 'OptionError' })
    }
  })
})

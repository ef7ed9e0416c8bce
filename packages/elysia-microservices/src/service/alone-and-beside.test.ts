/**
 * A service answers the same alone and beside another, at any depth of `use`, in any group, over any transport: random
 * services are asked alone and as a part of random compositions, and the answers and the hooks that run are compared.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isOnPush } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { connect } from '../client/index.ts'
import { microservice } from '../index.ts'
import {
  build,
  type Chain,
  FAILURES,
  KEYS,
  newChain,
  newSite,
  type Site,
  type Steps,
  steps,
  type World
} from '../testing/compositions.ts'
import { newWay, WAYS, type Way } from '../testing/ways.ts'

const logger = { error() {}, warn() {} }

/** One service around another. Nothing before the other reaches it, so that it must answer as it does alone. */
interface Layer {
  readonly before: Steps
  readonly around: 'nothing' | 'group' | 'guard' | 'twice'
  readonly after: Steps
}

const layer: fc.Arbitrary<Layer> = fc.record({
  before: steps('none', 2),
  around: fc.constantFrom('nothing', 'group', 'guard', 'twice'),
  after: steps('any', 2)
})

/** Puts a service into services. @param site the place of the service; its `world` is that of the whole composition */
function composed(own: Steps, layers: readonly Layer[], site: Site): Chain {
  const [one, ...others] = layers
  if (one === undefined) return build(newChain(), own, site)
  const { world, prefix } = site
  // The handlers of other services are not asked, but their hooks write into the same log.
  const outer = { ...newSite(`outer${layers.length}`, { handlers: [], log: world.log }), prefix }
  const inner = (within = prefix) => {
    const place = { ...newSite(site.id, world), prefix: within }
    const chain = composed(own, others, place)
    for (const name of place.names) outer.names.add(name)
    return chain
  }
  const chain = build(newChain(), one.before, { ...outer, id: `${outer.id}-before` })
  const used = {
    nothing: () => chain.use(inner()),
    twice: () => {
      const shared = inner()
      return chain.use(newChain().use(shared)).use(newChain().use(shared)).use(shared)
    },
    group: () => chain.group('in', (group) => group.use(inner([...prefix, 'in']))),
    guard: () => chain.guard({}, (group) => group.use(inner()))
  }[one.around]()
  const made = build(used, one.after, { ...outer, id: `${outer.id}-after` })
  for (const name of outer.names) site.names.add(name)
  return made
}

interface Input {
  readonly data: Readonly<Record<string, string | number>>
  readonly headers: Readonly<Record<string, string>>
}

const some = fc.dictionary(fc.constantFrom(...KEYS), fc.constant('1'), { noNullPrototype: true })
const input: fc.Arbitrary<Input> = fc.record({
  data: fc.tuple(some, fc.option(fc.nat(FAILURES.length - 1), { freq: 3 })).map(([data, fail]) => ({
    ...data,
    ...(fail !== null && { fail })
  })),
  headers: some
})
const inputs = fc.array(input, { minLength: 2, maxLength: 6 })

/** The answers of all handlers to all inputs, each with the hooks that have run. */
async function answersOf(chain: Chain, world: World, given: readonly Input[], way: Way = 'memory') {
  const { transport, client: options } = newWay(way)
  const service = microservice({ transport, logger }) as unknown as Chain & {
    listen(): Promise<unknown>
    stop(): Promise<void>
  }
  service.use(chain)
  await service.listen()
  const client = connect(options())
  const answers: Record<string, unknown[]> = {}
  try {
    for (const { id, pattern } of world.handlers) {
      const own: unknown[] = []
      answers[id] = own
      for (const { data, headers } of given) {
        world.log.length = 0
        const answer = await client.request(pattern, data, { headers }).then(
          (value) => ({ value }),
          ({ code, message, details }) => ({ code, message, details })
        )
        own.push({ answer, ran: [...world.log] })
      }
    }
  } finally {
    await client.close()
    await service.stop()
  }
  return answers
}

const newWorld = (): World => ({ handlers: [], log: [] })

describe('a random service', () => {
  it('answers the same alone and beside others, at any depth, in any group', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps('any', 2),
        fc.array(layer, { minLength: 1, maxLength: 3 }),
        inputs,
        async (own, layers, given) => {
          const alone = newWorld()
          const expected = await answersOf(build(newChain(), own, newSite('part', alone)), alone, given)
          const beside = newWorld()
          const got = await answersOf(composed(own, layers, newSite('part', beside)), beside, given)
          assert.deepEqual(got, expected)
        }
      ),
      { numRuns: isOnPush ? 40 : 500 }
    )
  })

  it('answers the same over each transport', async () => {
    await fc.assert(
      fc.asyncProperty(steps('any', 2), inputs, async (own, given) => {
        const [first, ...others] = await Promise.all(
          WAYS.map((way) => {
            const world = newWorld()
            return answersOf(build(newChain(), own, newSite('part', world)), world, given, way)
          })
        )
        for (const other of others) assert.deepEqual(other, first)
      }),
      { numRuns: isOnPush ? 10 : 100 }
    )
  })
})

/**
 * Services that use the same names for different things (decorators, states, classes of errors, macros) answer the same
 * alone and beside each other, in any composition, however often each is used.
 */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { isOnPush, runs } from '@elysia-microservices/test-support'
import type { Transport } from '@elysia-microservices/transport'
import { t } from 'elysia'
import fc from 'fast-check'
import { connect, type UntypedClient } from '../client/index.ts'
import { memory, microservice, RpcError } from '../index.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

const cleanups = new Cleanups()
/** How many compositions are tried. */
const RUNS = isOnPush ? runs(60) : 600
afterEach(() => cleanups.run())

class Failed extends Error {
  readonly details = { secret: true }
}
class Worse extends Failed {}

const fail = (data: unknown) => {
  throw data === 'worse' ? new Worse('worse') : new Failed('failed')
}

type Service = ReturnType<typeof microservice>

/** Services that use the same names for different things. */
const UNITS: readonly ((transport: Transport) => object)[] = [
  (transport) =>
    microservice({ transport })
      .decorate('name', 'orders')
      .state('count', 0)
      .error('FAILED', Failed)
      .macro({ marked: { afterHandle: ({ response }) => [response, 'orders'] } })
      .onStart(({ store }) => void store.count++)
      .message('0.ask', ({ name, store }) => [name, ++store.count], { marked: true })
      .message('0.fail', ({ data }) => fail(data)),
  (transport) =>
    microservice({ transport })
      .decorate('name', { text: 'billing' })
      .state('count', 100)
      .guard({ headers: t.Object({ token: t.String() }) })
      .derive(({ name }) => ({ who: name.text }))
      .macro({ marked: { afterHandle: ({ response }) => [response, 'billing'] } })
      .message('1.ask', ({ who, store }) => [who, ++store.count], { marked: true })
      .message('1.fail', ({ data }) => fail(data)),
  (transport) =>
    microservice({ transport })
      .decorate('name', 3)
      .state('count', 'a')
      .error({ FAILED: Worse, LOST: Failed })
      .onError(({ code, data }) => (data === 'caught' ? `caught ${code}` : undefined))
      .onBeforeHandle(({ headers }) =>
        headers['token'] === 'bad' ? new RpcError({ code: 'BAD' }) : undefined
      )
      .onStart(({ store }) => {
        store.count += 'b'
      })
      .group('2', (g) =>
        g
          .state('more', 1)
          .message('ask', ({ name, store }) => [name, store.count, ++store.more])
          .message('fail', ({ data }) => fail(data))
      )
]

const HEADERS = [{}, { token: 'good' }, { token: 'bad' }]
const DATA = [1, 'worse', 'caught']

/** All that a caller sees of a service. */
async function seen(caller: UntypedClient, unit: number): Promise<unknown[]> {
  const all: unknown[] = []
  for (const pattern of ['ask', 'fail'])
    for (const data of DATA)
      for (const headers of HEADERS) {
        const failure = ({ code, message, details }: RpcError) => ({ code, message, details })
        all.push(await caller.request(`${unit}.${pattern}`, data, { headers }).catch(failure))
      }
  return all
}

/** A composition: the number of a service, or a service or group with others in it. */
type Tree = number | { readonly isGroup: boolean; readonly noise: number; readonly parts: readonly Tree[] }

const { tree: trees } = fc.letrec<{ tree: Tree; unit: number }>((tie) => ({
  unit: fc.nat(UNITS.length - 1),
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('unit'),
    fc.record({
      isGroup: fc.boolean(),
      noise: fc.nat(7),
      parts: fc.array(tie('tree'), { minLength: 1, maxLength: 4 })
    })
  )
}))

function unitsIn(tree: Tree): readonly number[] {
  return typeof tree === 'number' ? [tree] : tree.parts.flatMap(unitsIn)
}

function compose(into: Service, tree: Tree, units: readonly object[]): Service {
  if (typeof tree === 'number') return into.use(units[tree] as Service) as unknown as Service
  const { isGroup, noise, parts } = tree
  const fill = (service: Service) => {
    if (noise & 1) service.decorate('name', 'noise').state('count', -1)
    for (const part of parts) compose(service, part, units)
    // Hooks, guards and classes of errors concern only the handlers that follow.
    if (noise & 2) service.error({ FAILED: Error, NOISE: Failed }).onError(() => 'noise')
    if (noise & 4) service.guard({ data: t.Object({ noise: t.Number() }) }).derive(() => ({ who: 'noise' }))
    return service
  }
  if (isGroup) return into.guard({}, (group) => fill(group as unknown as Service)) as unknown as Service
  return into.use(fill(microservice({ transport: memory() }))) as unknown as Service
}

async function answering(transport: Transport, make: (main: Service) => Service, client: () => object) {
  const logged: unknown[] = []
  const logger = { error: (_line: string, cause?: unknown) => void logged.push(cause), warn() {} }
  const service = make(microservice({ transport, logger }))
  await cleanups.add(service).listen()
  return { caller: cleanups.add(connect(client() as never)) as UntypedClient, logged }
}

describe('a service with names that others have, too', () => {
  for (const way of WAYS)
    it(`answers the same alone and beside others, over ${way}`, async () => {
      const newUnits = () => UNITS.map((make) => make(memory()))
      const alone = await Promise.all(
        UNITS.map(async (_, unit) => {
          const { transport, client } = newWay(way)
          const { caller, logged } = await answering(
            transport,
            (main) => compose(main, unit, newUnits()),
            client
          )
          return { answers: await seen(caller, unit), logged: logged.length }
        })
      )
      await fc.assert(
        fc.asyncProperty(fc.array(trees, { minLength: 1, maxLength: 4 }), async (parts) => {
          const { transport, client } = newWay(way)
          const { caller, logged } = await answering(
            transport,
            (main) => compose(main, { isGroup: false, noise: 0, parts }, newUnits()),
            client
          )
          const used = new Set(parts.flatMap(unitsIn))
          let lines = 0
          for (const unit of used) {
            const { answers, logged } = alone[unit] as (typeof alone)[number]
            assert.deepEqual(await seen(caller, unit), answers)
            lines += logged
          }
          assert.equal(logged.length, lines)
          await cleanups.run()
        }),
        { numRuns: way === 'memory' ? RUNS : Math.ceil(RUNS / 6) }
      )
    })
})

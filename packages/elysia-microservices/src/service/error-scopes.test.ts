/** A class of errors counts where a hook at the same place would run: what one service registers leaks to no other. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { memory, type Transport } from '@elysia-microservices/transport'
import { connect } from '../client/index.ts'
import { microservice } from '../index.ts'
import { MessagePattern } from '../nest.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

class Failed extends Error {
  readonly details = { password: 'secret' }
}
const fail = () => {
  throw new Failed('secret')
}
async function* failLater() {
  yield 1
  fail()
}
class Controller {
  @MessagePattern('here')
  answer() {
    return fail()
  }
}

type Make = (transport: Transport, logger: { error(...all: unknown[]): void; warn(): void }) => object

const part = () => microservice({ transport: memory() })

/** Where a service registers the class, and what that makes of the errors of the handler `here`. */
const CASES: readonly (readonly [name: string, answer: 'FAILED' | 'INTERNAL', make: Make])[] = [
  [
    'before the handler',
    'FAILED',
    (transport, logger) => microservice({ transport, logger }).error('FAILED', Failed).message('here', fail)
  ],
  [
    'before the handler, by its scope',
    'FAILED',
    (transport, logger) =>
      microservice({ transport, logger }).error({ as: 'global' }, { FAILED: Failed }).message('here', fail)
  ],
  [
    'after the handler',
    'INTERNAL',
    (transport, logger) => microservice({ transport, logger }).message('here', fail).error('FAILED', Failed)
  ],
  [
    'anywhere in the chain of a controller',
    'FAILED',
    (transport, logger) =>
      microservice({ transport, logger, controllers: [Controller] }).error('FAILED', Failed)
  ],
  [
    'in a group of the service of a controller',
    'INTERNAL',
    (transport, logger) =>
      microservice({ transport, logger, controllers: [Controller] }).group('g', (g) =>
        g.error('FAILED', Failed)
      )
  ],
  [
    'in a service that is used before',
    'INTERNAL',
    (transport, logger) =>
      microservice({ transport, logger }).use(part().error('FAILED', Failed)).message('here', fail)
  ],
  [
    'in a service beside it',
    'INTERNAL',
    (transport, logger) =>
      microservice({ transport, logger })
        .use(part().error('FAILED', Failed).message('there', fail))
        .use(part().message('here', fail))
  ],
  [
    'in a service below a service beside it',
    'INTERNAL',
    (transport, logger) =>
      microservice({ transport, logger })
        .use(part().use(part().error({ as: 'scoped' }, { FAILED: Failed })))
        .use(part().message('here', fail))
  ],
  [
    'in a group beside it',
    'INTERNAL',
    (transport, logger) =>
      microservice({ transport, logger })
        .group('g', (g) => g.error({ as: 'global' }, { FAILED: Failed }).message('there', fail))
        .message('here', fail)
  ],
  [
    'in a group that another service has',
    'INTERNAL',
    (transport, logger) =>
      microservice({ transport, logger })
        .use(part().guard({}, (g) => g.error('FAILED', Failed)))
        .guard({}, (g) => g.message('here', fail))
  ],
  [
    'in a used service, scoped',
    'FAILED',
    (transport, logger) =>
      microservice({ transport, logger })
        .use(part().error({ as: 'scoped' }, { FAILED: Failed }))
        .message('here', fail)
  ],
  [
    'in a used service, scoped by as()',
    'FAILED',
    (transport, logger) =>
      microservice({ transport, logger })
        .use(part().error('FAILED', Failed).as('scoped'))
        .message('here', fail)
  ],
  [
    'far below, global',
    'FAILED',
    (transport, logger) =>
      microservice({ transport, logger })
        .use(part().use(part().error({ as: 'global' }, { FAILED: Failed })))
        .group('a', (g) => g)
        .use(part().guard({}, (g) => g.message('here', fail)))
  ],
  [
    'above, before the service is used',
    'FAILED',
    (transport, logger) =>
      microservice({ transport, logger }).error('FAILED', Failed).use(part().message('here', fail))
  ],
  [
    'above, after the service is used',
    'INTERNAL',
    (transport, logger) =>
      microservice({ transport, logger }).use(part().message('here', fail)).error('FAILED', Failed)
  ],
  [
    'in its own group',
    'FAILED',
    (transport, logger) =>
      microservice({ transport, logger }).guard({}, (g) => g.error('FAILED', Failed).message('here', fail))
  ]
]

for (const way of WAYS)
  describe(`a class of errors, ${way}`, () => {
    const started = async (make: Make) => {
      const { transport, client } = newWay(way)
      const logged: unknown[] = []
      const service = make(transport, { error: (_line, cause) => void logged.push(cause), warn() {} })
      await cleanups.add(service as ReturnType<typeof microservice>).listen()
      return { logged, caller: cleanups.add(connect(client())) }
    }

    for (const [name, answer, make] of CASES)
      it(`that is registered ${name} makes ${answer} of an error`, async () => {
        const { caller, logged } = await started(make)
        const error = (await caller.request('here').catch((failure: unknown) => failure)) as Failed & {
          code: string
        }
        assert.equal(error.code, answer)
        assert.equal(JSON.stringify(error.details ?? '').includes('secret'), answer === 'FAILED')
        assert.equal(error.message.includes('secret'), answer === 'FAILED')
        assert.equal(logged.filter((cause) => cause instanceof Failed).length, answer === 'FAILED' ? 0 : 1)
      })

    it('makes no answers of failures in the streams of other services', async () => {
      const { caller, logged } = await started((transport, logger) =>
        microservice({ transport, logger })
          .use(part().error('FAILED', Failed).message('mine', failLater))
          .message('other', failLater)
      )
      const codeOf = async (pattern: string) => {
        try {
          for await (const _ of caller.stream(pattern));
        } catch (error) {
          return (error as { code: string }).code
        }
        return undefined
      }
      assert.equal(await codeOf('mine'), 'FAILED')
      assert.equal(logged.length, 0)
      assert.equal(await codeOf('other'), 'INTERNAL')
      assert.equal(logged.length, 1)
    })

    it('may have the code of a class of another service, and another code there', async () => {
      class Other extends Error {}
      const { caller } = await started((transport, logger) =>
        microservice({ transport, logger })
          .use(part().error({ GONE: Failed, LOST: Other }).message('a', fail))
          .use(
            part()
              .error({ as: 'scoped' }, { LOST: Failed, GONE: Other })
              .message('b', fail)
              .message('c', () => {
                throw new Other('no')
              })
          )
          .message('d', fail)
          .error('MINE', Failed)
          .message('e', fail)
      )
      for (const [pattern, code] of Object.entries({ a: 'GONE', b: 'LOST', c: 'GONE', d: 'LOST', e: 'MINE' }))
        await assert.rejects(caller.request(pattern), { code }, pattern)
    })

    it('gives onError its code', async () => {
      const codes: string[] = []
      const { caller } = await started((transport, logger) =>
        microservice({ transport, logger })
          .onError(({ code }) => void codes.push(code))
          .use(part().error('FAILED', Failed).message('mine', fail))
          .message('other', fail)
      )
      for (const pattern of ['mine', 'other']) await assert.rejects(caller.request(pattern))
      assert.deepEqual(codes, ['FAILED', 'UNKNOWN'])
    })
  })

describe('the description of a service', () => {
  it('names for each handler the errors of its own service', () => {
    const service = part().use(part().error('FAILED', Failed).message('mine', fail)).message('other', fail)
    assert.deepEqual(
      service.describe().handlers.map(({ errors }) => Object.keys(errors ?? {})),
      [['FAILED'], []]
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MicroserviceOptions, microservice } from '../index.ts'

const make = (options: Partial<MicroserviceOptions>) => microservice({ transport: 'tcp', ...options })

describe('the option workers', () => {
  for (const workers of [
    0,
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1025,
    'x',
    'all',
    null,
    true,
    {}
  ] as const)
    it(`is not ${JSON.stringify(workers) ?? workers}`, () => {
      assert.throws(() => make({ workers: workers as never }), {
        name: 'OptionError',
        path: 'options.workers'
      })
    })

  it('is not given with a Unix socket', async () => {
    const refused = { name: 'OptionError', path: 'options.workers', message: /Unix socket/ }
    await assert.rejects(make({ workers: 2, path: '/tmp/a.sock' }).listen(), refused)
  })

  it('makes this process a supervisor', () => {
    assert.equal(make({ workers: 1 }).workers.role, 'supervisor')
    assert.equal(make({}).workers.role, 'alone')
  })

  it('is needed to replace workers, of which there are none otherwise', async () => {
    await assert.rejects(make({}).workers.restart(), { name: 'OptionError', path: 'options.workers' })
    assert.deepEqual(await make({}).workers.figures(), [])
  })
})

/** The values that the option `workers` may have, and the number of processes that each value means. */
import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { describe, it } from 'node:test'
import { checkWorkers, countOf } from './option.ts'

describe('the number of workers', () => {
  it('is what was given, or one for each processor', async () => {
    assert.equal(await countOf(3), 3)
    assert.equal(await countOf('auto'), availableParallelism())
  })

  it('is a whole number from 1 to 1024', () => {
    checkWorkers(undefined)
    checkWorkers('auto')
    checkWorkers(1)
    for (const workers of [0, 1.5, 1_025, Number.NaN, '2', null])
      assert.throws(() => checkWorkers(workers as never), { name: 'OptionError', path: 'options.workers' })
  })
})

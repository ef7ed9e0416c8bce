/** Options that nobody knows. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { health } from './health/health.ts'
import { prometheus } from './metrics/plugin.ts'
import { telemetry } from './telemetry.ts'

describe('an option that nobody knows', () => {
  for (const [name, take] of Object.entries({ telemetry, prometheus, health })) {
    it(`is refused by ${name}()`, () => {
      for (const wrong of ['sampel', 'paths', 'check'])
        assert.throws(() => take({ [wrong]: 1 } as never), { name: 'OptionError', path: `options.${wrong}` })
      take()
    })
  }
})

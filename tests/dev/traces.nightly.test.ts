/** Traces of a program with an OpenTelemetry set-up of its own, together with programs without one. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { familyOf, OWN_NAME, SDK, traceOf, withShop } from './traces.ts'

const TELEMETRY = `import { telemetry } from '@elysia-microservices/telemetry'\n`

describe('the traces of dev, of a program with an SDK of its own', () => {
  for (const [what, before, use] of [
    ['and telemetry()', SDK + TELEMETRY, 'telemetry()'],
    ['with an exporter of JSON', SDK.replace('otlp-proto', 'otlp-http') + TELEMETRY, 'telemetry()'],
    ['alone', SDK, '']
  ] as const)
    it(`are the same trace: ${what}`, () =>
      withShop(
        async (page, web) => {
          assert.equal(await (await fetch(`${web}/cart`)).text(), 'v1')
          const own = use === '' ? 'orders' : OWN_NAME
          assert.deepEqual(familyOf(await traceOf(page, '/cart', 5)), [
            `${own} client stock.version < ${own} server orders.place`,
            `${own} server orders.place < web client orders.place`,
            `stock server stock.version < ${own} client stock.version`,
            'web client orders.place < web server GET /cart',
            'web server GET /cart < '
          ])
        },
        before,
        use
      ))
})

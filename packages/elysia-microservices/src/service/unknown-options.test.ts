/** Options that nobody knows, most of them misspelt: each place that takes options refuses them by their path. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { connect, type UntypedClient, type UntypedStoringClient } from '../client/index.ts'
import { asyncApiRoute } from '../describe.ts'
import { gateway } from '../gateway/index.ts'
import { memory, microservice } from '../index.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const newService = () => microservice({ transport: memory() })
const hook = () => ({})

const PLACES: Readonly<Record<string, (options: never) => unknown>> = {
  'derive()': (options) => newService().derive(options, hook),
  'resolve()': (options) => newService().resolve(options, hook),
  'onBeforeHandle()': (options) => newService().onBeforeHandle(options, hook),
  'onAfterHandle()': (options) => newService().onAfterHandle(options, hook),
  'onError()': (options) => newService().onError(options, hook),
  'onAfterResponse()': (options) => newService().onAfterResponse(options, hook),
  'error()': (options) => newService().error(options, { APP: Error }),
  'guard()': (options) => newService().guard(options),
  'guard() with a callback': (options) => newService().guard(options, (g) => g),
  'message()': (options) => newService().message('x', hook, options),
  'event()': (options) => newService().event('x', hook, options),
  'gateway()': (options) => gateway(connect({ transport: memory() }), {}, options),
  'asyncApiRoute()': (options) => asyncApiRoute(newService(), options)
}

describe('an option that nobody knows', () => {
  for (const [place, take] of Object.entries(PLACES)) {
    it(`is refused by ${place}`, () => {
      for (const name of ['at', 'scope', 'header', 'toString', 'length'])
        assert.throws(() => take({ [name]: 'scoped' } as never), {
          name: 'OptionError',
          path: `options.${name}`
        })
    })
  }
})

type Call = (client: UntypedClient, options: never) => Promise<unknown>

const CALLS: Readonly<Record<string, Call>> = {
  'request()': (client, options) => client.request('x', 1, options),
  'stream()': (client, options) => client.stream('x', 1, options).next(),
  'send()': (client, options) =>
    new Promise((resolve, error) =>
      client.send('x', 1, options).subscribe({ error, complete: () => resolve(1) })
    ),
  'emit()': (client, options) => client.emit('y', 1, options)
}
const publish: Call = (client, options) => (client as UntypedStoringClient).publish('y', 1, options)

for (const way of WAYS) {
  describe(`an option of a call that nobody knows, ${way}`, () => {
    for (const [name, call] of Object.entries(
      way === 'memory' ? { ...CALLS, 'publish()': publish } : CALLS
    )) {
      it(`is refused by ${name}, which knows its own`, async () => {
        const { transport, client: options } = newWay(way)
        const service = microservice({ transport, name: 'test' })
          .message('x', ({ data }) => data)
          .event('y', () => {}, (way === 'memory' ? { durable: true } : {}) as object)
        await cleanups.add(service).listen()
        const client = cleanups.add(connect(options()))
        for (const wrong of ['timeot', 'header', 'signals', 'then'])
          await assert.rejects(call(client, { timeout: 1_000, [wrong]: 1 } as never), {
            name: 'OptionError',
            path: `options.${wrong}`
          })
        for (const wrong of ['text', 5, []].filter((value) => Object.keys(Object(value)).length > 0))
          await assert.rejects(call(client, wrong as never), { name: 'OptionError', path: 'options' })
        const { signal } = new AbortController()
        const own = name === 'publish()' ? { id: '1' } : { waitForConnection: 0 }
        await call(client, { timeout: 9_000, headers: {}, key: 'k', signal, ...own } as never)
        await call(client, { timeout: undefined, other: undefined } as never)
      })
    }
  })
}

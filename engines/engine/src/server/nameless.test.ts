import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { ClientContext, Dispatcher, Route, ServerContext } from '@elysia-microservices/transport/kit'
import { Hub, TestEngine } from '../testing/hub.ts'
import { engineTransport } from '../transport.ts'

const logger = { error() {}, warn() {} }
const client: ClientContext = { logger, timeout: 5_000, dispatcher: undefined }
const TRAITS = {
  wildcards: true,
  hearsNobody: true,
  shares: 'engine',
  headers: true,
  channels: true
} as const
const PAID: Route = { kind: 'event', route: 'paid' }

describe('two processes of a service without a name', () => {
  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp()
  })

  /** @returns the number of runs of one event */
  async function runsOfOneEvent(
    { group, events }: { readonly group?: string; readonly events?: 'every-process' },
    route = PAID
  ): Promise<number> {
    const hub = new Hub()
    const transport = engineTransport({
      name: 'hub',
      traits: TRAITS,
      engine: () => new TestEngine(hub),
      events
    })
    let runs = 0
    const dispatcher: Dispatcher = {
      routes: () => [route],
      request: () => undefined,
      event: () => void runs++
    }
    const context: ServerContext = { name: undefined, group, version: undefined, logger }
    for (let n = 0; n < 2; n++) {
      const server = transport.server(context)
      cleanUps.push(() => server.stop({ drain: 0 }))
      await server.start(dispatcher)
    }
    const sender = transport.client(client)
    cleanUps.push(() => sender.close())
    await sender.emit('paid', 1)
    await new Promise(setImmediate)
    return runs
  }

  it('do not start with an event, which both would run; the error says what to do', async () => {
    await assert.rejects(runsOfOneEvent({}), {
      name: 'OptionError',
      path: 'options.name',
      message:
        "Over TEST the event 'paid' would run in each process of the service, because the service has no name: set its option name, or events: 'every-process' of the transport if each process is to run it"
    })
  })

  it('both run an event if the transport says so, and share it in a group', async () => {
    assert.equal(await runsOfOneEvent({ events: 'every-process' }), 2)
    assert.equal(await runsOfOneEvent({ group: 'orders' }), 1)
  })

  it('share the requests, and the events that a message handler gets', async () => {
    assert.equal(await runsOfOneEvent({}, { kind: 'message', route: 'paid' }), 1)
  })
})

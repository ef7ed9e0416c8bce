/** Services that have no transport, or whose transport nobody opens; parts that several services use. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { connect } from '../client/index.ts'
import { memory, microservice } from '../index.ts'
import { Cleanups } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

describe('a service without a transport', () => {
  it('answers over the transport of the service that uses it', async () => {
    const transport = memory()
    const plugin = microservice().message('x', () => 7)
    const service = microservice({ transport }).use(plugin)
    cleanups.add(await service.listen())
    assert.equal(await cleanups.add(connect<typeof service>({ transport })).request('x'), 7)
    assert.equal(plugin.status, 'stopped')
  })

  it('cannot listen, and says what to do; a transport may be missing, but not be empty', async () => {
    const message = /^The service 'auth' has no transport, so it cannot listen: give it the option transport/
    const service = microservice({ name: 'auth' }).message('x', () => 7)
    await assert.rejects(service.listen(), { name: 'OptionError', path: 'options.transport', message })
    assert.equal(service.status, 'stopped')
    assert.throws(() => microservice({ transport: [] }), { path: 'options.transport' })
  })
})

describe('the transport of a service that another one uses', () => {
  const lines: string[] = []
  const logger = { error() {}, warn: (line: string) => void lines.push(line) }
  afterEach(() => {
    lines.length = 0
  })

  it('is told of in the log, once, if nobody opens it', async () => {
    const auth = microservice({ name: 'auth', transport: memory(), logger }).message('x', () => 7)
    for (const name of ['shop', 'bank'])
      cleanups.add(await microservice({ name, transport: memory(), logger }).use(auth).listen())
    assert.deepEqual(lines, [
      "The service 'auth' is used by another service, and its own transport (memory) is not open: leave out its option transport, or call its listen() first"
    ])
  })

  it('is not told of if it is open, or is that of the other service', async () => {
    const transport = memory()
    const same = microservice({ transport, logger }).message('x', () => 7)
    const open = microservice({ transport: memory(), logger }).message('y', () => 7)
    cleanups.add(await open.listen())
    cleanups.add(await microservice({ transport, logger }).use(same).use(open).listen())
    assert.deepEqual(lines, [])
  })
})

describe('a client that several services use', () => {
  it('is closed with the last of them', async () => {
    const far = memory()
    const near = memory()
    cleanups.add(
      await microservice({ transport: far })
        .message('far', () => 7)
        .listen()
    )
    const client = connect({ transport: far })
    const asking = (pattern: string) =>
      microservice({ transport: near })
        .use(client)
        .message(pattern, () => client.request('far'))
    const [first, second] = [asking('first'), asking('second')]
    await Promise.all([first.listen(), second.listen()])
    const caller = cleanups.add(connect({ transport: near }))
    assert.equal(await caller.request('first'), 7)
    await first.stop()
    assert.equal(await caller.request('second'), 7)
    await second.stop()
    await assert.rejects(client.request('far'), { name: 'ConnectionError', message: /closed/ })
  })
})

/** Services over several transports at once, and handlers that belong to one transport only. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { connect } from '../client/index.ts'
import { MessagePattern } from '../controller/decorators.ts'
import { memory } from '../index.ts'
import { tcp } from '../tcp.ts'
import { happening } from '../testing/service.ts'
import { Cleanups } from '../testing/ways.ts'
import { microservice } from './microservice.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const door = (port = 0) => tcp({ host: '127.0.0.1', port })
const clientAt = (port: number, options: object = {}) =>
  cleanups.add(connect({ host: '127.0.0.1', port, retry: false, ...options }))

describe('a service over several transports', () => {
  it('answers on each of them, and handlers know by which a message came', async () => {
    const [first, second, inside] = [door(), door(), memory()]
    const service = microservice({ transport: [first, inside, second] })
      .message('by', ({ transport, peer }) => [transport, peer === undefined])
      .message('count', function* () {
        yield* [1, 2, 3]
      })
    cleanups.add(await service.listen())
    assert.notEqual(first.address!.port, second.address!.port)
    for (const [client, by] of [
      [clientAt(first.address!.port), ['tcp', false]],
      [clientAt(second.address!.port, { protocol: 'nest' }), ['tcp', false]],
      [cleanups.add(connect({ transport: inside })), ['memory', true]]
    ] as const) {
      assert.deepEqual(await client.request('by'), by)
      const values: unknown[] = []
      for await (const value of client.stream('count')) values.push(value)
      assert.deepEqual(values, [1, 2, 3])
    }
  })

  for (const place of ['after', 'before'] as const) {
    it(`listens nowhere if one that stands ${place} the others cannot start, and everywhere once it can`, async () => {
      const taken = await microservice({ transport: door() }).listen()
      const { port } = taken.address!
      const [own, inside, blocked] = [door(await freePort()), memory(), door(port)]
      const others = [own, inside]
      const service = microservice({
        transport: place === 'after' ? [...others, blocked] : [blocked, ...others]
      })
      service.message('x', () => 1)
      await assert.rejects(service.listen(), {
        name: 'ListenError',
        code: 'EADDRINUSE',
        message: new RegExp(`^Cannot listen on tcp://127\\.0\\.0\\.1:${port}: the address is in use`)
      })
      assert.deepEqual([service.address, own.address, blocked.address], [undefined, undefined, undefined])
      const callers = () => [cleanups.add(connect({ transport: inside }))]
      for (const client of callers()) await assert.rejects(client.connect(), { name: 'ConnectionError' })
      await taken.stop()
      cleanups.add(await service.listen())
      const ports = [own, blocked].map(({ address }) => address!.port)
      for (const client of [...callers(), ...ports.map((each) => clientAt(each))])
        assert.equal(await client.request('x'), 1)
    })
  }

  it('makes its controllers once, and ends them once when all transports have stopped', async () => {
    const steps: string[] = []
    class Living {
      onModuleInit() {
        steps.push('init')
      }
      onModuleDestroy() {
        steps.push('destroy')
      }
      @MessagePattern('x')
      x({ wait }: { wait: boolean }) {
        steps.push('x')
        if (!wait) return 1
        begun.happen()
        return answer.happened
      }
    }
    const begun = happening()
    const answer = happening<number>()
    const [outside, inside] = [door(), memory()]
    const service = microservice({ transport: [outside, inside], controllers: [Living] })
    await service.listen()
    const client = cleanups.add(connect({ transport: inside }))
    assert.equal(await clientAt(outside.address!.port).request('x', { wait: false }), 1)
    const asked = client.request('x', { wait: true })
    await begun.happened
    const stopping = service.stop()
    answer.happen(2)
    assert.equal(await asked, 2)
    assert.deepEqual(steps, ['init', 'x', 'x'])
    await stopping
    assert.deepEqual(steps, ['init', 'x', 'x', 'destroy'])
  })

  it('lets what is in flight on any of them end when it stops, and takes nothing new on the others', async () => {
    const [outside, inside] = [door(), memory()]
    const begun = { tcp: happening(), memory: happening() }
    const answers = { tcp: happening<string>(), memory: happening<string>() }
    const service = microservice({ transport: [outside, inside] }).message('slow', ({ transport }) => {
      const name = transport as 'tcp' | 'memory'
      begun[name].happen()
      return answers[name].happened
    })
    cleanups.add(await service.listen())
    const { port } = outside.address!
    const clients = { tcp: clientAt(port), memory: cleanups.add(connect({ transport: inside })) }
    const asked = { tcp: clients.tcp.request('slow'), memory: clients.memory.request('slow') }
    await Promise.all([begun.tcp.happened, begun.memory.happened])
    let hasStopped = false
    const stopping = service.stop().then(() => {
      hasStopped = true
    })
    answers.tcp.happen('by TCP')
    assert.equal(await asked.tcp, 'by TCP')
    await assert.rejects(clients.memory.request('slow'), { name: 'ConnectionError', mayHaveRun: false })
    await assert.rejects(clientAt(port).request('slow'), { name: 'ConnectionError', mayHaveRun: false })
    assert.equal(hasStopped, false)
    answers.memory.happen('inside')
    assert.equal(await asked.memory, 'inside')
    await stopping
    assert.equal(service.address, undefined)
  })
})

describe('what a service tells of its transports', () => {
  it('is the address of the first that has one', async () => {
    const [first, second] = [door(), door()]
    const service = microservice({ transport: [memory(), first, second] })
    assert.deepEqual([service.address, first.address], [undefined, undefined])
    cleanups.add(await service.listen())
    assert.equal(service.address?.host, '127.0.0.1')
    assert.equal(service.address?.port, first.address?.port)
    assert.notEqual(first.address!.port, second.address!.port)
    await service.stop()
    assert.deepEqual([service.address, first.address], [undefined, undefined])
  })

  it('is what each of them does, in their order', async () => {
    const [outside, inside] = [door(), memory()]
    const begun = happening()
    const answer = happening<number>()
    const service = microservice({ transport: [inside, outside] }).message('slow', () => {
      begun.happen()
      return answer.happened
    })
    const figures = () =>
      service
        .stats()
        .map(({ transport, address, inFlight, streams }) => [
          ...[transport, address?.port],
          ...[inFlight.current, inFlight.limit, streams]
        ])
    assert.deepEqual(figures(), [
      ['memory', undefined, 0, false, 0],
      ['tcp', undefined, 0, false, 0]
    ])
    cleanups.add(await service.listen())
    const { port } = outside.address!
    const client = cleanups.add(connect({ transport: inside }))
    const asked = client.request('slow')
    await begun.happened
    assert.deepEqual(figures(), [
      ['memory', undefined, 1, false, 0],
      ['tcp', port, 0, false, 0]
    ])
    answer.happen(1)
    assert.equal(await asked, 1)
    assert.equal(service.stats()[0]?.inFlight.current, 0)
  })

  it('is what tcp() tells itself, with the types of TCP', async () => {
    const outside = tcp({ host: '127.0.0.1', port: 0, limits: { connections: 5, inFlight: 7 } })
    const service = microservice({ transport: outside })
      .message('x', () => 1)
      .message('stats', () => {
        const { transport, address, connections, inFlight, refused } = outside.stats()
        return { transport, port: address?.port, connections, inFlight, refused: refused.connections }
      })
    cleanups.add(await service.listen())
    const { port } = outside.address!
    const client = clientAt(port)
    assert.deepEqual(await client.request('stats'), {
      transport: 'tcp',
      port,
      connections: { current: 1, limit: 5 },
      inFlight: { current: 0, limit: 7 },
      refused: 0
    })
    assert.deepEqual(service.stats(), [outside.stats()])
    assert.deepEqual(service.stats()[0]?.connections, { current: 1, limit: 5 })
  })

  it('is nothing of a tcp() that no service was given', () => {
    const nobodys = tcp()
    assert.equal(nobodys.address, undefined)
    assert.throws(() => nobodys.stats(), { name: 'OptionError', message: /stats\(\) needs a service/ })
    assert.throws(() => nobodys.reloadTls(), {
      name: 'OptionError',
      message: /reloadTls\(\) needs a service/
    })
  })
})

describe('the value of a transport', () => {
  it('of TCP is for one service', () => {
    const outside = door()
    microservice({ transport: outside })
    const refused = { name: 'OptionError', path: 'options.transport', message: /used by another service/ }
    assert.throws(() => microservice({ transport: outside }), refused)
    const twice = door()
    assert.throws(() => microservice({ transport: [twice, twice] }), refused)
  })

  it('of TCP is for any number of clients', async () => {
    const service = cleanups.add(
      await microservice({ transport: door() })
        .message('x', () => 1)
        .listen()
    )
    const transport = door(service.address!.port)
    const clients = [1, 2].map(() => cleanups.add(connect({ transport })))
    assert.deepEqual(await Promise.all(clients.map((client) => client.request('x'))), [1, 1])
  })

  it('of memory() is for any number of services and clients', async () => {
    const transport = memory()
    for (const name of ['a', 'b'])
      cleanups.add(
        await microservice({ transport })
          .message(name, () => name)
          .listen()
      )
    const clients = [1, 2].map(() => cleanups.add(connect({ transport })))
    for (const name of ['a', 'b'])
      assert.deepEqual(await Promise.all(clients.map((client) => client.request(name))), [name, name])
  })

  it('may be one that somebody else has written', async () => {
    const inside = memory()
    const seen: unknown[] = []
    const own: typeof inside = {
      name: 'own',
      traits: inside.traits,
      store: inside.store,
      server(context) {
        seen.push([context.name, context.version])
        return inside.server(context)
      },
      client: (context) => inside.client(context)
    }
    const service = microservice({ transport: own, name: 'orders', version: '1.2.0' })
    cleanups.add(await service.message('x', () => 1).listen())
    assert.equal(await cleanups.add(connect({ transport: own })).request('x'), 1)
    assert.deepEqual(seen, [['orders', '1.2.0']])
  })
})

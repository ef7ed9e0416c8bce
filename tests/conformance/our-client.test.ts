/** Our client with NestJS's protocol, against a NestJS server and against ours. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { DEAF_PORT, isOnPush, onPush } from '@elysia-microservices/test-support'
import {
  CanceledError,
  ConnectionError,
  connect,
  OptionError,
  PatternNotFoundError,
  RpcError,
  TimeoutError,
  type UntypedClient
} from 'elysia-microservices/client'
import { lastValueFrom, of, toArray } from 'rxjs'
import { ConformanceController, seen } from './controller.ts'
import { type RunningServer, SERVERS } from './harness/servers.ts'
import { frame } from './harness/wire.ts'

function connectTo(port: number): UntypedClient {
  return connect({ protocol: 'nest', host: '127.0.0.1', port })
}

for (const [name, start] of SERVERS) {
  describe(`our client and a server of ${name}`, () => {
    let server: RunningServer
    let client: UntypedClient
    before(async () => {
      server = await start([ConformanceController])
    })
    after(() => server.stop())
    beforeEach(() => {
      seen.length = 0
      client = connectTo(server.port)
    })
    afterEach(() => client.close())

    for (const data of [0, '', false, null, 'text', '€😀é', { a: [1, { b: null }] }, [1, 2]]) {
      it(`echoes ${JSON.stringify(data)}`, async () => {
        assert.deepEqual(await client.request('echo', data), data)
      })
    }

    it('gets undefined for undefined', async () => assert.equal(await client.request('undefined'), undefined))
    it('sends nothing for undefined', async () => {
      assert.deepEqual(await client.request('no-decorators'), [null])
    })
    it('requests the first value of a stream', async () => assert.equal(await client.request('from'), 1))

    for (const [pattern, values] of [
      ['from', [1, 2, 3]],
      ['timer', [0, 1, 2]],
      ['of', [1]],
      ['empty', []],
      ['undefined', []],
      ['from-with-undefined', [1, undefined, 3]]
    ] as const) {
      it(`gets the values of '${pattern}' by send() and by stream()`, async () => {
        assert.deepEqual(await lastValueFrom(client.send(pattern).pipe(toArray())), values)
        const streamed: unknown[] = []
        for await (const value of client.stream(pattern)) streamed.push(value)
        assert.deepEqual(streamed, values)
      })
    }

    it('gets the values before the error of a stream', async () => {
      const values: unknown[] = []
      const failed = assert.rejects(
        client.send('values-then-error').forEach((value) => {
          values.push(value)
        }),
        (error) => error instanceof RpcError && error.message === 'late'
      )
      await failed
      assert.deepEqual(values, [1, 2])
    })

    for (const [content, code, message] of [
      ['text', 'UNKNOWN', 'text'],
      [{ code: 'E1', message: 'm', details: { a: 1 } }, 'E1', 'm'],
      [{ a: 1 }, 'UNKNOWN', '{"a":1}'],
      [[1, 2], 'UNKNOWN', '[1,2]'],
      [7, 'UNKNOWN', '7']
    ] as const) {
      it(`makes an RpcError of ${JSON.stringify(content)}`, async () => {
        await assert.rejects(client.request('rpc-exception', content), (error) => {
          assert.ok(error instanceof RpcError)
          assert.equal(error.code, code)
          assert.equal(error.message, message)
          const wire = typeof content === 'object' ? content : { status: 'error', message: content }
          assert.deepEqual(error.received, wire)
          return true
        })
      })
    }

    it('gets the code INTERNAL for an unexpected error', async () => {
      await assert.rejects(client.request('error'), { name: 'RpcError', code: 'INTERNAL' })
    })

    it('gets an error if nobody handles a pattern', async () => {
      await assert.rejects(client.request('unknown'), PatternNotFoundError)
    })

    it('reaches object patterns, numbers and patterns like JSON', async () => {
      const pattern = { a: 2, b: { d: 1, c: 'q"' } }
      assert.equal(await client.request(pattern), JSON.stringify(pattern))
      assert.equal(await client.request(5), 'five')
      assert.equal(await client.request({ a: 3 }), 'canonical')
    })

    it('sends headers as metadata', async () => {
      const answer = await client.request('context', { a: 1 }, { headers: { trace: '1' } })
      assert.deepEqual(answer, [1, 'context', { trace: '1' }])
    })

    it('emits events in order', async () => {
      for (let index = 0; index < 50; index++) void client.emit('note', index)
      await client.emit({ unknown: 1 }, 0)
      assert.deepEqual(
        await client.request('seen'),
        Array.from({ length: 50 }, (_, index) => index)
      )
      await server.logged('Event pattern: {"unknown":1}')
    })

    it('sends a request for each subscription', async () => {
      const cold = client.send('echo', 1)
      assert.equal(await lastValueFrom(cold), 1)
      assert.equal(await lastValueFrom(cold), 1)
    })

    it('sends a thousand requests at once, before it is connected', async () => {
      const answers = await Promise.all(
        Array.from({ length: 1000 }, (_, index) => client.request('echo', index))
      )
      assert.deepEqual(
        answers,
        Array.from({ length: 1000 }, (_, index) => index)
      )
    })

    // On a push against one server only, because 64 MiB take seconds on each runtime.
    if (!isOnPush || name === 'ours')
      onPush(it)('echoes 64 MiB at once', async () => {
        const data = 'x'.repeat(1024 * 1024)
        const echoes = Array.from({ length: 64 }, () => client.request<string>('echo', data))
        for (const echo of await Promise.all(echoes)) assert.equal(echo.length, data.length)
      })

    it('gives up a call at its deadline, and when its signal aborts', async () => {
      await assert.rejects(client.request('silent', 0, { timeout: 20 }), TimeoutError)
      const controller = new AbortController()
      const call = client.request('silent', 0, { signal: controller.signal })
      await client.request('echo', 1)
      controller.abort()
      await assert.rejects(call, CanceledError)
    })

    it('leaves a stream and goes on', async () => {
      for await (const value of client.stream('never')) {
        assert.equal(value, 1)
        break
      }
      assert.equal(await client.request('echo', 2), 2)
    })

    it('fails pending calls when it closes', async () => {
      await client.connect()
      const failed = assert.rejects(client.request('silent'), {
        name: 'ConnectionError',
        mayHaveRun: true
      })
      await client.close()
      await failed
      await assert.rejects(client.request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
    })

    it('refuses a stream as data', async () => {
      await assert.rejects(client.request('echo', of(1)), OptionError)
    })
  })
}

describe('our client on the wire of Nest', () => {
  /** A server that answers the first request with this text, in which `ID` is replaced, and then does `then`. */
  async function scripted(
    reply: string,
    test: (client: UntypedClient) => Promise<void>,
    then?: (socket: net.Socket) => void
  ): Promise<void> {
    const server = net.createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', (chunk) => {
        const id = /"id":"(\d+)"/.exec(String(chunk))?.[1] ?? ''
        socket.write(
          reply.replace(/\{.*?\}(?=\||$)/g, (json) => frame(json.replaceAll('ID', id))).replaceAll('|', '')
        )
        then?.(socket)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connectTo((server.address() as net.AddressInfo).port)
    try {
      await test(client)
    } finally {
      await client.close()
      server.close()
    }
  }

  const valuesOf = (client: UntypedClient): Promise<unknown[]> =>
    lastValueFrom(client.send('x', 1).pipe(toArray()))

  for (const [name, reply, values] of [
    [
      'ignores an id it does not know',
      '{"response":0,"isDisposed":true,"id":"x"}|{"response":1,"isDisposed":true,"id":"ID"}',
      [1]
    ],
    ['takes a packet with a foreign key as the value', '{"total":5,"id":"ID"}', [{ total: 5, id: '1' }]],
    [
      'takes a foreign packet as the value even if it has err',
      '{"total":5,"err":"x","id":"ID"}',
      [{ total: 5, err: 'x', id: '1' }]
    ],
    ['takes an empty err for none', '{"err":"","response":1,"isDisposed":true,"id":"ID"}', [1]],
    ['takes err 0 for none', '{"err":0,"response":1,"isDisposed":true,"id":"ID"}', [1]],
    ['takes err null for none', '{"err":null,"response":1,"isDisposed":true,"id":"ID"}', [1]],
    ['completes without a value', '{"isDisposed":true,"id":"ID"}', []],
    ['takes null for a value', '{"response":null,"isDisposed":true,"id":"ID"}', [null]],
    [
      'ignores packets after the end',
      '{"response":1,"isDisposed":true,"id":"ID"}|{"response":2,"id":"ID"}',
      [1]
    ]
  ] as const) {
    it(name, () => scripted(reply, async (client) => assert.deepEqual(await valuesOf(client), values)))
  }

  it('prefers err to a response', async () => {
    await scripted('{"err":"no","response":1,"isDisposed":true,"id":"ID"}', async (client) => {
      await assert.rejects(client.request('x'), { name: 'RpcError', message: 'no' })
    })
  })

  it('fails pending calls when the server sends bytes that are not a frame', async () => {
    await scripted('abc#', async (client) => {
      await assert.rejects(client.request('x'), ConnectionError)
    })
  })

  it('fails pending calls when the connection is lost, and connects again', async () => {
    await scripted(
      '',
      async (client) => {
        await assert.rejects(client.request('x'), { name: 'ConnectionError', mayHaveRun: true })
        await assert.rejects(client.request('x'), { name: 'ConnectionError', mayHaveRun: true })
      },
      (socket) => socket.destroy()
    )
  })

  it('says in the error that the request was never sent if nobody listens', async () => {
    const client = connectTo(DEAF_PORT)
    await assert.rejects(client.request('x'), { name: 'ConnectionError', mayHaveRun: false })
    await assert.rejects(client.emit('x', 1), { name: 'ConnectionError', mayHaveRun: false })
    await assert.rejects(client.connect(), ConnectionError)
    await client.close()
  })
})

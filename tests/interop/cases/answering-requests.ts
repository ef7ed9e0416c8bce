/** Cases of a single request from our client to a peer's server. */
import assert from 'node:assert/strict'
import { CanceledError, RejectedError, RpcError, TimeoutError } from 'elysia-microservices/client'
import type { Case, Cases } from '../interop.ts'
import { Code } from './error-codes.ts'

const MEGABYTE = 'é'.repeat(500_000)

export const answeringRequests = {
  'gives answers: unicode, no data, in any order': async (given: Case) => {
    const { client, connection } = await given.connected()
    const data = { text: '€😀é\u0000', list: [1, null, false] }
    const first = client.request('first', data)
    const second = client.request('second')
    const asked = [await connection.requested(), await connection.requested()] as const
    assert.deepEqual(
      [asked[0].kind, asked[0].route, asked[0].bytes.toString()],
      ['response', 'first', JSON.stringify(data)]
    )
    assert.deepEqual([asked[1].kind, asked[1].route, asked[1].bytes.length], ['response', 'second', 0])
    asked[1].answer.next(undefined, { complete: true })
    assert.equal(await second, undefined)
    asked[0].answer.next(data, { complete: true })
    assert.deepEqual(await first, data)
  },

  'answers without a value': async (given: Case) => {
    const { client, connection } = await given.connected()
    const answer = client.request('nothing')
    ;(await connection.requested()).answer.complete()
    assert.equal(await answer, undefined)
  },

  'gives a megabyte back in one frame': async (given: Case) => {
    const { client, connection } = await given.connected()
    const answer = client.request('echo', MEGABYTE)
    const { answer: stream, bytes } = await connection.requested()
    stream.next(bytes, { complete: true })
    assert.equal(await answer, MEGABYTE)
  },

  'gives a megabyte back in fragments, ours and its own': async (given: Case) => {
    const { client, connection, tap } = await given.connected(
      { fragmentSize: 10_000 },
      { fragmentSize: 10_000 }
    )
    const answer = client.request('echo', MEGABYTE)
    const { answer: stream, bytes } = await connection.requested()
    stream.next(bytes, { complete: true })
    assert.equal(await answer, MEGABYTE)
    assert.ok(tap.fragments('client') >= 100)
    assert.ok(tap.fragments('server') >= 100)
  },

  'takes metadata that is longer than a fragment': async (given: Case) => {
    const { client, connection } = await given.connected({ fragmentSize: 100 })
    const headers = { long: 'h'.repeat(1_000) }
    const answer = client.request('headers', 'd'.repeat(1_000), { headers })
    const asked = await connection.requested()
    assert.deepEqual([asked.route, asked.headers, asked.bytes.length], ['headers', headers, 1_002])
    asked.answer.next('got it', { complete: true })
    assert.equal(await answer, 'got it')
  },

  'takes events': async (given: Case) => {
    const { client, connection } = await given.connected()
    for (const id of [1, 2]) await client.emit('placed', { id })
    for (const id of [1, 2]) {
      const { kind, route, bytes } = await connection.requested()
      assert.deepEqual([kind, route, JSON.parse(bytes.toString())], ['event', 'placed', { id }])
    }
  },

  'gets the route of an object, headers and the time left': async (given: Case) => {
    const { client, connection } = await given.connected()
    const headers = { traceparent: '00-1-2-01', greeting: 'Grüß Gott' }
    const answer = client.request({ cmd: 'sum', v: 1 }, [1, 2], { headers, timeout: 9_000 })
    const asked = await connection.requested()
    assert.equal(asked.route, '{"cmd":"sum","v":1}')
    assert.deepEqual(asked.headers, { ...headers, 'elysia-timeout': '9000' })
    asked.answer.next(3, { complete: true })
    assert.equal(await answer, 3)
  },

  'is told that nobody waits: an aborted signal, a timeout': async (given: Case) => {
    const { client, connection } = await given.connected()
    const controller = new AbortController()
    const given_up = assert.rejects(client.request('slow', 1, { signal: controller.signal }), CanceledError)
    const first = await connection.requested()
    controller.abort()
    await Promise.all([given_up, first.answer.event('cancel')])
    const late = assert.rejects(client.request('slow', 2, { timeout: 20 }), TimeoutError)
    const second = await connection.requested()
    await Promise.all([late, second.answer.event('cancel')])
  },

  'answers with errors: JSON as ours, or text': async (given: Case) => {
    const { client, connection } = await given.connected()
    const error = { code: 'E', message: 'm €', details: { n: 1 } }
    for (const [text, expected] of [
      [JSON.stringify(error), error],
      ['the disk is full', { code: 'UNKNOWN', message: 'the disk is full' }]
    ] as const) {
      const failed = assert.rejects(client.request('fail', 1), (caught) => {
        assert.ok(caught instanceof RpcError)
        const { code, message, details } = caught
        assert.deepEqual({ code, message, ...(details !== undefined && { details }) }, expected)
        return true
      })
      ;(await connection.requested()).answer.error(Code.APPLICATION_ERROR, text)
      await failed
    }
  },

  'answers with codes: rejected, invalid, canceled': async (given: Case) => {
    const { client, connection } = await given.connected()
    for (const [code, expected] of [
      [Code.REJECTED, RejectedError],
      [Code.INVALID, { name: 'RpcError', code: 'INVALID' }],
      [Code.CANCELED, CanceledError]
    ] as const) {
      const failed = assert.rejects(client.request('fail', 1), expected)
      ;(await connection.requested()).answer.error(code, 'no')
      await failed
    }
  },

  'takes and gives bytes': async (given: Case) => {
    const { client, connection } = await given.connected({ codec: 'bytes' })
    assert.equal(connection.setup.dataMimeType, 'application/octet-stream')
    const answer = client.request<Uint8Array>('echo', Uint8Array.of(1, 0, 255))
    const asked = await connection.requested()
    assert.deepEqual([...asked.bytes], [1, 0, 255])
    asked.answer.next(Uint8Array.of(2, 0, 254), { complete: true })
    assert.deepEqual([...(await answer)], [2, 0, 254])
  }
} satisfies Cases

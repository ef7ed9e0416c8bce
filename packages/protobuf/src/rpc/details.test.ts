import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fromBinary, toJson } from '@bufbuild/protobuf'
import { ValueSchema } from '@bufbuild/protobuf/wkt'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import type { JsonValue } from '../proto.ts'
import { errorInfo, readDetails, statusBytes, valueDetail } from './details.ts'
import { CallFailure } from './failure.ts'

/** Any text without half surrogates, which UTF-8 cannot carry. */
const text = fc.string({ unit: 'binary', maxLength: 40 })

describe('the details of a failure', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(text, text, fc.jsonValue(), (message, reason, json) => {
        // JSON has no -0.
        const details = JSON.parse(JSON.stringify(json)) as JsonValue
        const parts = [errorInfo(`R${reason}`), valueDetail(details)].filter((one) => one !== undefined)
        const bytes = statusBytes(new CallFailure('aborted', message, parts))
        assert.deepEqual(readDetails(bytes), { message, reason: `R${reason}`, details })
      }),
      { numRuns: runs(500) }
    )
  })

  it('are read by protobuf-es, too', () => {
    const details = { a: [1, true, null, 'ü'], b: {} }
    const { value, debug } = valueDetail(details)!
    assert.deepEqual(toJson(ValueSchema, fromBinary(ValueSchema, value)), details)
    assert.deepEqual(debug, details)
  })

  it('are what others write', () => {
    // Of Python’s protobuf: {'a': [1.0, True, None]} as google.protobuf.Value.
    assert.equal(
      Buffer.from(valueDetail({ a: [1, true, null] })!.value).toString('hex'),
      '2a1c0a1a0a0161121532130a0911000000000000f03f0a0220010a020800'
    )
    // Of Python’s googleapis-common-protos: code 5, message 'gone', an ErrorInfo with the reason 'NO_ORDER'.
    const info = Buffer.from('0a084e4f5f4f52444552', 'hex')
    const bytes = Buffer.concat([
      Buffer.from('08051204', 'hex'),
      Buffer.from('gone'),
      Buffer.from('1a360a28', 'hex'),
      Buffer.from('type.googleapis.com/google.rpc.ErrorInfo'),
      Buffer.from('120a', 'hex'),
      info
    ])
    const failure = new CallFailure('not_found', 'gone', [
      { type: 'google.rpc.ErrorInfo', value: info, debug: null }
    ])
    assert.deepEqual(Buffer.from(statusBytes(failure)), bytes)
    // Its reason is a code of another domain than ours.
    assert.deepEqual(readDetails(bytes), { message: 'gone', reason: undefined, details: undefined })
  })

  it('are left out if they are nested without end', () =>
    assert.equal(valueDetail(JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)), undefined))

  it('are read or refused, whatever comes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const read = readDetails(bytes)
        assert.ok(read === undefined || typeof read.message === 'string')
      }),
      { numRuns: runs(2_000) }
    )
    const endless = Uint8Array.of(0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)
    assert.equal(readDetails(endless), undefined)
    const detail = errorInfo('A')
    const many = new CallFailure('aborted', '', new Array(65).fill(detail))
    assert.equal(readDetails(statusBytes(many)), undefined)
  })
})

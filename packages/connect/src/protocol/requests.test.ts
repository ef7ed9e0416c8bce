/** The heads of requests. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CallFailure } from '@elysia-microservices/protobuf/rpc'
import fc from 'fast-check'
import { acceptedTypes, formOf } from './form.ts'
import { messageInUrl } from './message-in-url.ts'

describe('the form of a request', () => {
  for (const [type, streams, protocol, isJson] of [
    ['application/json', false, 'connect', true],
    ['Application/JSON; charset=utf-8', false, 'connect', true],
    ['application/json;charset="UTF-8";', false, 'connect', true],
    ['application/proto', false, 'connect', false],
    ['application/connect+json', true, 'connect-stream', true],
    ['application/connect+proto', true, 'connect-stream', false],
    ['application/grpc-web', false, 'grpc-web', false],
    ['application/grpc-web+proto', true, 'grpc-web', false],
    ['application/grpc-web+json', true, 'grpc-web', true],
    ['application/grpc-web-text', true, 'grpc-web', false],
    ['application/grpc-web-text+proto', false, 'grpc-web', false]
  ] as const)
    it(`is named by ${type}`, () => {
      const form = formOf(type, streams)
      assert.deepEqual([form?.protocol, form?.isJson], [protocol, isJson])
    })

  for (const [type, streams] of [
    [null, false],
    ['', false],
    ['text/plain', false],
    ['application/json; charset=latin1', false],
    ['application/json', true],
    ['application/connect+json', false],
    ['application/grpc', false],
    ['application/x-www-form-urlencoded', false]
  ] as const)
    it(`is refused: ${type} for a ${streams ? 'stream' : 'single message'}`, () =>
      assert.equal(formOf(type, streams), undefined))

  it('is one of those that the answer to another form names', () => {
    for (const streams of [false, true])
      for (const type of acceptedTypes(streams).split(', ')) assert.ok(formOf(type, streams), type)
  })
})

describe('a message in a URL', () => {
  for (const [query, isJson, message] of [
    ['connect=v1&encoding=json&message=%7B%22id%22%3A%22%C3%A4%22%7D', true, '{"id":"ä"}'],
    ['encoding=json&base64=1&message=e30', true, '{}'],
    ['encoding=proto&base64=1&message=', false, '']
  ] as const)
    it(`is read: ${query}`, () => {
      const read = messageInUrl(new URLSearchParams(query))
      assert.deepEqual([read.form.isJson, new TextDecoder().decode(read.message)], [isJson, message])
    })

  for (const [query, words] of [
    ['', 'encoding of the URL must be json or proto'],
    ['encoding=json', 'message of the URL must be the message of the request'],
    ['encoding=xml&message=', 'encoding of the URL must be json or proto'],
    ['encoding=connect%2Bjson&message=', 'encoding of the URL must be json or proto'],
    ['connect=v2&encoding=json&message=', 'connect of the URL must be v1'],
    ['encoding=proto&base64=1&message=%2A', 'message of the URL must be base64']
  ] as const)
    it(`is refused: ${query}`, () =>
      assert.throws(
        () => messageInUrl(new URLSearchParams(query)),
        (error: unknown) => error instanceof CallFailure && error.message.includes(words)
      ))

  it('is read or refused with a failure, whatever the query is', () => {
    const part = fc.oneof(
      fc.constantFrom('encoding=json', 'encoding=proto', 'base64=1', 'message=e30', 'connect=v1'),
      fc.string()
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        try {
          messageInUrl(new URLSearchParams(parts.join('&')))
        } catch (error) {
          assert.ok(error instanceof CallFailure, String(error))
        }
      })
    )
  })
})

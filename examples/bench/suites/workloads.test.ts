import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { requestBytes } from './load/requests.ts'
import { DOCUMENT, pathOf, routes } from './work.ts'
import { httpWorkloads, payloadOfWorkload, subjectOf, wrongIn } from './workloads.ts'

const { router, compressed, post } = httpWorkloads
const [document] = compressed.asked

describe('the workload of the router', () => {
  it('has 500 routes that all differ: static, with a parameter and with a wildcard', () => {
    assert.equal(routes.length, 500)
    assert.equal(new Set(routes.map((route) => pathOf(route))).size, 500)
    const count = (kind: string) => routes.filter((route) => route.kind === kind).length
    assert.deepEqual(['static', 'param', 'wildcard'].map(count), [300, 100, 100])
  })

  it('requests each route once, an unknown route in one of ten requests, and no neighbours one after the other', () => {
    assert.equal(new Set(router.asked.map(({ path }) => path)).size, 500)
    assert.equal(router.asked.filter(({ status }) => status === 404).length, 50)
    const numbers = router.asked.map(({ path }) => Number(/\d+/.exec(path)?.[0]))
    assert.ok(numbers.filter((number, index) => number === numbers[index - 1]).length < 50)
  })

  it('writes a wildcard in the form of a framework', () => {
    assert.equal(pathOf(routes[4]!, '*rest'), '/shop4/files4/*rest')
    assert.equal(pathOf(routes[3]!, '*rest'), '/shop3/orders3/:id/detail')
  })
})

describe('an answer', () => {
  const gzip = new Headers({ 'content-encoding': 'gzip' })
  const text = JSON.stringify(DOCUMENT)

  it('of 8 KB is right if it is the document, compressed', () => {
    assert.ok(text.length > 8_000 && text.length < 8_500, `${text.length}`)
    assert.equal(wrongIn(document, 200, text, gzip), undefined)
    assert.equal(wrongIn(document, 200, text, new Headers()), 'it is not compressed')
    assert.match(wrongIn(document, 200, '{}', gzip)!, /^'\{\}', expected '\{"title"/)
    assert.equal(wrongIn(document, 500, text, gzip), 'status 500, expected 200')
  })

  it('of a gateway may be text encoded as JSON', () => {
    const [hello] = httpWorkloads.hello.asked
    assert.equal(wrongIn(hello, 200, '"Hello, World!"', new Headers()), undefined)
    assert.match(wrongIn(hello, 200, 'Hello!', new Headers())!, /^'Hello!', expected/)
  })
})

describe('a request', () => {
  it('is sent with the length of its body in bytes', () => {
    assert.equal(
      requestBytes(post.asked[0], '127.0.0.1', 80),
      'POST /api/user HTTP/1.1\r\nhost: 127.0.0.1:80\r\ncontent-type: application/json\r\ncontent-length: 49\r\n\r\n' +
        '{"name":"Ada Lovelace","email":"ada@example.com"}'
    )
  })

  it('has a name in reports', () => {
    assert.equal(subjectOf(post.asked, 'post'), 'POST /api/user')
    assert.equal(subjectOf(router.asked, 'router'), '500 paths')
    assert.equal(payloadOfWorkload(compressed.asked), Buffer.byteLength(JSON.stringify(DOCUMENT)))
  })
})
